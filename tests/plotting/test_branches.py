"""Figures of branches show the tree: phases as lines, special points where they are, readable in grey."""

import itertools

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import hopfieldphase as hp
from hopfieldphase.data import branch_schema
from hopfieldphase.patterns import clustered, equicorrelated
from hopfieldphase.plotting import style
from hopfieldphase.plotting.branches import plot_branch, plot_branches


@pytest.fixture(scope="module")
def potts():
    """Ten orthonormal patterns, softmax: fold, unstable arm, branch point, coexistence."""
    model = hp.HopfieldModel(equicorrelated(10, 10), alpha=1.0, scale=1.0)
    return hp.branches(model, at=6.0, betas=np.linspace(3, 15, 49)).to_datatree()


@pytest.fixture(scope="module")
def five():
    """The paper's data, five stored patterns on one line."""
    model = hp.HopfieldModel(clustered(100, 64, seed=0), alpha=2.0)
    return hp.branches(model, at=290.0, betas=np.arange(20.0, 402.0, 2.0), top=5).to_datatree()


@pytest.fixture(scope="module")
def many():
    model = hp.HopfieldModel(clustered(100, 64, seed=0), alpha=2.0)
    return hp.branches(model, at=290.0, betas=np.arange(20.0, 402.0, 2.0)).to_datatree()


@pytest.fixture(autouse=True)
def shipped_style():
    with style.style():
        yield


def lines(ax, phase):
    """The lines of one phase, without the overlaid markers."""
    return [line for line in ax.get_lines() if line.get_label().startswith(phase)]


def scatter(ax, text):
    """Places of the special points of one sort, of branches with a colour."""
    found = [c for c in ax.collections if isinstance(c, PathCollection) and c.get_label().startswith(text)]
    places = [np.asarray(c.get_offsets()) for c in found if c.get_zorder() == 5]
    return np.concatenate(places) if places else np.empty((0, 2))


def vertices_of(ax):
    drawn = [line for phase in branch_schema.PHASES for line in lines(ax, phase)]
    return {tuple(point) for line in drawn for point in line.get_xydata()}


def ends_of(ax):
    drawn = [line for phase in branch_schema.PHASES for line in lines(ax, phase)]
    return [tuple(end) for line in drawn for end in line.get_xydata()[[0, -1]]]


def words(legend):
    return [text.get_text() for text in legend.get_texts()]


def dashed(line):
    return line.get_linestyle() == "--"


@pytest.mark.parametrize("name", ["overlap_max", "free_energy"])
def test_every_arm_is_a_line_through_its_points(potts, name):
    ax = plot_branch(potts, name, Figure().subplots())
    arcs = branch_schema.columns(potts, "arcs")
    stored = set(zip(arcs["beta"].tolist(), arcs[name].tolist(), strict=True))
    assert vertices_of(ax) <= stored
    for phase in ("equilibrium", "metastable", "unstable"):
        assert lines(ax, phase)


def test_lines_say_the_phase(potts):
    ax = plot_branch(potts, ax=Figure().subplots())
    for line in lines(ax, "equilibrium"):
        assert (line.get_linewidth(), dashed(line)) == (1.6, False)
    for line in lines(ax, "metastable"):
        assert (line.get_linewidth(), dashed(line)) == (0.8, False)
    for line in lines(ax, "unstable"):
        assert (line.get_linewidth(), dashed(line)) == (0.8, True)


def test_lines_meet_in_the_special_points_without_gaps(potts):
    ax = plot_branch(potts, ax=Figure().subplots())
    ends = ends_of(ax)
    low, high = ax.get_xlim()
    points = branch_schema.columns(potts, "special_points")
    for sort in ("loss of stability", "pitchfork"):
        for beta, value in scatter(ax, sort):
            assert beta in points["beta"]
            assert (beta, value) in vertices_of(ax)
    inner = [end for end in ends if low < end[0] < high]
    # Both phases of a branch end in the same point.
    assert all(ends.count(end) >= 2 for end in inner)


def test_special_points_stand_on_the_lines(potts):
    ax = plot_branch(potts, ax=Figure().subplots())
    fold = branch_schema.columns(potts, "special_points")
    (first, *_) = np.flatnonzero(fold["kind"] == "fold")
    coloured = scatter(ax, "loss of stability")
    assert [fold["beta"][first], fold["overlap_max"][first]] in coloured.tolist()
    crossing = np.flatnonzero(fold["kind"] == "coexistence")
    expected = {
        (float(fold["beta"][row]), float(fold[name][row]))
        for row in crossing
        for name in ("overlap_max", "landing_overlap_max")
    }
    seen = scatter(ax, "coexistence").tolist()
    assert len(seen) == len(expected)
    for beta, value in expected:
        assert any(beta == x and value == pytest.approx(y, abs=1e-6) for x, y in seen)
    (tie,) = [c for c in ax.collections if isinstance(c, LineCollection) and c.get_label() == "tie line"]
    (segment,) = tie.get_segments()
    assert segment[0][0] == segment[1][0] == expected.pop()[0]
    assert tie.get_linewidths()[0] < 0.8


def test_kinds_have_their_markers(potts, five):
    ax = plot_branch(potts, ax=Figure().subplots())
    faces = {c.get_label(): c.get_facecolors() for c in ax.collections if isinstance(c, PathCollection)}
    assert {to_hex(face) for face in faces["pitchfork, branch point"]} == {"#ffffff"}
    assert "#ffffff" not in {to_hex(face) for face in faces["loss of stability (spinodal, fold)"]}
    onset = scatter(plot_branch(five, ax=Figure().subplots()), "exact storage onset")
    lowest = branch_schema.columns(five, "branches")["beta_min"]
    assert sorted(onset[:, 0].tolist()) == sorted(lowest.tolist())


def test_a_point_that_was_not_located_is_open(potts):
    changed = potts.copy(deep=True)
    folds = branch_schema.columns(potts, "special_points")["kind"] == "fold"
    changed["special_points"]["status"][np.flatnonzero(folds)] = 4
    ax = plot_branch(changed, ax=Figure().subplots())
    faces = [c.get_facecolors() for c in ax.collections if str(c.get_label()).startswith("loss of stability")]
    assert {to_hex(face) for group in faces for face in group} == {"#ffffff"}


def test_a_few_branches_have_looks_and_the_others_are_grey(many):
    ax, *_ = plot_branches(many)
    said = words(ax.figure.legends[0])
    assert "0: {0}" in said
    assert any(text.startswith("96: ") for text in said)
    assert any(text.endswith(" others") for text in said)
    total, named = many["branches"].sizes["branch"], sum(": " in text for text in said)
    assert f"{total - named} others" in said
    grey = [c for c in ax.collections if isinstance(c, LineCollection) and c.get_label() != "tie line"]
    assert sum(len(c.get_segments()) for c in grey) >= total - named


def look(line):
    return (line.get_linestyle(), line.get_linewidth(), line.get_marker())


@pytest.mark.parametrize("data", ["potts", "five", "many"])
def test_lines_of_two_branches_differ_in_more_than_colour(request, data):
    for ax in plot_branches(request.getfixturevalue(data)):
        drawn = [line for phase in branch_schema.PHASES for line in lines(ax, phase)]
        for a, b in itertools.combinations(drawn, 2):
            if a.get_label().split()[-1] != b.get_label().split()[-1]:
                assert look(a) != look(b)
                assert a.get_color() != b.get_color()


def test_markers_of_branches_on_one_line_stand_apart(five):
    ax, *_ = plot_branches(five)
    overlaid = [line for line in ax.get_lines() if line.get_label() == "_" and line.get_marker() != "None"]
    places = [set(line.get_xdata().tolist()) for line in overlaid if len(line.get_xdata())]
    assert len(places) == 5
    assert all(not a & b for a, b in itertools.combinations(places, 2))


def test_equal_energies_have_no_excess_but_rounding(five):
    *_, excess = plot_branches(five)
    assert all((line.get_ydata() == 0).all() for line in lines(excess, "equilibrium"))


def test_the_legend_says_what_is_lowest(five, many, potts):
    assert "lowest of these branches" in words(plot_branches(five)[0].figure.legends[0])
    for complete in (many, potts):
        assert "equilibrium" in words(plot_branches(complete)[0].figure.legends[0])


def test_captions_and_labels_come_from_the_data(potts):
    first, second, third = plot_branches(potts)
    caption = first.figure.legends[0].get_title().get_text()
    for part in (r"$\alpha = 1$", "$M = 10$", "11 branches", r"$\beta_0 = 6$"):
        assert part in caption
    assert first.get_xlabel() == third.get_xlabel() == r"inverse temperature $\beta$"
    assert first.get_ylabel() == r"maximal overlap $z_{\max}$"
    assert second.get_ylabel() == r"free energy $\Gamma$"
    assert third.get_ylabel() == r"$\Gamma - \Gamma_\mathrm{eq}$"
    assert first.get_xlim() == (3.0, 15.0)


def test_branches_are_named_beside_their_lines(many):
    ax, *_ = plot_branches(many)
    named = {text.get_text(): text.xy for text in ax.texts if hasattr(text, "xy")}
    rows = branch_schema.columns(many, "branches")
    assert named["{0}"] == (290.0, pytest.approx(1 / 64))
    pair = "{" + ", ".join(map(str, rows["support"][96])) + "}"
    assert named[pair] == (290.0, pytest.approx(rows["overlap_max"][96]))


def test_unstable_arms_do_not_hide_the_minima(potts):
    *_, ax = plot_branches(potts)
    arcs = branch_schema.columns(potts, "arcs")
    highest = np.nanmax(arcs["excess"][arcs["phase"] != "unstable"])
    assert highest < ax.get_ylim()[1] <= 2.6 * highest


def test_given_axes_are_drawn_into_and_returned(five):
    figure = Figure()
    axes = figure.subplots(1, 3)
    assert plot_branches(five, axes) == tuple(axes)
    assert list(figure.axes) == list(axes)
    assert all(ax.get_legend() is not None for ax in axes)


@pytest.mark.slow
def test_the_same_tree_gives_the_same_bytes(tmp_path, five):
    for name in ("a", "b"):
        style.save(plot_branches(five)[0].figure, tmp_path / f"{name}.png")
    for suffix in (".png", ".svg"):
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_the_accessor_draws(five):
    first, *_ = five.hp.plot()
    assert len(lines(first, "equilibrium")) == 5
