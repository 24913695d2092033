"""The schematic figures show numbers of the functions they picture, in the axes given."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.offsetbox import AnnotationBbox

from hopfieldphase.core.closed_forms import (
    hopfield_one_pattern_overlap,
    potts_barrier,
    potts_coexistence,
    potts_instability,
    potts_spinodal,
)
from hopfieldphase.plotting import schematics, style

FIGURES = {
    1: schematics.plot_figure_1,
    6: schematics.plot_figure_6,
    7: schematics.plot_figure_7,
    8: schematics.plot_figure_8,
    9: schematics.plot_figure_9,
}


@pytest.fixture(scope="module")
def drawn():
    return {number: plot() for number, plot in FIGURES.items()}


def marked(ax, marker):
    """Points of the lines that carry only this marker."""
    lines = [
        line for line in ax.get_lines() if line.get_marker() == marker and line.get_linestyle() == "None"
    ]
    return np.concatenate([np.column_stack(line.get_data()) for line in lines])


def line(ax, label):
    return next(np.column_stack(each.get_data()) for each in ax.get_lines() if each.get_label() == label)


@pytest.mark.slow
@pytest.mark.parametrize("number", FIGURES)
def test_each_figure_is_two_columns_wide_and_draws_into_given_axes(drawn, number, tmp_path):
    figure = drawn[number][0].figure
    assert figure.get_figwidth() == style.DOUBLE
    assert all(path.stat().st_size > 10_000 for path in style.save(figure, tmp_path / "figure.png"))
    axes = list(Figure().subplots(1, 3))
    assert list(FIGURES[number](axes)) == axes
    assert all(ax.get_xlabel() and ax.has_data() for ax in axes)


def test_figure_1_tangents_touch_w_and_its_conjugate(drawn):
    _, middle, right = drawn[1]
    for ax in (middle, right):
        curve, tangent = (np.column_stack(each.get_data()) for each in ax.get_lines()[:2])
        touch = marked(ax, "o")[0]
        below = np.interp(curve[:, 0], *tangent.T) - curve[:, 1]
        inside = (curve[:, 0] >= tangent[0, 0]) & (curve[:, 0] <= tangent[-1, 0])
        assert below[inside].max() < 1e-3
        assert np.interp(touch[0], *tangent.T) == pytest.approx(touch[1])
    slope = np.diff(middle.get_lines()[1].get_ydata()) / np.diff(middle.get_lines()[1].get_xdata())
    assert slope[0] == pytest.approx(marked(right, "o")[0, 0])


def test_figure_6_rises_and_falls_and_shows_the_four_states_of_the_triangle(drawn):
    left, middle, right = drawn[6]
    overlap = next(each for each in left.get_lines() if each.get_marker() == "o").get_ydata()
    energy = middle.get_lines()[0].get_ydata()
    assert overlap[0] == 5
    assert overlap[-1] == 10
    assert np.all(np.diff(overlap) > 0)
    assert np.all(np.diff(energy) < 0)
    levels = [each.get_ydata()[0] for each in right.get_lines()]
    assert levels == [-1, -1, -1, 3]
    assert sum(isinstance(artist, AnnotationBbox) for artist in right.artists) == 4


def test_figure_7_marks_the_minima(drawn):
    for ax, beta in zip(drawn[7], (0.7, 1.0, 1.5), strict=True):
        minima = marked(ax, "o")
        np.testing.assert_allclose(np.abs(minima[:, 0]), hopfield_one_pattern_overlap(beta, 1), atol=1e-12)
        assert len(minima) == (2 if beta > 1 else 1)
        limit = line(ax, r"$d \to \infty$")
        assert limit[:, 1].min() == pytest.approx(minima[0, 1], abs=1e-5)
        assert limit[:, 1].min() >= minima[0, 1] - 1e-12


def test_figure_8_ends_its_branches_where_the_softest_direction_vanishes(drawn):
    left, middle, right = drawn[8]
    fold, equal, end = potts_spinodal(10, 1), potts_coexistence(10, 1), potts_instability(10, 1)
    coexisting = line(left, rf"$\beta = {equal:.2f}$")
    inner = (coexisting[:, 0] > 0.2) & (coexisting[:, 0] < 0.8)
    assert coexisting[inner, 1].max() == pytest.approx(potts_barrier(10, 1), abs=1e-5)
    assert marked(middle, "o")[0, 0] == fold
    assert marked(right, "s")[0, 0] == end
    for name, place, sign in (
        ("retrieval", fold, 1), ("unstable", fold, -1), ("uniform", end, 1), ("uniform, unstable", end, -1),
    ):  # fmt: skip
        branch = line(right, name)
        last = branch[np.argmin(np.abs(branch[:, 0] - place))]
        np.testing.assert_allclose(last, [place, 0], atol=1e-6)
        assert np.all(sign * branch[:, 1] > -1e-6)


def test_figure_9_selects_the_positive_state(drawn):
    left, middle, right = drawn[9]
    star = hopfield_one_pattern_overlap(1.5, 1)
    np.testing.assert_allclose(sorted(marked(left, "o")[:, 0]), [-star, star], atol=1e-12)
    assert marked(middle, "o")[0, 0] > star
    filled = [
        each
        for each in right.get_lines()
        if each.get_marker() == "o" and each.get_markerfacecolor() != "white"
    ]
    assert [each.get_xdata()[0] for each in filled] == pytest.approx([star])
    curve = np.column_stack(middle.get_lines()[0].get_data())
    assert curve[np.argmin(curve[:, 1]), 0] == pytest.approx(marked(middle, "o")[0, 0], abs=0.01)
