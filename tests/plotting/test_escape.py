"""The study of the escape times: its spec, its data and words, and what its figure shows."""

import json

import numpy as np
import pytest

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.escape import escape_lines, escape_summary
from hopfieldphase.plotting import style
from hopfieldphase.plotting.escape import plot_escape
from hopfieldphase.runs.escape import escape
from hopfieldphase.runs.escape_spec import EscapeSpec


@pytest.fixture(scope="module")
def spec():
    return EscapeSpec(heights="2,3.5", walkers=200, step=0.2)


@pytest.fixture(scope="module")
def tree(spec):
    return escape(spec)


def test_the_study_reproduces_its_law(tree):
    for system in escape_summary(tree)["systems"]:
        for point in system["points"]:
            # four standard errors, and the step bias
            assert abs(point["measured"] - point["exact"]) < 4 * point["error"] + 0.04 * point["exact"]
        assert system["slope"] == pytest.approx(system["slope_exact"], abs=4 * system["slope_error"])
    two, three, facet = escape_summary(tree)["systems"]
    assert [two["ways"], three["ways"], facet["ways"]] == [1, 2, 1]
    assert [two["facet"], three["facet"], facet["facet"]] == [False, False, True]
    # the Hessian across the facet is β on one side, β/3 on the other
    both = (1 + np.sqrt(3)) / 2
    for point in facet["points"]:
        assert point["inner"] / point["kramers"] == pytest.approx(both)
        assert point["outer"] / point["kramers"] == pytest.approx(both / np.sqrt(3))


def test_simulations_of_one_study_are_independent(tree):
    data = tree["times"].to_dataset()
    ratios = (data["measured"] / data["exact"]).values.ravel()
    assert len(np.unique(ratios)) == ratios.size


def test_data_survives_the_file(tree, tmp_path):
    store.write(tree, tmp_path / "data.zarr")
    again = store.open(tmp_path / "data.zarr")
    assert escape_summary(again) == escape_summary(tree)


def test_summary_is_json_and_lines_fit_a_terminal(tree):
    summary = escape_summary(tree)
    json.dumps(summary, allow_nan=False)
    assert summary["unconverged"] == []
    lines = escape_lines(summary)
    assert max(map(len, lines)) <= 80
    assert sum("on a facet" in line for line in lines) == 1


def test_every_option_is_in_the_file(spec, tree, tmp_path):
    (tmp_path / "spec.toml").write_text(spec.to_toml(), encoding="utf-8")
    assert EscapeSpec.from_toml(tmp_path / "spec.toml") == spec
    for name in ("seed", "alphas", "counts", "coupling", "facet", "heights", "walkers", "step"):
        assert tree.attrs[name] == getattr(spec, name)


@pytest.mark.parametrize("reduced", [False, True])
def test_shipped_study_file(reduced, pytestconfig):
    shipped = EscapeSpec.from_toml(pytestconfig.rootpath / "sweeps" / "escape.toml", reduced=reduced)
    assert (shipped == EscapeSpec()) is not reduced
    assert len(shipped.headline) < 120


def test_the_panels_show_the_data(tree):
    times, ratios = plot_escape(tree)
    data = tree["times"].to_dataset()
    assert times.get_yscale() == "log"
    points = [line for line in times.lines if line.get_linestyle() == "None"]
    for line, values in zip(points, data["measured"].values, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    solid = [line for line in times.lines if line.get_linestyle() == "-"]
    for line, values in zip(solid, data["kramers"].values, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    bars = [container.lines[0].get_ydata() for container in ratios.containers]
    np.testing.assert_allclose(bars, data["measured"] / data["kramers"])


def test_lines_of_one_colour_differ_in_style(tree):
    for ax in plot_escape(tree):
        drawn = [
            line for line in ax.lines if line.get_linestyle() != "None" and line.get_color() != style.THEORY
        ]
        looks = [(line.get_color(), str(line.get_linestyle())) for line in drawn if len(line.get_xdata()) > 1]
        assert len(looks) == len(set(looks))


def test_axes_of_the_user(tree):
    with style.style():
        axes = style.new_figure(6, 3).subplots(1, 2)
    assert plot_escape(tree, axes) == tuple(axes)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"heights": "0,5"}, "heights"),
        ({"heights": "5,40"}, "heights"),
        ({"heights": "5"}, "two of them"),
        ({"alphas": "1,inf"}, "alphas"),
        ({"alphas": "1,1.5,2"}, "counts"),
        ({"counts": "2,4"}, "counts"),
        ({"facet": 0.6}, "facet"),
        ({"coupling": 0.0}, "coupling"),
        ({"walkers": 1}, "walkers"),
        ({"step": 1.5}, "step"),
        ({"stp": 0.1}, "nearest is 'step'"),
    ],
)
def test_bad_options(options, text):
    with pytest.raises(InputError, match=text):
        EscapeSpec(**options)
