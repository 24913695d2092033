"""The study of the barriers: its data and words, and what its figure shows."""

import json

import numpy as np
import pytest

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.barrier import barrier_lines, barrier_summary
from hopfieldphase.plotting import style
from hopfieldphase.plotting.barrier import plot_barrier
from hopfieldphase.runs.barrier import barrier
from hopfieldphase.runs.barrier_spec import BarrierSpec

# Γ is of order one and right to some rounding errors.
ENERGY = 1e-13


@pytest.fixture(scope="module")
def tree():
    return barrier(BarrierSpec(M="3,10", couplings="2:14:3"))


def test_barriers_are_the_closed_forms(tree):
    summary = barrier_summary(tree)
    assert summary["unconverged"] == []
    assert [round(row["height"], 7) for row in summary["coexistence"]] == [0.0011293, 0.0713807]
    assert max(row["deviation"] for row in summary["coexistence"]) < ENERGY
    assert [(row["alpha"], row["third"]) for row in summary["pairs"]] == [
        (1.5, None), (1.5, 0.66), (2.0, None), (2.0, 0.66)
    ]  # fmt: skip
    assert [row["points"] for row in summary["pairs"]] == [4, 2, 4, 3]
    assert [row["saddles"] for row in summary["pairs"]] == [1, 2, 1, 2]
    assert max(row["deviation"] for row in summary["pairs"]) < ENERGY


def test_data_survives_the_file(tree, tmp_path):
    store.write(tree, tmp_path / "data.zarr")
    assert barrier_summary(store.open(tmp_path / "data.zarr")) == barrier_summary(tree)


def test_summary_is_json_and_lines_fit_a_terminal(tree):
    summary = barrier_summary(tree)
    json.dumps(summary, allow_nan=False)
    assert max(map(len, barrier_lines(summary))) <= 80


@pytest.mark.parametrize("reduced", [False, True])
def test_shipped_study_file(reduced, pytestconfig):
    shipped = BarrierSpec.from_toml(pytestconfig.rootpath / "sweeps" / "barrier.toml", reduced=reduced)
    assert (shipped == BarrierSpec()) is not reduced
    assert len(shipped.headline) < 120


def test_the_panels_show_the_data(tree):
    paths, pairs = plot_barrier(tree)
    data = tree["paths"].to_dataset()
    drawn = [line for line in paths.lines if len(line.get_xdata()) == data.sizes["image"]]
    for line, energy, closed in zip(drawn, data["energy"].values, data["closed_form"].values, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), energy / closed)
        assert line.get_ydata().max() == pytest.approx(1, abs=1e-9)
    marks = [line for line in paths.lines if len(line.get_xdata()) == 1]
    assert len(marks) == data.sizes["M"]
    curves = tree["pairs"].to_dataset()
    points = [line for line in pairs.lines if line.get_linestyle() == "None"]
    for line, heights in zip(points, curves["height"].values, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), heights)


def test_every_pair_of_lines_differs_in_grey(tree):
    for ax in plot_barrier(tree):
        lines = [handle for handle in ax.get_legend().legend_handles if handle.get_label() != "closed form"]
        looks = {(line.get_marker(), str(line._dash_pattern)) for line in lines}
        assert len(looks) == len(lines)


def test_axes_of_the_user(tree):
    with style.style():
        axes = style.new_figure(6, 3).subplots(1, 2)
    assert plot_barrier(tree, axes) == tuple(axes)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"M": "2,3"}, "M"),
        ({"alphas": "1,2"}, "alphas"),
        ({"alphas": "2,inf"}, "alphas"),
        ({"couplings": "0,2"}, "couplings"),
        ({"third": 0.8}, "third"),
        ({"images": 3}, "images"),
        ({"image": 9}, "nearest is 'images'"),
    ],
)
def test_bad_options(options, text):
    with pytest.raises(InputError, match=text):
        BarrierSpec(**options)
