r"""Energy distance of ensembles as a loss that PyTorch can differentiate, block by block.

With the weights 1/N of the points of one ensemble and −1/M of the other, :math:`a_i` for the points
:math:`z_i` of both, the V-statistic and its gradient are

.. math:: \mathcal{E}^2 = -\sum_{ij} a_i a_j |z_i - z_j|, \qquad
   \frac{\partial \mathcal{E}^2}{\partial z_i} = -2 a_i \sum_j a_j \frac{z_i - z_j}{|z_i - z_j|} .

Every pair is visited once, and gives its share to the value and to the gradients of both of its points.
Differences are taken coordinate by coordinate: of near points |z_i|² + |z_j|² − 2 z_i·z_j would leave only
rounding, and heavy tails make most pairs near on the scale of the largest.
"""

import math
from functools import reduce
from itertools import combinations_with_replacement
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hopfieldphase.core.errors import InputError

# Pairs of one block: on the CPU the differences stay in the cache, elsewhere few large steps are fast.
CPU_BLOCK = 2**17
DEVICE_BLOCK = 2**26


def energy_distance(x: Tensor, y: Tensor) -> Tensor:
    r"""V-statistic energy distance (squared) of pairs of ensembles, one for each index in front.

    .. math:: \mathcal{E}^2 = \frac{2}{NM} \sum_{ij} |x_i - y_j| - \frac{1}{N^2} \sum_{ij} |x_i - x_j|
       - \frac{1}{M^2} \sum_{ij} |y_i - y_j|

    Parameters
    ----------
    x : Tensor, shape (..., N, d)
        Points, float32 or float64, on any device.
    y : Tensor, shape (..., M, d)
        Points of the same leading axes and type.

    Returns
    -------
    Tensor, shape (...)
        In units of the data. First derivatives only; coincident points add nothing to them (zero is a
        subgradient of |z| at 0). NaN for an ensemble with NaN or inf.

    Raises
    ------
    InputError
        If types or shapes do not match, or an ensemble is empty.

    Notes
    -----
    Equation (10) of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures". Distances have the
    type of the points, their sums are float64.

    Examples
    --------
    >>> energy_distance(torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [3.0]]))
    tensor(1.)
    """
    for name, points in (("x", x), ("y", y)):
        if points.dtype not in (torch.float32, torch.float64) or points.dtype != x.dtype:
            raise InputError(f"{name} has dtype {points.dtype}: give both in float32, or both in float64")
        if points.ndim < 2 or 0 in points.shape[-2:]:
            raise InputError(f"{name} has shape {tuple(points.shape)}: give points, shape (..., N, d)")
    if x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-1]:
        raise InputError(
            f"x has shape {tuple(x.shape)} and y {tuple(y.shape)}: give them the same axes but for the "
            "number of points"
        )
    shape = x.shape[:-2]
    x, y = (points.reshape(shape.numel(), *points.shape[-2:]) for points in (x, y))
    distances: Tensor = _EnergyDistance.apply(x, y)  # pyright: ignore[reportAssignmentType]
    return distances.reshape(shape)


class _EnergyDistance(torch.autograd.Function):
    """Energy distances of ensembles (B, N, d) and (B, M, d); the gradients are found with the values."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        (batch, n, d), m = x.shape, y.shape[1]
        points = torch.cat((x, y), dim=1).movedim(-1, 0).contiguous()  # (d, B, N + M)
        slopes = torch.zeros_like(points) if any(ctx.needs_input_grad) else None
        values = x.new_zeros(batch, dtype=torch.float64)
        size = CPU_BLOCK if x.device.type == "cpu" else DEVICE_BLOCK
        side = min(max(n, m), math.isqrt(size))
        at_once = min(batch, size // side**2)
        smallest = torch.finfo(x.dtype).tiny
        room = x.new_empty(d * at_once * side**2)
        pieces = [(slice(i, min(i + side, n)), 1 / n) for i in range(0, n, side)]
        pieces += [(slice(n + i, n + min(i + side, m)), -1 / m) for i in range(0, m, side)]
        for first in range(0, batch, at_once):
            group = slice(first, first + at_once)
            z, f = points[:, group], None if slopes is None else slopes[:, group]
            for (i, a), (j, b) in combinations_with_replacement(pieces, 2):
                shape = (d, z.shape[1], i.stop - i.start, j.stop - j.start)
                apart = room[: math.prod(shape)].view(shape)
                torch.sub(z[:, :, i, None], z[:, :, None, j], out=apart)
                r = reduce(torch.hypot, apart) if d > 1 else apart[0].abs()
                share = -a * b if i == j else -2 * a * b
                values[group] += share * r.sum((-2, -1), dtype=torch.float64)
                if f is not None:
                    apart.div_(r.clamp_(min=smallest))  # 0/smallest where points coincide
                    f[:, :, i].add_(apart.sum(-1), alpha=-2 * a * b)
                    if i != j:
                        f[:, :, j].add_(apart.sum(-2), alpha=2 * a * b)
        if slopes is not None:
            ctx.save_for_backward(slopes.movedim(0, -1))
        ctx.sizes = (n, m)
        return values.to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Tensor
    ) -> tuple[Tensor, ...]:
        (upstream,), (slopes,) = grad_outputs, ctx.saved_tensors
        return (slopes * upstream[:, None, None]).split(ctx.sizes, dim=1)
