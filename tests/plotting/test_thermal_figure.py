"""The figure of thermal attention shows the numbers of the tree and stays readable in grey."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal

from hopfieldphase.plotting.style import figure_of
from hopfieldphase.plotting.thermal import plot_thermal
from hopfieldphase.runs.specs import PatternSpec
from hopfieldphase.runs.thermal import thermal
from hopfieldphase.runs.thermal_spec import ThermalSpec

SMALL = PatternSpec(generator="clustered", M=5, d=16)


@pytest.fixture(scope="module")
def tree():
    return thermal(ThermalSpec(alpha=2.0, betas="1:1000:x2", patterns=SMALL))


def test_panels_show_the_curves(tree):
    weight, ipr, growth = plot_thermal(tree)
    data = tree.to_dataset()
    for ax, variable in ((weight, "top_weight"), (ipr, "ipr")):
        curves = [line for line in ax.get_lines() if len(line.get_xdata()) == data.sizes["beta"]]
        for name, line in zip(data["ensemble"].values, curves, strict=True):
            assert_array_equal(line.get_ydata(), data[variable].sel(ensemble=name))
    assert_array_equal(growth.get_lines()[0].get_ydata(), data["growth"])
    assert [ax.get_xscale() for ax in (weight, ipr, growth)] == ["log"] * 3


def test_the_limit_of_the_mixed_average_is_dotted(tree):
    weight, *_ = plot_thermal(tree)
    limit = float(tree["zero_temperature"]["limit"].sel(ensemble="escort over the simplex").max())
    assert 0 < limit < 1
    levels = [line.get_ydata()[0] for line in weight.get_lines() if line.get_linestyle() == ":"]
    assert any(np.isclose(level, limit) for level in levels)


def test_every_pair_of_lines_differs_in_style_and_marker(tree):
    weight, *_ = plot_thermal(tree)
    curves = [line for line in weight.get_lines() if len(line.get_xdata()) > 2]
    for one, other in itertools.combinations(curves, 2):
        assert one.get_marker() != other.get_marker()
        assert one._dash_pattern != other._dash_pattern


def test_given_axes_are_used_and_get_a_legend(tree):
    axes = Figure().subplots(1, 3)
    drawn = plot_thermal(tree, axes)
    assert drawn == tuple(axes)
    assert len(axes[0].get_legend().get_texts()) == 5


def test_two_panels_at_alpha_one():
    axes = plot_thermal(thermal(ThermalSpec(alpha=1.0, betas=(1.0, 10.0), patterns=SMALL)))
    assert len(axes) == 2
    assert len(figure_of(axes).axes) == 2
