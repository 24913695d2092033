"""Every attention map of the field, in one contract: see `contract.Attention`."""

from hopfieldphase.core.attention.capped import (
    CappedSimplex,
    ConstrainedSoftmax,
    ConstrainedSparsemax,
    GreedyFilling,
    WaterFilling,
)
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.attention.losses import fenchel_young_gradient, fenchel_young_loss
from hopfieldphase.core.attention.normmax import Normmax
from hopfieldphase.core.attention.permutahedron import Permutahedron
from hopfieldphase.core.attention.positive import Exponential, LinearElu, LogElu, PositiveKernel, SquaredElu
from hopfieldphase.core.attention.scaling import (
    FixedTemperature,
    LengthScaled,
    Logarithmic,
    PowerOfLogarithm,
    Scaling,
    Yarn,
)
from hopfieldphase.core.attention.selection import CappedEntmax, SparsemaxK, TopK, TopP
from hopfieldphase.core.attention.separable import Separable
from hopfieldphase.core.attention.tsallis import Entmax

__all__ = [
    "Attention",
    "CappedEntmax",
    "CappedSimplex",
    "ConstrainedSoftmax",
    "ConstrainedSparsemax",
    "Entmax",
    "Exponential",
    "FixedTemperature",
    "GreedyFilling",
    "LengthScaled",
    "LinearElu",
    "LogElu",
    "Logarithmic",
    "Normmax",
    "Permutahedron",
    "PositiveKernel",
    "PowerOfLogarithm",
    "Scaling",
    "Separable",
    "SparsemaxK",
    "SquaredElu",
    "TopK",
    "TopP",
    "WaterFilling",
    "Yarn",
    "fenchel_young_gradient",
    "fenchel_young_loss",
]
