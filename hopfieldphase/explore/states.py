"""The weights of states: from stored states where there are some, else from the sweep done again."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import sequence
from hopfieldphase.data import schema
from hopfieldphase.explore.view import STRONGEST, Array, strongest
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.grid_spec import GridSpec
from hopfieldphase.runs.kappa import sweep_kappa_tree
from hopfieldphase.runs.kappa_spec import KappaSpec
from hopfieldphase.runs.load_branch_spec import LoadBranchSpec
from hopfieldphase.runs.spec_base import TomlSpec
from hopfieldphase.runs.specs import PatternSpec, StudySpec, SweepSpec
from hopfieldphase.runs.studies import STUDIES, load, read_spec
from hopfieldphase.runs.sweeps import Model, spec_model, sweep_beta

MOST_STATES = 20_000
"""Above this number of states their weights would not fit on a page, and are not computed."""

AGREEMENT = 1e-9
"""Relative difference of z_max up to which a sweep done again is the one that was stored."""

Weights = tuple[NDArray[np.int32], NDArray[np.float32]]


def made_by(attrs: Mapping[Any, Any], file: Path | None) -> TomlSpec | None:
    """What data were made from, by the file beside them or by their attributes; None where neither says."""
    if file is not None and file.is_file():
        with suppress(InputError):
            return read_spec(file)
    study = STUDIES.get(str(attrs.get("study")))
    if study is None:
        return None
    kind = load(study.spec)
    if not issubclass(kind, StudySpec):
        return None
    pattern_kind: Any = kind.model_fields["patterns"].annotation
    taken = pattern_kind.sources.get(str(attrs.get("generator")), {})
    source = _known(attrs, ("generator", *taken))
    try:
        return kind(**_known(attrs, kind.model_fields), patterns=pattern_kind(**source))
    except InputError:  # patterns from a file whose path is not known
        return None


def sweep_weights(dataset: xr.Dataset, spec: TomlSpec | None) -> Weights | str:
    """Weights of every state of a sweep over (realization, direction, parameter), or why there are none."""
    if not isinstance(spec, SweepSpec | KappaSpec | GridSpec):
        return "no weights are shown: what these patterns were made from is not stored"
    if dataset["overlap_max"].size > MOST_STATES:
        return f"no weights are shown: of more than {MOST_STATES} states they would not fit on a page"
    if isinstance(spec, GridSpec):
        return _grid_weights(dataset, spec)
    if not set(dataset["overlap_max"].dims) <= {schema.REALIZATION, schema.DIRECTION, spec.parameter}:
        return "no weights are shown: what these patterns were made from is not stored"
    if bool(dataset["overlap_max"].isnull().any()):
        return "no weights are shown, as some sweeps are not there"
    try:
        if "state" not in dataset:
            again = _again(spec)
            worst = float(abs(again["overlap_max"] / dataset["overlap_max"] - 1).max())
            if not worst <= AGREEMENT:
                return (
                    "no weights are shown: the sweep was done again for them and differs from the stored one "
                    f"by {worst:.1g} in z_max"
                )
            dataset = again
        return _of_states(dataset["state"], spec)
    except InputError as error:
        return f"no weights are shown: {error}"


def path_weights(model: Model, states: Array, betas: Array) -> Weights:
    """Weights of states (directions, n, d) at n values of β, in the order of the states."""
    found = [
        strongest(np.asarray(model.weights(states[:, i], beta))) for i, beta in enumerate(betas.tolist())
    ]
    return _joined(found)


def load_weights(spec: LoadBranchSpec, rows: list[tuple[Array, int]]) -> Weights:
    """Weights of states x among the first M patterns, for pairs (x, M)."""
    stored = _sequence(spec.patterns, spec.realization).take(max((M for _, M in rows), default=1))
    found = [
        strongest(np.asarray(HopfieldModel(stored[:M], spec.alpha).weights(x[None], spec.beta)))
        for x, M in rows
    ]
    return _flat([_padded(one) for one in found])


def _grid_weights(dataset: xr.Dataset, spec: GridSpec) -> Weights | str:
    """Weights of all sweeps of a grid, cell by cell."""
    rows = []
    for number, place in enumerate(np.ndindex(spec.shape[:-1])):
        found = sweep_weights(dataset.isel(dict(zip(spec.grid, place, strict=True))), spec.cell(number))
        if isinstance(found, str):
            return found
        rows.append(found)
    return _flat(rows)


def _known(attrs: Mapping[Any, Any], names: Iterable[str]) -> dict[str, Any]:
    return {
        name: attrs[name]
        for name in names
        if name not in ("patterns", "path") and attrs.get(name) is not None
    }


def _again(spec: SweepSpec | KappaSpec) -> xr.Dataset:
    wanted = spec.model_copy(update={"keep_states": True})
    return sweep_beta(wanted) if isinstance(wanted, SweepSpec) else sweep_kappa_tree(wanted).to_dataset()


def _of_states(states: xr.DataArray, spec: SweepSpec | KappaSpec) -> Weights:
    if schema.REALIZATION not in states.dims:
        states = states.expand_dims(schema.REALIZATION)
    states = states.transpose(schema.REALIZATION, schema.DIRECTION, spec.parameter, schema.COMPONENT)
    rows = []
    for realization, part in enumerate(states.values):
        models = _models(spec, realization, states)
        found = [
            strongest(np.asarray(model.weights(part[:, i], beta))) for i, (model, beta) in enumerate(models)
        ]
        rows.append(_joined(found))
    return _flat(rows)


def _models(
    spec: SweepSpec | KappaSpec, realization: int, states: xr.DataArray
) -> Iterator[tuple[Model, float]]:
    """The model and β at every value of the parameter."""
    if isinstance(spec, SweepSpec):
        model = spec_model(spec, realization)
        yield from ((model, beta) for beta in states["beta"].values.tolist())
        return
    counts = states["M"].values.tolist()
    stored = _sequence(spec.patterns, realization).take(counts[-1])
    yield from ((HopfieldModel(stored[:M], spec.alpha), spec.beta) for M in counts)


def _sequence(source: PatternSpec, realization: int) -> Any:
    given = source.model_dump(exclude_none=True)
    make: Callable[..., Any] = sequence
    return make(given.pop("generator"), realization=realization, **given)


def _joined(found: list[Weights]) -> Weights:
    """From one (directions, kept) for each value of the parameter to rows by direction."""
    padded = [_padded(one) for one in found]
    patterns, values = (np.stack(parts, axis=1) for parts in zip(*padded, strict=True))
    return patterns.reshape(-1, STRONGEST), values.reshape(-1, STRONGEST)


def _flat(rows: list[Weights]) -> Weights:
    patterns, values = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    return patterns, values


def _padded(weights: Weights) -> Weights:
    missing = ((0, 0), (0, STRONGEST - weights[0].shape[-1]))
    return np.pad(weights[0], missing, constant_values=-1), np.pad(weights[1], missing)
