"""A local checkpoint of the BERT family: its weights, its tokenizer, and text as its tokens."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModel, AutoTokenizer
from transformers.utils import logging

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.heads_spec import checkpoint_name, read_config

FAMILIES = {
    "bert": ("attention.self.query", "attention.self.key"),
    "camembert": ("attention.self.query", "attention.self.key"),
    "distilbert": ("attention.q_lin", "attention.k_lin"),
    "electra": ("attention.self.query", "attention.self.key"),
    "roberta": ("attention.self.query", "attention.self.key"),
    "xlm-roberta": ("attention.self.query", "attention.self.key"),
}
"""Model types whose logits are q·k/√d and nothing else, with the ends of the names of both projections."""

FEWEST_TOKENS = 2


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A model that is ready to read, in float64.

    Attributes
    ----------
    name : str
        The last two parts of its path.
    family : str
        Its model type, one of `FAMILIES`.
    model, tokenizer
        Of `transformers`; the tokenizer is None where the caller makes the tokens.
    n_heads : int
        Heads of a layer.
    longest : int
        Most tokens that it reads at once.
    """

    name: str
    family: str
    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    n_heads: int
    longest: int


def read_checkpoint(folder: str | Path) -> Checkpoint:
    """Load a checkpoint from a folder; nothing is fetched from anywhere, and no code in it is run.

    Parameters
    ----------
    folder : path-like
        With `config.json`, weights in safetensors format, and the files of the tokenizer.

    Returns
    -------
    Checkpoint

    Raises
    ------
    InputError
        If a part is missing or damaged, the weights do not fit the configuration, or the logits of this
        model type are not q·k/√d.
    """
    config = read_config(folder)
    family = config.get("model_type")
    if family not in FAMILIES:
        raise InputError(
            f"{folder} holds a model of type {family!r}, whose keys cannot be read: use {', '.join(FAMILIES)}"
        )
    if config.get("is_decoder") or config.get("position_embedding_type", "absolute") != "absolute":
        raise InputError(
            f"{folder} is a decoder or has relative positions, so that its logits are not q·k/√d alone: "
            "use an encoder with absolute positions"
        )
    options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    try:
        with _silent():
            model, found = AutoModel.from_pretrained(
                str(folder), attn_implementation="eager", dtype=torch.float64, use_safetensors=True,
                output_loading_info=True, **options,
            )  # fmt: skip
            tokenizer = AutoTokenizer.from_pretrained(str(folder), **options)
    except Exception as error:  # readers of three formats, each with its own kinds of errors
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"{folder} cannot be loaded ({type(error).__name__}: {reason}): save the checkpoint again"
        ) from error
    missing = sorted(name for name in found["missing_keys"] if "pooler" not in name)
    if missing or found["mismatched_keys"]:
        wrong = missing[0] if missing else min(found["mismatched_keys"])[0]
        raise InputError(
            f"{folder}: the weights do not fit the configuration, {wrong} is missing or has another shape: "
            "save the checkpoint again"
        )
    return prepared(model, tokenizer, checkpoint_name(folder))


def prepared(model: Any, tokenizer: Any, name: str) -> Checkpoint:
    """A checkpoint from a model of `transformers` that is in memory already; see `Checkpoint`."""
    config = model.config
    # RoBERTa counts positions from the one after that of the padding.
    offset = config.pad_token_id + 1 if config.model_type in ("camembert", "roberta", "xlm-roberta") else 0
    longest = config.max_position_embeddings - offset
    heads = config.n_heads if config.model_type == "distilbert" else config.num_attention_heads
    return Checkpoint(name, config.model_type, model.eval(), tokenizer, heads, longest)


def tokenize(checkpoint: Checkpoint, text: str) -> tuple[torch.Tensor, tuple[str, ...]]:
    """Text as the model reads it, with the special tokens that it is used to.

    Returns
    -------
    tensor of int64, shape (M,)
        The token numbers.
    tuple of str
        The tokens.

    Raises
    ------
    InputError
        If the text has fewer than two tokens, or more than the model reads at once.
    """
    tokenizer = checkpoint.tokenizer
    with _silent():
        plain = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        ids = tokenizer(text)["input_ids"]
    if plain < FEWEST_TOKENS:
        raise InputError(
            f"the text has {plain} token{'' if plain == 1 else 's'}: give at least {FEWEST_TOKENS}, "
            "better a few sentences"
        )
    if len(ids) > checkpoint.longest:
        raise InputError(
            f"the text has {len(ids)} tokens, but {checkpoint.name} reads {checkpoint.longest} at most: "
            "give a shorter text"
        )
    return torch.tensor(ids), tuple(tokenizer.convert_ids_to_tokens(ids))


@contextmanager
def _silent() -> Iterator[None]:
    """No progress bars and notes of transformers, which are switched for the whole process only."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
