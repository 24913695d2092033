"""Less of a view, where all of it would make too large a page."""

from dataclasses import replace
from typing import Any

import numpy as np

from hopfieldphase.explore.view import View


def single(view: View) -> View:
    """The view in single precision."""

    def rounded(table: dict[str, Any]) -> dict[str, Any]:
        return {
            k: v.astype(np.float32) if v.dtype == np.float64 and k != "parameter" else v
            for k, v in table.items()
        }

    cells = {name: replace(one, values=one.values.astype(np.float32)) for name, one in view.cells.items()}
    return replace(view, nodes=rounded(view.nodes), marks=rounded(view.marks), cells=cells)


def without_weights(view: View) -> View:
    """The view without weights."""
    if view.weights is None:
        return view
    return replace(view, weights=None, notes=(*view.notes, "weights are left out, for the size of the page"))


def thinned(view: View) -> View:
    """The view with every second state of each curve, and both ends; special points stay."""
    kept, starts, counts = [], [0], np.diff(view.starts)
    for start, count in zip(view.starts.tolist(), counts.tolist(), strict=False):
        own = np.unique(np.append(np.arange(0, count, 2), max(count - 1, 0)))[: max(count, 0)]
        kept.append(start + own)
        starts.append(starts[-1] + own.size)
    rows = np.concatenate(kept)
    nodes = {name: values[rows] for name, values in view.nodes.items()}
    # A jump between two states that stay is a jump between them.
    last = np.append(rows[1:], view.nodes["link"].size)
    links = view.nodes["link"]
    nodes["link"] = np.array(
        [links[a:b].max() if links[a:b].all() else 0 for a, b in zip(rows, last, strict=True)], dtype=np.uint8
    )
    ends = np.array(starts[1:])[counts > 0] - 1
    nodes["link"][ends] = 0
    grid = np.unique(np.append(np.arange(0, view.grid.size, 2), view.grid.size - 1))
    note = "states are thinned out along the curves, for the size of the page"
    return replace(
        view,
        nodes=nodes,
        starts=np.array(starts, dtype=np.int32),
        grid=view.grid[grid],
        cells={name: replace(one, values=one.values[:, grid]) for name, one in view.cells.items()},
        position=(*view.position[:-1], view.position[-1] // 2),
        notes=view.notes if note in view.notes else (*view.notes, note),
    )
