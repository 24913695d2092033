"""Four panels: the loop and its branches, drawn from one tree."""

import numpy as np
import pytest

from hopfieldphase.data.structure import structure_parts
from hopfieldphase.plotting import style
from hopfieldphase.plotting.structure import plot_structure
from hopfieldphase.plotting.validation import plot_validation
from hopfieldphase.runs.specs import PatternSpec
from hopfieldphase.runs.structure import structure
from hopfieldphase.runs.structure_spec import StructureSpec
from hopfieldphase.runs.validation import validation
from hopfieldphase.runs.validation_spec import SupportsSpec, TwoKeysSpec


@pytest.fixture(scope="module")
def tree():
    return structure(StructureSpec(patterns=PatternSpec(M=30, d=16), betas="20:120:4", at=80.0, top=4))


def test_four_labelled_panels_in_one_figure(tree):
    panels = plot_structure(tree)
    assert len({style.figure_of(ax) for ax in panels}) == 1
    assert [ax.get_title(loc="left") for ax in panels] == ["(a)", "(b)", "(c)", "(d)"]
    for ax in panels:
        assert r"$\beta$" in ax.get_xlabel()
        assert ax.get_ylabel()


def test_names_of_branches_lie_within_their_panel(tree):
    overlap = plot_structure(tree)[2]
    figure = style.figure_of(overlap)
    figure.draw_without_rendering()
    names = [text.get_window_extent() for text in overlap.texts if text.get_text().startswith("{")]
    assert names
    assert all(overlap.bbox.y0 < box.y0 < box.y1 < overlap.bbox.y1 for box in names)


def test_the_legend_says_what_follows_a_jump_where_one_does(tree):
    def said(drawn):
        legend = style.figure_of(plot_structure(drawn)[2]).subfigs[1].legends[0]
        return [text.get_text() for text in legend.get_texts()]

    still = tree.copy()
    still["continued"] = (
        still["continued"].to_dataset().assign(jumped=structure_parts(tree)[2]["jumped"] & False)
    )
    assert "after a jump (warm start)" in said(tree)
    assert "after a jump (warm start)" not in said(still)


def test_warm_starts_are_drawn_as_they_are(tree):
    continued = structure_parts(tree)[2]
    _, _, overlap, energy = plot_structure(tree)
    for ax, name in ((overlap, "overlap_max"), (energy, "free_energy")):
        drawn = [line.get_ydata() for line in ax.lines]
        for row in continued[name].values:
            assert any(np.array_equal(row, line) for line in drawn)


@pytest.mark.parametrize("spec", [TwoKeysSpec(rotations=1), SupportsSpec(systems=1)])
def test_validation_shows_formula_numerics_and_errors(spec):
    table = validation(spec)
    left, right = plot_validation(table)
    assert np.array_equal(np.sort(left.lines[0].get_ydata()), np.sort(table["formula"].values))
    assert right.get_yscale() == "log"
    assert all(np.min(line.get_ydata()) > 0 for line in right.lines)
    figure = style.figure_of(right)
    figure.draw_without_rendering()
    words = right.get_legend().get_window_extent()
    for line in right.lines[:-1]:  # the last one lies across the whole panel
        assert not words.count_contains(right.transData.transform(line.get_xydata()))
