"""Attention maps of the field in one contract, and `weights`, which evaluates any of them compiled."""

from hopfieldphase.kernels.attention import *  # noqa: F403
from hopfieldphase.kernels.attention import __all__  # noqa: F401
