"""Critical points in closed form, each with its domain of validity."""

from hopfieldphase.core.closed_forms import *  # noqa: F403
from hopfieldphase.core.closed_forms import __all__  # noqa: F401
