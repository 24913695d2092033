"""Pages of grids: every axis is a dimension, and what is not computed yet is said to be so."""

import numpy as np
import pytest

from hopfieldphase.explore.page import page
from hopfieldphase.explore.reading import read, view_of
from hopfieldphase.explore.view import Phase
from hopfieldphase.runs.executors import Serial
from hopfieldphase.runs.grid import compute_grid
from hopfieldphase.runs.grid_spec import GridSpec
from hopfieldphase.runs.specs import PatternSpec, SweepSpec
from hopfieldphase.runs.sweeps import sweep_beta

BASE = {"betas": "60:300:60", "patterns": {"d": 8, "clusters": 2}}
SPEC = GridSpec(base=BASE, grid={"alpha": [1.5, 2], "M": [6, 12]}, realizations=2)
SINGLE = 1e-6  # weights are kept in single precision, 6e-8


class Stopped(Exception):
    """Stands for whatever ends a run."""


class Stopping(Serial):
    """Ends the run after three batches."""

    def run(self, job, batches, news):
        for batch in batches[:3]:
            news(job.run(batch))
        raise Stopped


def test_a_grid_shows_the_sweep_of_every_point_and_its_weights(tmp_path):
    compute_grid(SPEC, tmp_path)
    view = view_of(*read(tmp_path))
    assert [axis.name for axis in view.outer] == ["alpha", "M", "realization"]
    assert view.vertical == "alpha"
    alone = sweep_beta(SweepSpec(alpha=1.5, patterns=PatternSpec(M=12, d=8, clusters=2), betas="60:300:60",
                                 realizations=2))  # fmt: skip
    shown = view.nodes["overlap_max"].reshape(2, 2, 2, 2, 5)
    assert np.array_equal(shown[0, 1], alone["overlap_max"])
    assert view.notes == ()
    few = view.nodes["support_size"] <= 12
    ipr = 1 / (view.weights[1].astype(float) ** 2).sum(axis=1)
    assert ipr[few] == pytest.approx(view.nodes["ipr"][few], rel=SINGLE)


def test_an_unfinished_run_is_opened_and_called_so(tmp_path):
    with pytest.raises(Stopped):
        compute_grid(SPEC, tmp_path, executor=Stopping())
    view = view_of(*read(tmp_path))
    missing = view.nodes["phase"] == Phase.ABSENT
    done = (8 - missing.sum() / 10).item()
    assert 0 < done < 8
    assert view.notes[0] == f"this run is not finished: {done:.0f} of 8 sweeps are there"
    assert view.weights is None
    assert not np.isnan(view.nodes["overlap_max"][~missing]).any()
    text, _ = page(view, {}, str(tmp_path))
    assert view.notes[0] in text
    assert {view.statuses[status] for status in view.nodes["status"][missing]} == {"not computed"}
