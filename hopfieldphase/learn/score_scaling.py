"""Factors that each head learns to multiply its scores with, as a function of the number of memories."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from hopfieldphase.runs.learned_maps import Scaling

_START = 32  # number of memories at which every factor is 1 before training: within the loads trained on


class LogarithmicScaling(nn.Module):
    """c(n) = s log n with a learned s > 0 for each head: scalable softmax.

    Parameters
    ----------
    heads : int
        H; log s is learned.

    Notes
    -----
    `hopfieldphase.core.attention.Logarithmic`; Nakanishi, "Scalable-Softmax Is Superior for Attention"
    (2025).
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.log_slope = _learned(-math.log(math.log(_START)), heads)

    def forward(self, n: int) -> Tensor:
        """Factors of n memories, shape (heads,)."""
        return self.log_slope.exp() * math.log(n)


class AdaptiveScaling(nn.Module):
    """c(n) = δ + β (log n)^γ with learned δ > 0, β > 0 and γ for each head: the scaling of ASEntmax.

    Parameters
    ----------
    heads : int
        H; log δ, log β and γ are learned, from δ = 1/2 and γ = 1 on.

    Notes
    -----
    `hopfieldphase.core.attention.PowerOfLogarithm`; Vasylenko, Pitorro, Martins and Treviso, "Long-Context
    Generalization with Sparse Attention" (2026). There β and γ are functions of the input; here they are
    constants of the head.
    """

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.log_delta = _learned(-math.log(2), heads)
        self.log_beta = _learned(-math.log(2 * math.log(_START)), heads)
        self.gamma = _learned(1.0, heads)

    def forward(self, n: int) -> Tensor:
        """Factors of n memories, shape (heads,)."""
        return self.log_delta.exp() + self.log_beta.exp() * math.log(n) ** self.gamma


SCALINGS: dict[Scaling, Callable[[int], nn.Module | None]] = {
    "none": lambda heads: None,
    "logarithmic": LogarithmicScaling,
    "adaptive": AdaptiveScaling,
}
"""What is learned for a number of heads; with "none", nothing."""


def _learned(start: float, heads: int) -> nn.Parameter:
    return nn.Parameter(torch.full((heads,), start))
