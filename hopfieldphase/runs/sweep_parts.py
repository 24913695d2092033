"""A sweep as one array and back, so that a checkpoint can keep it."""

from collections.abc import Mapping
from dataclasses import fields
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.load import LoadEvents, Trail
from hopfieldphase.continuation.sweep import Sweep

Part = NDArray[np.uint8]


def to_part(sweep: Sweep) -> Part:
    """The bytes of an archive with every attribute that the sweep has."""
    return _pack({field.name: getattr(sweep, field.name) for field in fields(sweep)})


def from_part(part: Part) -> Sweep:
    """The sweep that `to_part` was given, bit for bit."""
    plain = _plain(_unpack(part))
    return Sweep(**{"state": None, "free_energy": None, "hessian_min": None, **plain})


def trails_to_part(trails: Mapping[int, Trail], facts: Mapping[str, Any]) -> Part:
    """Directions of a sweep in the load, and the facts of its patterns, as the bytes of an archive."""
    flat: dict[str, Any] = {f"facts/{name}": value for name, value in facts.items()}
    for way, trail in trails.items():
        flat |= {f"{way}/columns/{name}": column for name, column in trail.columns.items()}
        flat |= {f"{way}/events/{f.name}": getattr(trail.events, f.name) for f in fields(LoadEvents)}
        flat |= {f"{way}/states": trail.states, f"{way}/last": trail.last}
    return _pack(flat)


def trails_from_part(part: Part) -> tuple[dict[int, Trail], dict[str, Any]]:
    """The trails and the facts that `trails_to_part` was given, bit for bit."""
    flat = _unpack(part)

    def group(prefix: str) -> dict[str, Any]:
        return {name.removeprefix(prefix): value for name, value in flat.items() if name.startswith(prefix)}

    ways = sorted({int(name.partition("/")[0]) for name in flat if not name.startswith("facts/")})
    trails = {
        way: Trail(
            columns=group(f"{way}/columns/"),
            states=flat.get(f"{way}/states"),
            events=LoadEvents(**group(f"{way}/events/")),
            last=flat[f"{way}/last"],
        )
        for way in ways
    }
    return trails, _plain(group("facts/"))


def _pack(given: Mapping[str, Any]) -> Part:
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in given.items() if value is not None}
    stream = BytesIO()
    np.savez(stream, **arrays)
    return np.frombuffer(stream.getvalue(), dtype=np.uint8)


def _unpack(part: Part) -> dict[str, Any]:
    with np.load(BytesIO(part.tobytes()), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _plain(given: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and words as Python has them, and the norms as the pair that they are."""
    plain = {name: value.item() if value.ndim == 0 else value for name, value in given.items()}
    return plain | {"pattern_norms": tuple(plain["pattern_norms"].tolist())}
