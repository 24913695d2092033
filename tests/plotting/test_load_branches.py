"""Figures of branches in the memory load show the tree: steps, jumps, swaps."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from hopfieldphase.core.patterns import sequence
from hopfieldphase.data import branch_schema
from hopfieldphase.data.load_branch_summary import load_branches_summary
from hopfieldphase.plotting import style
from hopfieldphase.plotting.load_branches import plot_load_branches
from hopfieldphase.runs.load_branches import branches_kappa


def tree(alpha, top=None, beta=60.0):
    found = branches_kappa(sequence("clustered", 12, seed=4), 0.3, "0.15:0.4:0.05", beta, alpha, top=top)
    return found, found.to_datatree()


def line(ax, branch):
    (found,) = (one for one in ax.get_lines() if one.get_label() == f"branch {branch}")
    return np.array(found.get_xdata()), np.array(found.get_ydata())


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_lines_are_the_branches(alpha):
    found, data = tree(alpha)
    left, right = plot_load_branches(data)
    assert left.get_xlabel() == r"memory load $\log(M)/d$"
    for ax, name in ((left, "overlap_max"), (right, "free_energy")):
        for i, branch in enumerate(found):
            kappa, values = line(ax, i)
            assert (np.diff(kappa) >= 0).all()
            for M in np.unique(np.geomspace(*(np.exp(12 * np.array([branch.lower, branch.upper]))), 9)):
                here = np.log(int(M)) / 12
                if alpha > 1 and name == "free_energy" and here >= branch.lower:
                    # on a step: the last corner at or before this load
                    corner = np.searchsorted(kappa, here + 1e-12, side="right") - 1
                    assert values[corner] == branch.at(here).free_energy
        if alpha == 1.0:
            curves = branch_schema.group(data, "curves")
            kappa, values = line(ax, 0)
            np.testing.assert_allclose(np.interp(curves["kappa"], kappa, values), curves[name][0], rtol=1e-12)


def test_jumps_are_marked_where_they_leave_and_land():
    found, data = tree(2.0)
    _, right = plot_load_branches(data)
    circles = {
        (float(one.get_xdata()[0]), float(one.get_ydata()[0]))
        for one in right.get_lines()
        if one.get_marker() == "o" and len(one.get_xdata()) == 1
    }
    ends = [end for branch in found for end in branch.ends if end.is_jump]
    assert ends
    for end in ends:
        assert (end.parameter, end.state.free_energy) in circles
        assert (end.parameter, end.landing.free_energy) in circles


def test_swaps_are_marked_in_the_panel_of_the_energies():
    _, data = tree(2.0, top=3)
    left, right = plot_load_branches(data)
    swaps = branch_schema.group(data, "coexistence")
    assert swaps.sizes["swap"] > 0
    (marks,) = (one for one in right.get_lines() if one.get_marker() == "D")
    np.testing.assert_array_equal(marks.get_xdata(), swaps["kappa"])
    assert not [one for one in left.get_lines() if one.get_marker() == "D"]


def test_given_axes_are_drawn_into_with_their_own_legends():
    _, data = tree(2.0, top=2)
    with style.style():
        axes = Figure().subplots(1, 2)
        assert plot_load_branches(data, axes) == (axes[0], axes[1])
    for ax in axes:
        names = [text.get_text() for text in ax.get_legend().get_texts()]
        assert names[0].startswith("0: ")
        assert r"$M = 37$" in ax.get_legend().get_title().get_text()


def test_the_accessor_draws_and_tells_the_same():
    _, data = tree(2.0, top=2)
    (one, _), (other, _) = data.hp.plot(), plot_load_branches(data)
    np.testing.assert_array_equal(line(one, 0), line(other, 0))
    assert data.hp.summary() == load_branches_summary(data)


def test_many_branches_leave_colours_to_the_first():
    found, data = tree(2.0, beta=140.0)
    assert len(found) > 7
    left, _ = plot_load_branches(data)
    grey = [one for one in left.get_lines() if one.get_color() == "0.65" and one.get_linestyle() == "-"]
    assert len(grey) == len(found) - 7
    (legend,) = left.figure.legends
    assert f"{len(found) - 7} others" in [text.get_text() for text in legend.get_texts()]
