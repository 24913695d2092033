"""The critical points of one set of patterns: from a spec to plain values and a result folder."""

import math
import time
from pathlib import Path
from typing import Any

from hopfieldphase.continuation.branch import PointKind, SpecialPoint, State
from hopfieldphase.core.closed_forms import onset_character
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.critical import CriticalPoint, CriticalTable, StorageOnset, critical_points
from hopfieldphase.runs.critical_spec import ALL, CriticalSpec
from hopfieldphase.runs.results import write_result
from hopfieldphase.runs.sources import make_patterns

# Outcomes of a location that say that the point was not found as precisely as asked.
_FAILED = (Status.ITERATION_LIMIT, Status.NO_PROGRESS)


def find_critical(spec: CriticalSpec) -> dict[str, Any]:
    """The critical points of a spec, as `critical_summary` gives them.

    Raises
    ------
    InputError
        See `hopfieldphase.phases.critical.critical_points`.
    """
    model = HopfieldModel(make_patterns(spec.patterns), spec.alpha)
    top = None if spec.top == ALL else int(spec.top)
    return critical_summary(critical_points(model, at=spec.at, betas=spec.betas, top=top))


def write_critical(spec: CriticalSpec, path: Path) -> dict[str, Any]:
    """Find the critical points and write `summary.json`, `spec.toml` and `provenance.json`.

    Parameters
    ----------
    spec : CriticalSpec
        Resolved.
    path : Path
        A folder that this process holds (`runs.folder.claim_folder`).

    Returns
    -------
    dict
        The content of `summary.json`.

    Raises
    ------
    InputError, OutputError
        If there is nothing to find, or the file system refuses; nothing of the result is left then.
    """
    start = time.perf_counter()
    summary = find_critical(spec)
    return write_result(spec, path, summary, time.perf_counter() - start)


def critical_summary(table: CriticalTable) -> dict[str, Any]:
    """All of a table as plain JSON values; None stands for what does not exist or is infinite.

    Returns
    -------
    dict
        `model`, `at`, `betas` (range, an open end is None), `branches` (`followed`, `minima` found at the
        reference, `starts`, `undecided` ones among them, and the position of `lowest_beta`), `storage`
        (`first`, `all`, `never`, `at_onset`, and `patterns` with the closed form and the traced end),
        `mean_state` (None where it stays stable), `ends` and `coexistence` (each point with its `state`, and
        as `other_state` the one it goes to or coexists with), and `unconverged`, the number of points that
        were not located as asked.
    """
    model, onsets = table.model, table.storage
    points = (*table.ends, *table.coexistence)
    stored = [onset.beta for onset in onsets if math.isfinite(onset.beta)]
    return {
        "model": {"alpha": model.alpha, "M": model.M, "d": model.d, "scale": model.scale},
        "at": table.at,
        "betas": [_finite(table.betas[0]) or None, _finite(table.betas[1])],
        "branches": {
            "followed": len(table.branches),
            "minima": table.n_states,
            "starts": table.n_starts,
            "undecided": table.n_undecided,
            "lowest_beta": table.low_branch,
        },
        "storage": {
            "first": min(stored, default=None),
            "all": max(stored) if len(stored) == len(onsets) else None,
            "never": len(onsets) - len(stored),
            "at_onset": str(onset_character(model.alpha)) if model.alpha > 1 else None,
            "patterns": [_onset(onset) for onset in onsets],
        },
        "mean_state": None if table.mean is None else _point(table.mean),
        "ends": [_point(point) for point in table.ends],
        "coexistence": [_point(point) for point in table.coexistence],
        "unconverged": sum(point.point.status in _FAILED for point in points),
    }


def _onset(onset: StorageOnset) -> dict[str, Any]:
    traced = onset.traced
    return {
        "pattern": onset.pattern,
        "beta": _finite(onset.beta),
        "traced": None if traced is None else _location(traced),
    }


def _point(point: CriticalPoint) -> dict[str, Any]:
    special, form = point.point, point.closed_form
    direction = {True: "rising", False: "falling", None: None}[point.rising]
    interval = point.interval
    return _location(special) | {
        "branches": list(point.branches),
        "direction": direction,
        "interval": None if interval is None else [interval[0], _finite(interval[1])],
        "degenerate": special.degenerate,
        "state": _state(special.state, special.patterns if special.kind is PointKind.ENTERS else ()),
        "other_state": _state(special.landing),
        "closed_form": None if form is None else _finite(form.value),
        "premises_hold": None if form is None else form.holds,
        "premises": None if form is None else form.premises,
    }


def _state(state: State | None, entering: tuple[int, ...] = ()) -> dict[str, Any] | None:
    """Support, without the patterns that are just entering, and the largest weight with its pattern."""
    if state is None:
        return None
    largest = int(state.weights.argmax())
    support = [pattern for pattern in state.support if pattern not in entering]
    return {"support": support, "largest": largest, "weight": float(state.weights[largest])}


def _location(point: SpecialPoint) -> dict[str, Any]:
    """Type, place, precision and status of a special point."""
    return {
        "beta": point.parameter,
        "type": str(point.kind),
        "patterns": list(point.patterns),
        "multiplicity": point.multiplicity,
        "precision": point.precision,
        "bracket": [_finite(end) for end in point.bracket],
        "status": point.status.name.lower(),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
