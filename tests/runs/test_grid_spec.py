"""Grids of sweeps: every combination is checked before anything runs, and named where it is wrong."""

import math

import pytest

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.grid_spec import MAX_TASKS, GridSpec
from hopfieldphase.runs.kappa_spec import KappaSpec
from hopfieldphase.runs.layout import LEAST_BATCHES, MOST_BATCHES, Layout, plan
from hopfieldphase.runs.specs import SweepSpec
from hopfieldphase.runs.studies import read_spec

AXES = {"alpha": [1, 2, math.inf], "M": "20:40:10", "start_up": "mean,best"}


def test_a_grid_stands_for_the_specs_of_all_its_cells():
    spec = GridSpec(base={"betas": "20:60:20"}, grid=AXES, realizations=3)
    assert (spec.shape, spec.cells, spec.tasks) == ((3, 3, 2, 3), 18, 54)
    cells = list(spec.specs())
    expected = [
        SweepSpec(alpha=alpha, betas="20:60:20", start_up=start, realizations=3, patterns={"M": M})
        for alpha in (1, 2, math.inf)
        for M in (20, 30, 40)
        for start in ("mean", "best")
    ]
    assert cells == expected
    assert len({cell.fingerprint for cell in cells}) == 18


def test_options_of_attention_maps_and_of_sweeps_in_the_load():
    spec = GridSpec(base={"attention": "top-k", "betas": "1,2"}, grid={"k": "1,2"})
    assert [cell.attention.k for cell in spec.specs()] == [1, 2]
    spec = GridSpec(
        base={"study": "sweep-kappa", "kappas": "0.1,0.2"}, grid={"beta": "100:200:100", "d": [8]}
    )
    assert all(isinstance(cell, KappaSpec) for cell in spec.specs())
    assert [(cell.beta, cell.patterns.d) for cell in spec.specs()] == [(100.0, 8), (200.0, 8)]


def test_the_file_reads_back_and_defaults_make_no_difference(tmp_path):
    spec = GridSpec(base={"betas": "20:60:20"}, grid=AXES)
    file = tmp_path / "grid.toml"
    file.write_text(spec.to_toml())
    assert read_spec(file) == spec
    assert spec.realizations == 10
    same = GridSpec(base={"betas": "20,40,60", "solver": "auto", "patterns": {"seed": 0}}, grid=AXES)
    assert same.fingerprint == spec.fingerprint
    turned = GridSpec(base={"betas": "20:60:20"}, grid=dict(reversed(AXES.items())))
    assert turned.fingerprint != spec.fingerprint


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"grid": {"betas": [1.0]}}, "grid has betas, which all its sweeps share"),
        ({"grid": {"aplha": [1.0]}}, "unknown option 'aplha'; the nearest is 'alpha'"),
        ({"grid": {"alpha": [2, 0]}}, "combination alpha = 0.0 of the grid is none: alpha = 0.0 is outside"),
        ({"grid": {"M": [3, 9], "start_down": ["pattern:5"]}}, "M = 3, start_down = pattern:5 of the grid"),
        ({"grid": {"generator": "clustered,circulant"}}, "generator = circulant of the grid is none"),
        ({"base": {"alpha": 2}, "grid": {"alpha": [1]}}, r"alpha stands in \[base\] and in \[grid\]"),
        ({"base": {"patterns": {"M": 3}}, "grid": {"M": [1]}}, r"M stands in \[base\] and in \[grid\]"),
        ({"base": {"patterns": {"generator": "digits"}}}, "betas is not given"),
        ({"base": {"realizations": 3}}, r"realizations stands in \[base\]"),
        ({"base": {"study": "branches"}}, "base.study = 'branches' is no sweep"),
        ({"base": {"keep_states": True}, "grid": {"d": [4, 8]}}, "keep_states needs states of one dimension"),
        ({"base": {"betsa": "1,2"}}, "unknown key 'betsa'; the nearest is 'betas'"),
        ({"base": 3}, "base is no table"),
        ({"grid": {"M": []}}, "grid.M is empty"),
        ({"grid": {"M": [3, 3]}}, "grid.M has 3 twice"),
        ({"grid": {"M": "3,x"}}, "grid.M: 'x' is not a number"),
        ({"grid": {"M": [1.5]}}, "M = 1.5 is not a whole number"),
        ({"grid": {"M": [[1]]}}, "give numbers"),
        ({"grid": {"polish": ["yes"]}}, "give true and false"),
        ({"grid": {"alpha": "3:1:1"}}, "grid.alpha = 3:1:1 is reversed"),
        ({"realizations": 0}, "realizations = 0"),
        ({"grid": {"seed": "0:1999:1"}, "realizations": 1000}, f"at most {MAX_TASKS}"),
        ({"gird": {}}, "unknown key 'gird'; the nearest is 'grid'"),
    ],
)
def test_what_is_no_grid(options, words):
    with pytest.raises(InputError, match=words) as caught:
        GridSpec(**options)
    assert "\n" not in str(caught.value)


def test_a_hundred_thousand_sweeps_are_checked_one_by_one():
    spec = GridSpec(grid={"seed": "0:9999:1"}, realizations=10)
    assert spec.tasks == 100_000
    with pytest.raises(InputError, match=r"seed = 0.*pattern:99"):
        GridSpec(grid={"seed": "0:9999:1"}, base={"start_up": "pattern:99", "patterns": {"M": 9}})


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [((3, 4, 7), 5), ((100_000,), 150), ((10, 1, 10_000), 1), ((64,), 999), ((1,), 9), ((7, 11), 6)],
)
def test_batches_cover_every_sweep_once(shape, wanted):
    layout = plan(shape, wanted)
    assert layout.batches <= 2 * MOST_BATCHES
    assert layout.batches >= min(layout.tasks, LEAST_BATCHES) / 2
    seen = [place for batch in range(layout.batches) for place in layout.members(batch)]
    assert len(seen) == layout.tasks == len(set(seen))
    assert all(0 <= i < n for place in seen for i, n in zip(place, shape, strict=True))
    for batch in range(0, layout.batches, 7):
        assert layout.number(layout.place(batch)) == batch
        assert layout.size(batch) == len(list(layout.members(batch)))


def test_places_run_with_the_last_axis_fastest():
    layout = Layout((2, 3), (1, 2))
    assert list(layout.members(1)) == [(0, 2)]
    assert list(layout.members(2)) == [(1, 0), (1, 1)]
