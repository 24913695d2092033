"""The figure of the update stability: what is drawn where, and that a grey print stays readable."""

from itertools import combinations

import numpy as np
import pytest

from hopfieldphase.data.stability import stability_summary
from hopfieldphase.plotting import style
from hopfieldphase.plotting.stability import LOWEST, plot_stability
from hopfieldphase.runs.stability import stability
from hopfieldphase.runs.stability_spec import StabilitySpec


@pytest.fixture(scope="module")
def tree():
    return stability(StabilitySpec(alpha=1.0))


def test_the_panels_show_the_data(tree):
    distance, overlap, rates = plot_stability(tree)
    assert distance.get_yscale() == "log"
    assert distance.get_xlabel() == overlap.get_xlabel() == "iteration $t$"
    drawn = [line for line in distance.lines if line.get_marker() not in ("", "None", "*")]
    theory = [line for line in distance.lines if line.get_marker() == "None"]
    for k, (path, guess) in enumerate(zip(drawn, theory, strict=True)):
        n = int(tree["n_steps"][k]) + 1
        for line, name in ((path, "distance"), (guess, "distance_predicted")):
            np.testing.assert_array_equal(line.get_ydata(), np.maximum(tree[name].values[k, :n], LOWEST))
    low, high = overlap.get_ylim()
    assert low < float(tree["fixed_overlap_max"]) < high
    measured = np.abs(tree["modes/rate_measured"].values)
    points = [line for line in rates.lines if line.get_marker() not in ("", "None")]
    for line, values in zip(points, measured, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), values)
    assert f"{stability_summary(tree)['rate_deviation']:.1e}" in rates.texts[0].get_text()


def test_the_predicted_onsets_are_marked(tree):
    distance, *_ = plot_stability(tree)
    stars = [line for line in distance.lines if line.get_marker() == "*"]
    expected = [
        (step["onset_predicted"], step["floor_predicted"])
        for step in stability_summary(tree)["steps"]
        if step["onset_predicted"] is not None
    ]
    assert len(expected) == 2
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in stars] == expected


def test_even_and_odd_iterations_are_two_lines(tree):
    _, overlap, _ = plot_stability(tree)
    lines = [line for line in overlap.lines if line.get_marker() not in ("", "None")]
    assert len(lines) == 2 * tree.sizes["factor"]
    for line, first in zip(lines, [0, 1] * tree.sizes["factor"], strict=True):
        assert set(line.get_xdata() % 2) == {first}


def test_every_pair_of_lines_differs_in_grey(tree):
    distance, *_ = plot_stability(tree)
    (legend,) = style.figure_of(distance).legends
    handles = [handle for handle in legend.legend_handles if handle.get_label().startswith(r"$\eta")]
    assert len(handles) == tree.sizes["factor"]
    assert "64" in legend.get_title().get_text()
    for a, b in combinations(handles, 2):
        assert a.get_marker() != b.get_marker()


def test_exact_zeros_are_drawn_at_the_end_of_the_axis():
    # η = 1/β at a single pattern reaches x* in one step.
    tree = stability(StabilitySpec(alpha=2.0, steps="0.5"))
    assert tree["distance"].values[0, 1] == 0
    distance, *_ = plot_stability(tree)
    assert distance.lines[0].get_ydata()[-1] == LOWEST
    assert distance.get_ylim()[0] == LOWEST


def test_many_step_sizes_stay_apart():
    tree = stability(StabilitySpec(alpha=2.0, steps="0.1:1:0.1"))
    distance, *_ = plot_stability(tree)
    looks = {
        (line.get_color(), line.get_marker(), str(line._dash_pattern))
        for line in distance.lines
        if line.get_marker() not in ("", "None")
    }
    assert len(looks) == 10


def test_it_draws_into_given_axes(tree):
    with style.style():
        axes = style.new_figure(style.DOUBLE, 3).subplots(1, 3)
    assert plot_stability(tree, axes) == tuple(axes)
    assert axes[0].get_legend() is not None
