"""Entmax attention that PyTorch can differentiate: exact thresholds forward, the support alone backward."""

import math
from typing import Any

import torch
from torch import Tensor

from hopfieldphase.core import entmax as core
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import maps
from hopfieldphase.kernels.jacobian import entmax_jacobian_action


def entmax(scores: Tensor, alpha: float, dim: int = -1, mask: Tensor | None = None) -> Tensor:
    r"""Differentiable α-entmax, :math:`\arg\max_{p \in \Delta} z \cdot p + \Psi_\alpha(p)/\alpha`.

    Its values are those of `hopfieldphase.entmax`. With :math:`s_\mu = p_\mu^{2-\alpha}` on the support and
    0 off it, the Jacobian is :math:`\partial p/\partial z = \mathrm{diag}(s) - s s^{T}/\sum_\mu s_\mu`.

    Parameters
    ----------
    scores : Tensor
        Scores z along the axis `dim`, float32 or float64; −inf marks an absent pattern.
    alpha : float
        Tsallis index, 0 < α ≤ ∞: 1 is softmax, 2 sparsemax, ∞ hardmax (whose gradient is zero).
    dim : int
        The axis of the patterns.
    mask : Tensor of bool, optional
        False marks an absent pattern; broadcasts against the scores.

    Returns
    -------
    Tensor
        Weights of the shape, type and device of the scores; they sum to one along `dim`.

    Raises
    ------
    InputError
        If the scores are of another type, hold NaN or +inf, or have a row without a pattern; if `dim` is no
        axis of them; if α is outside its domain, or the mask is not of booleans.

    Notes
    -----
    Peters, Niculae and Martins, "Sparse Sequence-to-Sequence Models" (2019). In the convention of "On the
    Statistical Mechanics of Attention" (arXiv:2610.17347) the weights at inverse temperature β are
    ``entmax(beta / alpha * scores, alpha)``.

    On the CPU compiled code works on the memory of the tensors, with as many threads as
    `torch.get_num_threads` says. Elsewhere, and for second derivatives, the same formulas run in PyTorch.
    """
    alpha = tsallis_index(alpha)
    if scores.dtype not in (torch.float32, torch.float64):
        raise InputError(f"scores has dtype {scores.dtype}: give float32 or float64")
    if not -scores.ndim <= dim < scores.ndim:
        raise InputError(f"dim = {dim} is no axis of scores of shape {tuple(scores.shape)}")
    if mask is not None:
        if mask.dtype != torch.bool:
            raise InputError(f"mask has dtype {mask.dtype}: give booleans, False for an absent pattern")
        scores = scores.masked_fill(~mask, -math.inf)
    if scores.ndim == 1 or dim in (-1, scores.ndim - 1):
        return _Entmax.apply(scores, alpha)  # pyright: ignore[reportReturnType]
    return _Entmax.apply(scores.movedim(dim, -1), alpha).movedim(-1, dim)  # pyright: ignore[reportOptionalMemberAccess]


class _Entmax(torch.autograd.Function):
    """Entmax along the last axis."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, alpha: float) -> Tensor:
        if scores.device.type == "cpu":
            p = torch.empty(scores.shape, dtype=scores.dtype)
            maps.entmax(scores.detach().numpy(), alpha, out=p.numpy(), threads=torch.get_num_threads())
        else:
            p = core.entmax(scores, alpha)
        ctx.alpha = alpha
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, None]:
        (gradient,) = grad_outputs
        (p,) = ctx.saved_tensors
        alpha = ctx.alpha
        if math.isinf(alpha):
            return torch.zeros_like(p), None
        if p.device.type != "cpu" or torch.is_grad_enabled():
            return entmax_jacobian_action(p, gradient, alpha), None
        result = torch.empty_like(p)
        # Nothing of PyTorch's is called that would wake its own threads: they spin on for a while.
        entmax_jacobian_action(
            p.numpy(),
            gradient.contiguous().numpy(),
            alpha,
            out=result.numpy(),
            threads=torch.get_num_threads(),
        )
        return result, None
