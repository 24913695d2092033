"""The figure of random patterns shows the data: folds, storage counts, quartiles, theory behind them."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from hopfieldphase.data.large_d import large_d_summary
from hopfieldphase.plotting import style
from hopfieldphase.plotting.large_d import plot_large_d
from hopfieldphase.runs.large_d import large_d
from hopfieldphase.runs.large_d_spec import LargeDSpec


@pytest.fixture(scope="module")
def tree():
    return large_d(
        LargeDSpec(
            d=12,
            M=30,
            instances=8,
            loads="12",
            load_instances=3,
            storage_M="20",
            storage_d="6",
            trials=40,
            dimensions="12,16",
            scaling_instances=4,
        )
    )


@pytest.fixture(scope="module")
def axes(tree):
    return plot_large_d(tree)


def drawn(ax, label):
    (found,) = (one for one in ax.get_lines() if str(one.get_label()).startswith(label))
    return np.array(found.get_xdata()), np.array(found.get_ydata())


def bars(ax):
    """Centres of the error bars."""
    return [np.column_stack(one.lines[0].get_data(orig=False)) for one in ax.containers]


def test_folds_lie_over_the_load(tree, axes):
    first, _, _ = axes
    lines = tree["fold_lines"].to_dataset()
    load, annealed = drawn(first, "annealed")
    np.testing.assert_allclose(load, np.log(lines["M_line"].values) / 12)
    np.testing.assert_array_equal(annealed, lines["annealed"])
    (means,) = bars(first)
    summary = large_d_summary(tree)["folds"]
    expected = [(np.log(one["M"]) / 12, one["mean"]) for one in summary["loads"]]
    np.testing.assert_allclose(means, expected)
    assert first.get_xlabel() == r"memory load $\log(M)/d$ at $d = 12$"


def test_every_storage_count_is_drawn(tree, axes):
    _, second, _ = axes
    data = tree["storage"].to_dataset()
    points = np.concatenate(bars(second))
    expected = np.column_stack([data["b"].values.ravel(), data["by_relaxation"].values.ravel() / 40])
    np.testing.assert_allclose(points, expected)
    assert "40 sets" in second.get_ylabel()


def test_scaling_is_in_beta_and_logarithmic(tree, axes):
    _, _, third = axes
    assert (third.get_xscale(), third.get_yscale()) == ("log", "log")
    data, lines = tree["scaling"].to_dataset(), tree["scaling_lines"].to_dataset()
    d, annealed = drawn(third, "softmax, annealed")
    np.testing.assert_allclose(annealed, lines["annealed"] * d)
    softmax, *stored = bars(third)
    np.testing.assert_allclose(softmax[:, 1], np.nanmedian(data["softmax"], axis=1) * [12, 16])
    for i, points in enumerate(stored):
        np.testing.assert_allclose(points[:, 1], np.median(data["stored"][..., i], axis=1) * [12, 16])


def test_lines_differ_in_style_and_the_caption_names_the_load(axes):
    _, _, third = axes
    looks = [(one.get_linestyle(), one.get_color()) for one in third.get_lines() if one.get_label()[0] != "_"]
    assert len({look for look, _ in looks}) >= 4
    assert len(set(looks)) == len(looks)
    (legend,) = style.figure_of(axes).legends
    assert "Fixed load" in legend.get_title().get_text()
    assert "fixed number of patterns" in legend.get_title().get_text()


def test_given_axes_are_used(tree):
    given = list(Figure().subplots(1, 3))
    assert plot_large_d(tree, given) == tuple(given)
