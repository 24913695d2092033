"""The result folder of a study: data, spec, summary, provenance and figure, written whole or not at all."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from hopfieldphase.data import store
from hopfieldphase.data.provenance import provenance
from hopfieldphase.runs.folder import DATA, FIGURE, SPEC, SUMMARY, writing

Data = TypeVar("Data", bound=store.Labelled)
Draw = Callable[[Data, Path], object]
"""Called as ``draw(data, file)`` to write the figure of a result to the PNG file `file`."""


class Resolved(Protocol):
    """A spec with every option known."""

    @property
    def fingerprint(self) -> str:
        """Digest of every option."""
        ...

    def to_toml(self) -> str:
        """Every option as TOML."""
        ...


def write_result(
    spec: Resolved,
    path: Path,
    summary: dict[str, Any],
    seconds: float,
    data: Data | None = None,
    draw: Draw[Data] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write the result folder of a study, replacing an earlier result in it.

    Parameters
    ----------
    spec : Resolved
        Becomes `spec.toml`; its fingerprint marks the folder.
    path : Path
        A folder that this process holds (`runs.folder.claim_folder`).
    summary : dict
        JSON values without NaN; becomes `summary.json`.
    seconds : float
        What the computation took.
    data : xarray.Dataset or xarray.DataTree, optional
        Becomes `data.zarr`.
    draw : callable, optional
        Writes `figure.png`.
    facts : mapping, optional
        Further entries of `provenance.json`.

    Returns
    -------
    dict
        The summary.

    Raises
    ------
    OutputError
        If the file system refuses; nothing of the result is left then.
    """
    marker = provenance(seconds) | dict(facts or {}) | {"fingerprint": spec.fingerprint}
    with writing(path, marker) as staging:
        if data is not None:
            store.write(data, staging / DATA)
        (staging / SPEC).write_text(spec.to_toml(), encoding="utf-8")
        text = json.dumps(summary, indent=2, allow_nan=False)
        (staging / SUMMARY).write_text(text + "\n", encoding="utf-8")
        if data is not None and draw is not None:
            draw(data, staging / FIGURE)
    return summary
