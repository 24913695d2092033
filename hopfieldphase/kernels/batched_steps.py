"""Evaluation and curvature of many states at once, on any array library: (realizations R, states S) of them.

Nothing here asks the device for a value; the steps are those of `kernels.steps`, with where for if.
"""

import math
from typing import NamedTuple

from hopfieldphase.core.arrays import Array, Namespace
from hopfieldphase.kernels.batched_weights import weights
from hopfieldphase.kernels.steps import LONGEST_NEWTON_STEP, relative_rounding

# Above this response differences of patterns drown; the others then matter to one part in it.
_LARGEST_RESPONSE = 1e16
_CG_STEPS = 48
_CG_TOLERANCE = 1e-15


class Batch(NamedTuple):
    """Patterns (R, N, d), which states see which of them (R, S, N; None: all), β and length unit (R, S).

    `beta` and `length` may be (1, S) or (1, 1).
    """

    xp: Namespace
    patterns: Array
    present: Array | None
    scale: float
    alpha: float
    beta: Array
    length: Array


class States(NamedTuple):
    """States x with T(x) (R, S, d), overlaps and weights (R, S, N), and (R, S): θ, Γ, size, residual.

    Overlaps of absent patterns are −∞; `size` is that of the terms that make up Γ.
    """

    x: Array
    image: Array
    z: Array
    p: Array
    theta: Array
    energy: Array
    size: Array
    residual: Array

    def rounding(self) -> Array:
        """By how much Γ may be wrong."""
        return relative_rounding(self.z.shape[-1]) * self.size


def evaluate(batch: Batch, x: Array) -> States:
    """Everything that is known of the states x (R, S, d)."""
    xp, beta = batch.xp, batch.beta
    z = batch.scale * xp.matmul(x, xp.matrix_transpose(batch.patterns))
    if batch.present is not None:
        z = xp.where(batch.present, z, -math.inf)
    top = xp.max(z, axis=-1, keepdims=True)
    p, theta = weights(xp, z, top, batch.alpha, beta[..., None])
    image = batch.scale * xp.matmul(p, batch.patterns)
    half = 0.5 * beta * xp.sum(x * x, axis=-1)
    conjugate = _conjugate(xp, xp.where(p > 0, z, top) - top, top[..., 0], p, batch.alpha, beta)
    residual = relative_distance(xp, image, x, batch.length)
    return States(x, image, z, p, theta[..., 0], half - conjugate, half + xp.abs(conjugate), residual)


def _conjugate(xp: Namespace, gaps: Array, top: Array, p: Array, alpha: float, beta: Array) -> Array:
    """Ω*(βz) from p, with the gaps z − top ≤ 0 of the patterns with weight; as `core.entmax.conjugate`."""
    if math.isinf(alpha):
        return beta * top
    if alpha == 2:
        surprise = 1 - p
    else:
        surprise = -xp.log(xp.where(p > 0, p, 1.0))
        if alpha != 1:
            surprise = -xp.expm1((1 - alpha) * surprise) / (alpha - 1)
    return beta * top + xp.sum(p * (beta[..., None] * gaps + surprise), axis=-1)


def relative_distance(xp: Namespace, a: Array, b: Array, length: Array) -> Array:
    """|a − b| / max(|b|, length)."""
    return norm(xp, a - b) / xp.maximum(norm(xp, b), length)


def norm(xp: Namespace, x: Array) -> Array:
    """|x| along the last axis."""
    return xp.sqrt(xp.sum(x * x, axis=-1))


def choose(xp: Namespace, where: Array, these: States, others: States) -> States:
    """State by state these where `where` (R, S) holds, else the others."""
    return States(
        *(
            xp.where(where[..., None] if a.ndim > where.ndim else where, a, b)
            for a, b in zip(these, others, strict=True)
        )
    )


def response(xp: Namespace, p: Array, alpha: float) -> Array:
    """The response w = p^{2−α}/α on the support, as it enters the Hessian."""
    if math.isinf(alpha):
        return xp.zeros_like(p)
    if alpha == 1:
        return p
    support = p > 0
    if alpha == 2:
        return 0.5 * xp.astype(support, p.dtype)
    w = xp.clip(xp.where(support, p, 1.0) ** (2 - alpha) / alpha, max=_LARGEST_RESPONSE)
    return xp.where(support, w, 0.0)


def curvature(batch: Batch, w: Array) -> Array:
    """βs² Ξᵀ(diag(w) − wwᵀ/Σw)Ξ (R, S, d, d), with ∇²Γ/β = I − this, at responses w (R, S, N)."""
    xp = batch.xp
    total = xp.sum(w, axis=-1, keepdims=True)
    centre = xp.matmul(w, batch.patterns) / xp.where(total > 0, total, 1.0)
    # patterns relative to their mean: a response that diverges (α > 2) takes no digits from the others
    rows = batch.patterns[:, None, :, :] - centre[..., None, :]
    rows = xp.sqrt(batch.beta[..., None] * w)[..., None] * (batch.scale * rows)
    return xp.matmul(xp.matrix_transpose(rows), rows)


def newton_step(batch: Batch, states: States) -> tuple[Array, Array]:
    """The Newton step (R, S, d), and whether it can be trusted: positive curvature along it, not too long.

    Conjugate gradients solve (I − K) y = T(x) − x: a support of k patterns takes k − 1 of them.
    """
    xp = batch.xp
    K = curvature(batch, response(xp, states.p, batch.alpha))
    r = states.image - states.x
    y, direction = xp.zeros_like(r), r
    rr = xp.sum(r * r, axis=-1)
    enough = _CG_TOLERANCE**2 * rr
    positive = xp.ones_like(rr, dtype=xp.bool)
    d, N = r.shape[-1], states.p.shape[-1]
    for _ in range(min(d, N, _CG_STEPS)):
        image = direction - xp.matmul(K, direction[..., None])[..., 0]
        along = xp.sum(direction * image, axis=-1)
        live = (rr > enough) & positive
        positive = positive & ((along > 0) | ~live)
        live = live & positive
        step = xp.where(live, rr / xp.where(live, along, 1.0), 0.0)[..., None]
        y = y + step * direction
        r = r - step * image
        last, rr = rr, xp.sum(r * r, axis=-1)
        direction = r + xp.where(live, rr / xp.where(live, last, 1.0), 0.0)[..., None] * direction
    short = norm(xp, y) <= LONGEST_NEWTON_STEP * xp.maximum(norm(xp, states.x), batch.length)
    return y, positive & short


def spectrum(batch: Batch, w: Array) -> tuple[Array, Array]:
    """λ_min(∇²Γ)/β (R, S) and its direction (R, S, d), of unit length, its largest component positive."""
    xp = batch.xp
    K = curvature(batch, w)
    values, vectors = xp.linalg.eigh(xp.where(xp.isfinite(K), K, 0.0))
    soft = vectors[..., :, -1]
    size = xp.abs(soft)
    first = xp.argmax(
        xp.astype(size * (1 + 1e-9) >= xp.max(size, axis=-1, keepdims=True), xp.int8), axis=-1, keepdims=True
    )
    sign = xp.where(xp.take_along_axis(soft, first, axis=-1) > 0, xp.ones_like(soft[..., :1]), -1.0)
    return 1.0 - values[..., -1], sign * soft
