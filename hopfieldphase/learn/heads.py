"""Keys and queries of every attention head of a checkpoint, from real text."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hopfieldphase.core.errors import InputError
from hopfieldphase.learn.checkpoint import FAMILIES, Checkpoint, tokenize

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Heads:
    """What every head attends with.

    Attributes
    ----------
    tokens : tuple of str
        The M tokens, special ones included.
    keys, queries : ndarray, shape (layers, heads, M, d)
        float64, as the projections of the model give them, biases included.
    """

    tokens: tuple[str, ...]
    keys: Array = field(repr=False)
    queries: Array = field(repr=False)

    def attention(self) -> Array:
        """The attention weights of the model, softmax over the keys of q·k/√d, (layers, heads, M, M)."""
        d = self.keys.shape[-1]
        logits = self.queries @ np.swapaxes(self.keys, -1, -2) / np.sqrt(d)
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)


def read_heads(checkpoint: Checkpoint, text: str) -> Heads:
    """Let a checkpoint read a text, and keep the keys and queries of every head.

    Parameters
    ----------
    checkpoint : Checkpoint
    text : str
        Read in one piece.

    Returns
    -------
    Heads

    Raises
    ------
    InputError
        If the text is too short or too long (`tokenize`).
    """
    ids, tokens = tokenize(checkpoint, text)
    keys, queries = heads_of_tokens(checkpoint, ids)
    return Heads(tokens, keys, queries)


def heads_of_tokens(checkpoint: Checkpoint, ids: torch.Tensor) -> tuple[Array, Array]:
    """Keys and queries, each of shape (layers, heads, M, d), where the model reads these token numbers (M,).

    They are taken at the projections themselves while the model runs.
    """
    model = checkpoint.model
    caught: dict[str, list[Array]] = {part: [] for part in FAMILIES[checkpoint.family]}
    handles = [
        module.register_forward_hook(_keep(caught[part], checkpoint.n_heads))
        for part in caught
        for name, module in model.named_modules()
        if name.endswith(part)
    ]
    try:
        with torch.inference_mode():
            model(input_ids=ids[None, :], attention_mask=torch.ones_like(ids)[None, :])
    finally:
        for handle in handles:
            handle.remove()
    queries, keys = (np.stack(layers) for layers in caught.values())
    if not (np.isfinite(keys).all() and np.isfinite(queries).all()):
        raise InputError(f"{checkpoint.name} gives keys that are not finite: its weights are damaged")
    return keys, queries


def _keep(layers: list[Array], n_heads: int) -> Callable[[Any, Any, torch.Tensor], None]:
    """A hook that keeps the output (1, M, heads·d) of a projection as (heads, M, d)."""

    def hook(module: Any, inputs: Any, output: torch.Tensor) -> None:
        projected = output[0].detach().numpy().astype(np.float64)
        layers.append(projected.reshape(len(projected), n_heads, -1).swapaxes(0, 1))

    return hook
