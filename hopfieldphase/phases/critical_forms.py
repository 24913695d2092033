"""Which closed form speaks about a critical point, and whether its premises hold there."""

import math
from typing import NamedTuple

import numpy as np

from hopfieldphase.continuation.branch import PointKind, SpecialPoint, State, Vector
from hopfieldphase.core import closed_forms
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.spinodals import UNIFORM

SYMMETRIC = 1e-9
"""Relative spread of norms and overlaps below which patterns count as equidistant."""

EQUAL_REST = 1e-6
"""Spread of the weights beside the largest one that counts as none."""


class ClosedForm(NamedTuple):
    """What a formula says about a critical point.

    `value` is the β it gives, `holds` says whether its premises do, and `premises` what they are.
    """

    value: float
    holds: bool
    premises: str


def mean_instability(model: HopfieldModel, state: State) -> ClosedForm:
    """Where the uniform state of all patterns loses stability, next to the state in which the mean does."""
    missing = ""
    if len(state.support) < model.M:
        missing = f"{len(state.support)} of {model.M} patterns carry weight"
    elif model.alpha != 2 and not _is_uniform(state.weights):
        missing = "the weights are not uniform"
    premises = f"the formula does not apply: {missing}" if missing else "the formula applies: all patterns"
    return ClosedForm(closed_forms.uniform_spinodal(model.gram, model.alpha), not missing, premises)


def existence(model: HopfieldModel, point: SpecialPoint) -> ClosedForm | None:
    """Where a uniform state comes into being; for a single pattern, its exact storage onset."""
    if point.kind is not PointKind.ENTERS or point.state is None or model.alpha <= 1:
        return None
    support = [pattern for pattern in point.state.support if pattern not in point.patterns]
    if not support or not _is_uniform(point.state.weights[support]):
        return None
    value = closed_forms.uniform_existence(model.gram, support, model.alpha)
    return ClosedForm(value, True, "the formula applies: equal weights on a fixed support")


def retrieval_fold(model: HopfieldModel, point: SpecialPoint, distance: float | None) -> ClosedForm | None:
    """Where retrieval of one of M ≥ 3 equidistant patterns vanishes."""
    if point.kind is not PointKind.FOLD or point.state is None or distance is None:
        return None
    if model.M == 2 or model.alpha >= 2 or not _singles_out(point.state.weights):
        return None
    value = closed_forms.potts_spinodal(model.M, model.alpha) / distance
    return ClosedForm(value, True, "the formula applies: equidistant patterns, one above all others")


def mean_and_retrieval(
    model: HopfieldModel, point: SpecialPoint, distance: float | None
) -> ClosedForm | None:
    """Coexistence of the uniform state of all M equidistant patterns and retrieval of one of them."""
    if distance is None or point.state is None or point.landing is None:
        return None
    pair = (point.state.weights, point.landing.weights)
    if not any(
        first.all() and _is_uniform(first) and _singles_out(second) for first, second in (pair, pair[::-1])
    ):
        return None
    value = math.nan
    if model.M == 2:
        value = closed_forms.two_keys_coexistence(0.0, model.alpha)
    elif model.alpha <= 2:
        value = closed_forms.potts_coexistence(model.M, model.alpha)
    premises = "the formula applies: equidistant patterns, their mean and one of them"
    return None if math.isnan(value) else ClosedForm(value / distance, True, premises)


def common_distance(model: HopfieldModel) -> float | None:
    """s²(|ξ|² − ξ_μ·ξ_ν) of equidistant patterns of one norm, else None."""
    gram = np.asarray(model.gram, dtype=np.float64)
    own, others = np.diagonal(gram), gram[~np.eye(model.M, dtype=bool)]
    size = float(own.max())
    if model.M < 2 or np.ptp(own) > SYMMETRIC * size or np.ptp(others) > SYMMETRIC * size:
        return None
    distance = float(own.mean() - others.mean())
    return distance if distance > SYMMETRIC * size else None


def _is_uniform(weights: Vector) -> bool:
    return bool(np.ptp(weights) <= UNIFORM * weights.max())


def _singles_out(weights: Vector) -> bool:
    """Whether one weight lies above all others, which are equal."""
    rest = np.sort(weights)[:-1]
    return bool(np.ptp(rest) <= EQUAL_REST and rest[-1] < weights.max() - EQUAL_REST)
