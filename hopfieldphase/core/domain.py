"""Checks of the parameters that every room shares; each returns the value in its plain type."""

import math

from hopfieldphase.core.errors import InputError, shown


def tsallis_index(alpha: float) -> float:
    """Return α as a float, or raise `InputError` unless 0 < α ≤ ∞."""
    try:
        value = float(alpha)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not value > 0:
        raise InputError(
            f"alpha = {shown(alpha)} is outside its domain (0, inf]: "
            "use alpha = 1 for softmax, 2 for sparsemax, inf for hardmax"
        )
    return value


def inverse_temperature(beta: float) -> float:
    """Return β as a float, or raise `InputError` unless 0 < β < ∞."""
    try:
        value = float(beta)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0 < value < math.inf:
        raise InputError(
            f"beta = {shown(beta)} is outside its domain (0, inf): "
            "give a positive, finite inverse temperature"
        )
    return value
