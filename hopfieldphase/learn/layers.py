"""Linear layers whose weights a seed draws, without a touch of PyTorch's global generator."""

import math

import torch
from torch import nn


def linear(n_in: int, n_out: int, bias: bool = True) -> nn.Linear:
    """A linear layer whose weights are still to be drawn (`draw_weights`)."""
    layer = nn.Linear(n_in, n_out, bias=bias, device="meta")  # where nothing is drawn
    return layer.to_empty(device="cpu")


@torch.no_grad()
def draw_weights(model: nn.Module, seed: int) -> None:
    """Draw each matrix and bias of all linear layers uniformly within ± 1/√(number of inputs)."""
    generator = torch.Generator().manual_seed(seed)
    for layer in model.modules():
        if isinstance(layer, nn.Linear):
            bound = 1 / math.sqrt(layer.in_features)
            for parameter in layer.parameters():
                parameter.uniform_(-bound, bound, generator=generator)
