"""A sweep as one array and back, so that a checkpoint can keep it."""

from dataclasses import fields
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.sweep import Sweep

Part = NDArray[np.uint8]


def to_part(sweep: Sweep) -> Part:
    """The bytes of an archive with every attribute that the sweep has."""
    given = {field.name: getattr(sweep, field.name) for field in fields(sweep)}
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in given.items() if value is not None}
    stream = BytesIO()
    np.savez(stream, **arrays)
    return np.frombuffer(stream.getvalue(), dtype=np.uint8)


def from_part(part: Part) -> Sweep:
    """The sweep that `to_part` was given, bit for bit."""
    with np.load(BytesIO(part.tobytes()), allow_pickle=False) as stored:
        given: dict[str, Any] = {name: stored[name] for name in stored.files}
    plain = {name: value.item() if value.ndim == 0 else value for name, value in given.items()}
    plain["pattern_norms"] = tuple(plain["pattern_norms"].tolist())
    return Sweep(**{"state": None, "free_energy": None, "hessian_min": None, **plain})
