r"""Attention with positive kernels that PyTorch can differentiate, without the N × M matrix of weights.

Scores are formed one tile at a time, queries × keys, and every tile is forgotten: forward, running sums of
each query are kept in a unit that follows its largest score so far; backward, the tiles are formed anew. With
the upstream gradient :math:`\bar o_i` of the means :math:`o_i` and weights
:math:`p_{ij} = g(S_{ij})/\sum_l g(S_{il})`,

.. math:: \bar S_{ij} = \frac{g'(S_{ij})}{\sum_l g(S_{il})}\, \bar o_i \cdot (v_j - o_i), \qquad
   \bar v_j = \sum_i p_{ij} \bar o_i .
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.attention.positive import Exponential, LinearElu, LogElu, SquaredElu
from hopfieldphase.core.errors import InputError

# Scores of one tile. On the CPU a few tiles share the cache; elsewhere few large steps are the fast ones.
CPU_TILE = 2**18
DEVICE_TILE = 2**26


def kernel_attention(query: Tensor, key: Tensor, value: Tensor, kernel: Attention | str) -> Tensor:
    r"""Means of the values under positive attention weights, :math:`\sum_j g(S_{ij}) v_j/\sum_j g(S_{ij})`.

    The scores are :math:`S_{ij} = q_i \cdot k_j/\sqrt d`. Memory grows with N + M, not with their product,
    forward and backward.

    Parameters
    ----------
    query : Tensor, shape (..., N, d)
        float32 or float64, on any device.
    key : Tensor, shape (..., M, d)
    value : Tensor, shape (..., M, d_v)
        All leading axes (batch, heads) are those of the queries.
    kernel : Exponential, SquaredElu, LinearElu, LogElu or str
        g, or its name: "exponential" (softmax), "squared-elu", "linear-elu" or "log-elu".

    Returns
    -------
    Tensor, shape (..., N, d_v)
        Of the type and device of the queries. First derivatives only. A row of scores that holds NaN or +inf,
        or nothing but −inf, makes NaN of its mean.

    Raises
    ------
    InputError
        If the kernel is none of the four, types or shapes do not match, or there is no key.

    Notes
    -----
    Equation (7), Table 1 and Appendix E.4 of "Attention Kernels for Learning Maps Between Heavy-Tailed
    Measures". No finite score is too large: g is taken relative to its value at the largest score of the row
    ("log-elu" needs no unit), so that sums over- or underflow only where the means do. For the exponential on
    the CPU PyTorch's own `scaled_dot_product_attention` is faster; it is fused for four axes only.

    Examples
    --------
    >>> x = torch.tensor([[0.0], [1.0]])
    >>> kernel_attention(x, x, x, "linear-elu")
    tensor([[0.5000],
            [0.6667]])
    """
    name = kernel if isinstance(kernel, str) else kernel.name
    if name not in _GROWTHS:
        raise InputError(f"kernel = {name!r} is not one of the suite: use {', '.join(_GROWTHS)}")
    _check(query, key, value)
    groups = math.prod(query.shape[:-2])
    q, k, v = (x.reshape(groups, *x.shape[-2:]).contiguous() for x in (query, key, value))
    means: Tensor = _KernelAttention.apply(q, k, v, _GROWTHS[name])  # pyright: ignore[reportAssignmentType]
    return means.reshape(*query.shape[:-1], value.shape[-1])


def _check(query: Tensor, key: Tensor, value: Tensor) -> None:
    named = {"query": query, "key": key, "value": value}
    for name, x in named.items():
        if x.dtype not in (torch.float32, torch.float64) or x.dtype != query.dtype:
            raise InputError(f"{name} has dtype {x.dtype}: give all in float32, or all in float64")
        if x.ndim < 2 or x.shape[:-2] != query.shape[:-2]:
            raise InputError(
                f"{name} has shape {tuple(x.shape)}: give (..., points, dimension) with the leading axes "
                f"of the query, {tuple(query.shape[:-2])}"
            )
    if key.shape[-2] == 0 or key.shape[-2] != value.shape[-2]:
        raise InputError(
            f"{key.shape[-2]} keys and {value.shape[-2]} values: give one value per key, and one"
        )
    if query.shape[-1] == 0 or key.shape[-1] != query.shape[-1]:
        raise InputError(
            f"queries have {query.shape[-1]} and keys {key.shape[-1]} dimensions: give them in one space"
        )


@dataclass(frozen=True)
class _Growth:
    """A kernel g of scores, in units that depend on the largest score of the row.

    Attributes
    ----------
    relative : callable
        Of a tile of scores, the largest score of each row, spare room for a tile, and a tile of gradients or
        None: turns the scores into g in the unit, and multiplies the gradients by g' in the unit.
    rescaling : callable
        Of a largest score and a later, larger one: the old unit in terms of the new one.
    """

    relative: Callable[[Tensor, Tensor, Tensor, Tensor | None], None]
    rescaling: Callable[[Tensor, Tensor], Tensor]


def _exponential(z: Tensor, top: Tensor, _: Tensor, flow: Tensor | None) -> None:
    z.sub_(top).clamp_(max=0).exp_()  # clamped, for the largest score may come out one rounding larger
    if flow is not None:
        flow.mul_(z)


def _linear_elu(z: Tensor, top: Tensor, room: Tensor, flow: Tensor | None) -> None:
    """With y = z − min(0, top): g = max(y, 0) + e^min(y, 0) and g' = e^min(y, 0), both over 1 + max(0, top).

    Where all scores are negative g is e^z/e^top, elsewhere (1 + elu(z))/(1 + top).
    """
    z.sub_(top.clamp(max=0))
    torch.clamp(z, max=0, out=room).exp_()
    scale = 1 / (1 + top.clamp(min=0))
    z.clamp_(min=0).add_(room).mul_(scale)
    if flow is not None:
        flow.mul_(room).mul_(scale)


def _squared_elu(z: Tensor, top: Tensor, room: Tensor, flow: Tensor | None) -> None:
    _linear_elu(z, top, room, flow)
    if flow is not None:
        flow.mul_(z).mul_(2)
    z.square_()


def _log_elu(z: Tensor, _: Tensor, room: Tensor, flow: Tensor | None) -> None:
    """With n = 1/(1 − min(z, 0)) and a = 1 + max(z, 0): g = n + log a and g' = n²/a. Its unit is 1."""
    torch.clamp(z, max=0, out=room).sub_(1).reciprocal_()  # −n
    z.clamp_(min=0).add_(1)
    if flow is not None:
        flow.mul_(room).mul_(room).div_(z)
    z.log_().sub_(room)


def _linear_rescaling(old: Tensor, new: Tensor) -> Tensor:
    growth = (1 + old.clamp(min=0)) / (1 + new.clamp(min=0))
    return growth * torch.exp(old.clamp(max=0) - new.clamp(max=0))


_GROWTHS = {
    Exponential.name: _Growth(_exponential, lambda old, new: torch.exp(old - new)),
    SquaredElu.name: _Growth(_squared_elu, lambda old, new: _linear_rescaling(old, new).square()),
    LinearElu.name: _Growth(_linear_elu, _linear_rescaling),
    LogElu.name: _Growth(_log_elu, lambda old, _: torch.ones_like(old)),
}


class _Tiles:
    """The tiles of all scores of queries (G, N, d) and keys (G, M, d), and memory for those of one step.

    A tile holds few enough scores to stay in the cache: a piece of one group, or several small groups whole.
    Forward and backward cut alike, so that both find the same scores to the last bit.
    """

    def __init__(self, query: Tensor, key: Tensor) -> None:
        (self.groups, self.n, _), self.m = query.shape, key.shape[1]
        size = CPU_TILE if query.device.type == "cpu" else DEVICE_TILE
        rows = min(self.n, math.isqrt(size))
        self.columns = min(self.m, size // max(rows, 1))
        self.rows = min(self.n, size // self.columns)
        self.at_once = min(self.groups, max(size // max(self.rows * self.columns, 1), 1))
        self.like = query

    def rooms(self, count: int) -> Callable[[Tensor, Tensor], list[Tensor]]:
        """Memory for `count` tiles; the function gives views of it in the shape of a tile of scores."""
        memory = self.like.new_empty(count, self.at_once * self.rows * self.columns)

        def views(q: Tensor, k: Tensor) -> list[Tensor]:
            shape = (q.shape[0], q.shape[1], k.shape[1])
            return [row[: math.prod(shape)].view(shape) for row in memory]

        return views

    def query_slices(self) -> Iterator[tuple[slice, slice]]:
        """Slices of groups and of queries."""
        for g in range(0, self.groups, self.at_once):
            for i in range(0, self.n, max(self.rows, 1)):
                yield slice(g, g + self.at_once), slice(i, i + self.rows)

    def key_slices(self) -> Iterator[slice]:
        """Slices of keys."""
        for j in range(0, self.m, self.columns):
            yield slice(j, j + self.columns)


class _KernelAttention(torch.autograd.Function):
    """Kernel attention of groups: queries (G, N, d), keys (G, M, d), values (G, M, d_v)."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, growth: _Growth) -> Tensor:
        means = value.new_zeros(*query.shape[:2], value.shape[2])
        top = query.new_full((*query.shape[:2], 1), -math.inf)
        total = torch.zeros_like(top)
        scaled = query / math.sqrt(query.shape[2])
        tiles = _Tiles(query, key)
        rooms = tiles.rooms(2)
        for group, row in tiles.query_slices():
            q, o, s, t = scaled[group, row], means[group, row], total[group, row], top[group, row]
            for column in tiles.key_slices():
                k, v = key[group, column], value[group, column]
                z, room = rooms(q, k)
                torch.bmm(q, k.mT, out=z)
                larger = torch.maximum(t, z.amax(-1, keepdim=True))
                factor = growth.rescaling(t, larger)
                growth.relative(z, larger, room, None)
                s.mul_(factor).add_(z.sum(-1, keepdim=True))
                o.mul_(factor).baddbmm_(z, v)
                t.copy_(larger)
            o.div_(s)
        ctx.growth = growth
        ctx.save_for_backward(query, key, value, means, top, total)
        return means

    @staticmethod
    @once_differentiable
    def backward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, *grad_outputs: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, None]:
        (upstream,) = grad_outputs
        query, key, value, means, top, total = ctx.saved_tensors
        d_query, d_key, d_value = (torch.zeros_like(x) for x in (query, key, value))
        scale = math.sqrt(query.shape[2])
        scaled, shares = query / scale, upstream / total
        centre = (shares * means).sum(-1, keepdim=True)
        tiles = _Tiles(query, key)
        rooms = tiles.rooms(3)
        for group, row in tiles.query_slices():
            q, share, t = scaled[group, row], shares[group, row], top[group, row]
            for column in tiles.key_slices():
                k, v = key[group, column], value[group, column]
                z, room, flow = rooms(q, k)
                torch.bmm(q, k.mT, out=z)
                torch.bmm(share, v.mT, out=flow)
                ctx.growth.relative(z, t, room, flow.sub_(centre[group, row]))
                d_value[group, column].baddbmm_(z.mT, share)
                d_query[group, row].baddbmm_(flow, k)
                d_key[group, column].baddbmm_(flow.mT, q)
        return d_query.div_(scale), d_key, d_value, None
