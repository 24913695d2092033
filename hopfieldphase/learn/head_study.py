"""The heads of a checkpoint as a labelled result: from a spec to its tree and its result folder."""

import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import transformers
import xarray as xr

from hopfieldphase.core.errors import InputError
from hopfieldphase.data.files import OutputError
from hopfieldphase.data.heads import heads_summary, heads_tree, write_heads
from hopfieldphase.learn.checkpoint import read_checkpoint
from hopfieldphase.learn.head_phases import head_phases, key_statistics
from hopfieldphase.learn.heads import Heads, read_heads
from hopfieldphase.runs.heads_spec import (
    HeadsSpec,
    checkpoint_digest,
    checkpoint_name,
    read_text,
    text_digest,
)
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw, write_result
from hopfieldphase.runs.spec_base import ALL

FILES = "heads"
"""The folder of the pattern files, inside that of the result."""


def heads(spec: HeadsSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """What the keys of every head are like, and where it lies among the phases that they make.

    Parameters
    ----------
    spec : HeadsSpec
    progress : callable, optional
        Called as ``progress(done, total)`` after every head.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.heads`.

    Raises
    ------
    InputError
        If checkpoint or text cannot be read or have changed, layers or heads are asked for that the model
        does not have, or the keys of a head are all equal.
    """
    return _measure(spec, _read(spec), progress)


def compute_heads(
    spec: HeadsSpec,
    path: Path,
    *,
    draw: Draw[xr.DataTree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Study every head, write the result folder with the pattern files in `heads/`, return `summary.json`."""
    start = time.perf_counter()
    found = _read(spec)
    tree = _measure(spec, found, progress)
    seconds = time.perf_counter() - start
    _write_files(spec, found, path / FILES)  # first: the folder counts as complete with the last file only
    return write_result(spec, path, heads_summary(tree), seconds, tree, draw)


def _read(spec: HeadsSpec) -> Heads:
    text = read_text(spec.text)
    for what, path, now, then in (
        ("text file", spec.text, text_digest(text), spec.text_sha256),
        ("checkpoint", spec.model, checkpoint_digest(spec.model), spec.model_sha256),
    ):
        if now != then:
            raise InputError(
                f"{what} {path} has changed since this spec was written: restore it, or drop its sha256"
            )
    return read_heads(read_checkpoint(spec.model), text)


def _measure(spec: HeadsSpec, found: Heads, progress: Progress | None) -> xr.DataTree:
    layers, numbers = _chosen(spec, found)
    top = None if spec.top == ALL else int(spec.top)
    places = [(layer, head) for layer in layers for head in numbers]
    results: dict[tuple[int, int], Any] = {}
    for done, (layer, head) in enumerate(places, start=1):
        keys, queries = found.keys[layer, head], found.queries[layer, head]
        if spec.centred:
            keys = keys - keys.mean(axis=0)
        try:
            phases = [asdict(head_phases(keys, queries, alpha, top)) for alpha in spec.alphas]
        except InputError as error:
            raise InputError(f"layer {layer}, head {head}: {error}") from error
        results[layer, head] = asdict(key_statistics(keys, queries, found.tokens)), phases
        if progress is not None:
            progress(done, len(places))
    options = spec.model_dump(exclude_none=True) | {"model": checkpoint_name(spec.model)}
    options["text"] = Path(spec.text).name  # where they lie is not part of the data
    return heads_tree(layers, numbers, results, found.tokens, found.keys.shape[-1], options)


def _write_files(spec: HeadsSpec, found: Heads, folder: Path) -> None:
    layers, numbers = _chosen(spec, found)
    attrs = {
        "model": checkpoint_name(spec.model),
        "model_sha256": spec.model_sha256,
        "text": Path(spec.text).name,
        "text_sha256": spec.text_sha256,
        "torch_version": torch.__version__,
        "transformers_version": transformers.__version__,
    }
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_heads(folder, layers, numbers, found.keys, found.queries, found.tokens, attrs)
    except OSError as error:
        raise OutputError(
            f"cannot write to {folder}: {error.strerror or error}; choose another folder with --out"
        ) from error


def _chosen(spec: HeadsSpec, found: Heads) -> tuple[Sequence[int], Sequence[int]]:
    """Layers and heads that are asked for."""
    chosen = []
    for name, text, n in zip(("layers", "heads"), (spec.layers, spec.heads), found.keys.shape, strict=False):
        wanted = list(range(n)) if text == ALL else [int(part) for part in text.split(",")]
        if wanted[-1] >= n:
            raise InputError(f"{name} = {text}, but the model has {n}: use {name} from 0 to {n - 1}")
        chosen.append(wanted)
    return chosen[0], chosen[1]
