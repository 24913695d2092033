"""The loop expansion as a study: the spec, the summary, the folder, the figure."""

import json
import math

import pytest
from numpy.testing import assert_allclose

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.loops import loops_lines, loops_summary
from hopfieldphase.dynamics.loops import QuarticWell
from hopfieldphase.plotting.loops import plot_loops
from hopfieldphase.runs.folder import DATA, claim_folder
from hopfieldphase.runs.loops import loops
from hopfieldphase.runs.loops_spec import LoopsSpec
from hopfieldphase.runs.studies import compute

EXTRAPOLATED = 1e-5
"""Relative error of a coefficient extrapolated from β = 2048 and 4096: the next order is 1/β²."""


@pytest.fixture(scope="module")
def tree():
    return loops(LoopsSpec())


def test_orders_and_coefficients(tree):
    summary = loops_summary(tree)
    assert_allclose(summary["orders"]["one_loop"], 1, atol=0.05)
    assert_allclose(summary["orders"]["two_loop"], 2, atol=0.05)
    _, _, h, third, fourth = QuarticWell(0.1, 0.25).derivatives(0.4)
    bubble, cubic = fourth / (8 * h**2), third**2 / h**3
    exact, fixed = (summary["coefficients"][name] for name in ("exact", "fixed_source"))
    assert_allclose(exact["measured"], bubble - cubic / 12, rtol=EXTRAPOLATED)
    assert_allclose(fixed["measured"], bubble - 5 * cubic / 24, rtol=EXTRAPOLATED)
    assert_allclose([exact["diagrams"], fixed["diagrams"]], [bubble - cubic / 12, bubble - 5 * cubic / 24])
    assert_allclose(summary["laplace"], -0.5, atol=1e-3)
    json.dumps(summary, allow_nan=False)
    lines = loops_lines(summary)
    assert max(map(len, lines)) <= 80
    assert "\n".join(lines).isascii()


def test_the_figure_shows_the_numbers(tree):
    left, right = plot_loops(tree)
    data = tree.to_dataset()
    assert_allclose(left.get_lines()[0].get_ydata(), abs(data["exact"] - data["tree"]))
    assert_allclose(right.get_lines()[0].get_ydata(), data["beta"] * (data["exact"] - data["one_loop"]))


def test_the_folder_reads_back(tmp_path):
    spec = LoopsSpec(betas="8:64:x2")
    with claim_folder(tmp_path / "result"):
        summary = compute(spec, tmp_path / "result")
    assert loops_summary(store.open(tmp_path / "result" / DATA)) == summary
    assert LoopsSpec.from_toml(tmp_path / "result" / "spec.toml") == spec


def test_a_gaussian_leaves_only_rounding():
    # c = 0 and a tiny quartic term: Γ is its one-loop form up to what the term itself gives, 3q/β.
    summary = loops_summary(loops(LoopsSpec(cubic=0.0, quartic=1e-30, betas="8:64:x2")))
    assert summary["orders"] == {"one_loop": None, "two_loop": None}
    assert any("nothing but rounding" in line for line in loops_lines(summary))


def test_minimizer_of_a_tilted_well():
    well = QuarticWell(-0.2, 0.3)
    for tilt in (-50.0, -0.1, 0.0, 3.0, 1e4):
        assert_allclose(well.derivatives(well.state(tilt))[1], tilt, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cubic": 1.0}, "the well is convex for"),
        ({"quartic": -1.0}, "quartic = -1"),
        ({"field": math.nan}, "field = nan"),
        ({"betas": "1,2,3"}, "at least 4"),
        ({"phi": 0.3}, "unknown key 'phi'"),
    ],
)
def test_bad_input(options, words):
    with pytest.raises(InputError, match=words):
        LoopsSpec(**options)
    if options == {"cubic": 1.0}:
        with pytest.raises(InputError, match=words):
            QuarticWell(1.0, 0.25)
