"""The figure of the order of the transition shows the closed forms and what was measured."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from hopfieldphase.plotting import style
from hopfieldphase.plotting.order import plot_order
from hopfieldphase.runs.order import order
from hopfieldphase.runs.order_spec import OrderSpec


@pytest.fixture(scope="module")
def tree():
    return order(OrderSpec(M="2,3", alphas="0.25:4:0.125", checks="0.5,1.5,2.5,3.5"))


@pytest.fixture(scope="module")
def axes(tree):
    return plot_order(tree)


def curves(ax):
    return [np.column_stack(one.get_data()).astype(float) for one in ax.get_lines()]


def shows(ax, alpha, values):
    """Whether one of the lines is this one, where it exists."""
    return any(
        np.array_equal(curve[:, 0], alpha) and np.array_equal(curve[:, 1], values, equal_nan=True)
        for curve in curves(ax)
    )


def test_every_line_is_there(tree, axes):
    lines = tree["lines"].to_dataset()
    alpha = lines["alpha"].values
    for M, ax in zip((2, 3), axes, strict=True):
        one = lines.sel(M=M)
        vertex = one["vertex"].values
        assert shows(ax, alpha, np.where(np.isfinite(vertex), vertex, np.nan))
        assert shows(ax, alpha, one["coexistence"].values)
        assert shows(ax, alpha, one["exchange"].values[:, 1])
        assert ax.get_yscale() == "log"
    assert shows(axes[1], alpha, lines["instability"].sel(M=3).values)


def test_two_keys_part_continuously_outside_two_to_three(tree, axes):
    lines = tree["lines"].to_dataset().sel(M=2)
    alpha, instability = lines["alpha"].values, lines["instability"].values
    continuous = (alpha < 2) | (alpha >= 3)
    assert shows(axes[0], alpha, np.where(continuous, instability, np.nan))
    assert shows(axes[0], alpha, np.where((alpha > 2) & (alpha < 3), instability, np.nan))


def test_measured_points_are_drawn(tree, axes):
    checks = tree["checks"].to_dataset()
    for M, ax in zip((2, 3), axes, strict=True):
        (points,) = (one for one in ax.get_lines() if one.get_marker() == "o")
        here = checks["M"].values == M
        measured = checks["measured"].values[here]
        np.testing.assert_array_equal(points.get_ydata(), np.where(measured > 0, measured, np.nan))


def test_regions_are_named_and_explained(axes):
    assert {text.get_text() for text in axes[1].texts} == {"all 3", "one exactly", "one mostly"}
    (legend,) = style.figure_of(axes).legends
    names = [text.get_text() for text in legend.get_texts()]
    assert len(set(names)) == len(names) == 10
    assert axes[0].get_ylabel().startswith("coupling")


def test_given_axes_are_used(tree):
    given = list(Figure().subplots(1, 2))
    assert plot_order(tree, given) == given
