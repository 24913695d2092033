"""Every attention map of the field, in one contract: see `contract.Attention`."""

from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.attention.losses import fenchel_young_gradient, fenchel_young_loss
from hopfieldphase.core.attention.selection import CappedEntmax, SparsemaxK, TopK, TopP
from hopfieldphase.core.attention.separable import Separable
from hopfieldphase.core.attention.tsallis import Entmax

__all__ = [
    "Attention",
    "CappedEntmax",
    "Entmax",
    "Separable",
    "SparsemaxK",
    "TopK",
    "TopP",
    "fenchel_young_gradient",
    "fenchel_young_loss",
]
