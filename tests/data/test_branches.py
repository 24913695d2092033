"""Branches as labelled trees: what the tree says is what the branches are, and files give them back."""

import math
import shutil

import numpy as np
import pytest
import xarray as xr

import hopfieldphase as hp
from hopfieldphase.continuation.active_set import ExactPiece
from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import branch_schema, store
from hopfieldphase.data.branch_summary import branches_lines, branches_summary, support_text
from hopfieldphase.data.branches import LabelledBranchSet, branches_tree, from_datatree
from hopfieldphase.patterns import clustered, equicorrelated

# The same equations, solved again from the same neighbours.
ROUNDING = 1e-13

CASES = {
    "exact": (2.0, 60.0, None),
    "exact in a range": (2.0, 60.0, (20.0, 90.0)),
    "softmax": (1.0, 6.0, np.linspace(3, 15, 25)),
    "smooth": (1.5, 150.0, np.arange(40.0, 202.0, 6.0)),
    "on supports": (1.7, 60.0, np.arange(20.0, 102.0, 4.0)),
    "weights": (3.0, 60.0, np.arange(20.0, 102.0, 4.0)),
}


def model_of(alpha):
    if alpha == 1.0:
        return hp.HopfieldModel(equicorrelated(10, 10), alpha=alpha, scale=1.0)
    if alpha == 1.5:
        return hp.HopfieldModel(clustered(40, 32, seed=0), alpha=alpha)
    return hp.HopfieldModel(clustered(24, 16, seed=0), alpha=alpha)


@pytest.fixture(scope="module", params=list(CASES))
def case(request):
    alpha, at, betas = CASES[request.param]
    made = hp.branches(model_of(alpha), at=at, betas=betas, top=4 if alpha != 1.0 else None)
    return made, made.to_datatree()


@pytest.fixture(scope="module")
def exact():
    made = hp.branches(model_of(2.0), at=200.0)
    return made, made.to_datatree()


@pytest.fixture(scope="module")
def potts():
    """Ten orthonormal patterns, softmax: a uniform state and ten retrieval states with folds."""
    made = hp.branches(model_of(1.0), at=6.0, betas=np.linspace(3, 15, 25))
    return made, made.to_datatree()


def columns(tree, group):
    return branch_schema.columns(tree, group)


def probes(piece, n=3):
    low, high = max(piece.lower, 1.0), min(piece.upper, 500.0)
    return np.linspace(low, high, n + 2)[1:-1].tolist() if high > low * (1 + 1e-9) else []


# The tree says what the branches are


def test_a_branch_is_one_row_at_the_reference(case):
    made, tree = case
    rows = columns(tree, "branches")
    assert rows["branch"].tolist() == list(range(len(made)))
    for i, branch in enumerate(made):
        state = branch.at(made.at)
        assert rows["support"][i] == state.support
        assert rows["free_energy"][i] == state.free_energy
        assert rows["overlap_max"][i] == state.overlap_max
        assert rows["ipr"][i] == pytest.approx(1 / np.sum(state.weights**2), rel=1e-14)
        assert rows["leading_weight"][i] == state.weights[rows["leading"][i]]
        # by symmetry several weights may be the largest, up to rounding
        assert rows["leading_weight"][i] == pytest.approx(state.weights.max(), rel=1e-14)
        assert (rows["beta_min"][i], rows["beta_max"][i]) == (branch.lower, branch.upper)
    assert "inf where it is unbounded" in tree["branches"].attrs["comment"]


def test_pieces_and_special_points_are_rows_in_the_order_of_the_branch(case):
    made, tree = case
    pieces, points = columns(tree, "pieces"), columns(tree, "special_points")
    for i, branch in enumerate(made):
        mine = np.flatnonzero(pieces["branch"] == i)
        assert [pieces["support"][row] for row in mine] == [piece.support for piece in branch.pieces]
        assert pieces["beta_min"][mine].tolist() == [piece.lower for piece in branch.pieces]
        assert pieces["index"][mine].tolist() == [piece.index for piece in branch.pieces]
        for row, piece in zip(mine, branch.pieces, strict=True):
            assert pieces["beta_max_event"][row] == piece.upper_event.kind
            assert points["beta"][pieces["beta_max_point"][row]] == piece.upper
            assert points["patterns"][pieces["beta_min_point"][row]] == piece.lower_event.patterns
        own = np.flatnonzero((points["branch"] == i) & (points["kind"] != "coexistence"))
        assert points["kind"][own].tolist() == [str(point.kind) for point in branch.special_points]
        assert points["beta"][own].tolist() == [point.parameter for point in branch.special_points]
        assert points["jump"][own].tolist() == [point.is_jump for point in branch.special_points]
        for row, point in zip(own, branch.special_points, strict=True):
            if point.state is None:
                assert np.isnan(points["state"][row]).all()
            else:
                assert np.array_equal(points["state"][row], point.state.x)
            if point.landing is not None:
                assert points["landing_support"][row] == point.landing.support
                assert points["landing_free_energy"][row] == point.landing.free_energy


def test_arcs_reach_from_end_to_end_of_every_piece(case):
    made, tree = case
    arcs, pieces = columns(tree, "arcs"), columns(tree, "pieces")
    low, high = (made.grid[0], made.grid[-1])
    for row in range(pieces["branch"].size):
        nodes = arcs["beta"][arcs["piece"] == row]
        lower, upper = max(pieces["beta_min"][row], low), min(pieces["beta_max"][row], high)
        if lower > upper:
            assert nodes.size == 0
        else:
            assert {nodes[0], nodes[-1]} == {lower, upper}
    for node in range(0, arcs["beta"].size, 7):
        row, beta = int(arcs["piece"][node]), float(arcs["beta"][node])
        branch = int(pieces["branch"][row])
        piece = made[branch].pieces[row - np.flatnonzero(pieces["branch"] == branch)[0]]
        # Along a flat edge of Γ β varies by rounding only, and may leave the interval by as much.
        if piece.contains(beta) and piece.upper > piece.lower * (1 + 1e-9):
            assert arcs["free_energy"][node] == pytest.approx(piece.at(beta).free_energy, rel=1e-12)


def test_curves_hold_the_most_stable_and_lowest_state_on_the_grid(case):
    made, tree = case
    curves = tree["curves"].to_dataset()
    assert curves["beta"].values.tolist() == list(made.grid)
    for i, branch in enumerate(made):
        for beta in made.grid[::3]:
            cell = curves.sel(branch=i, beta=beta)
            if branch.lower <= beta <= branch.upper:
                found = [piece for piece in branch.pieces if piece.contains(beta)]
                fewest = min(piece.index for piece in found)
                lowest = min(piece.at(beta).free_energy for piece in found if piece.index == fewest)
                assert cell["free_energy"] == pytest.approx(lowest, rel=1e-12)
                assert cell["index"] == fewest
            else:
                assert np.isnan(cell["free_energy"])
                assert (cell["index"], cell["support_size"], cell["phase"]) == (-1, 0, 0)


def test_phases_say_which_state_is_lowest(case):
    _, tree = case
    curves = tree["curves"].to_dataset()
    phase = columns(tree, "curves")["phase"]
    assert np.array_equal(phase == "absent", np.isnan(curves["free_energy"]))
    assert np.array_equal(phase == "unstable", curves["index"] > 0)
    stable = curves["free_energy"].where((phase == "equilibrium") | (phase == "metastable"))
    lowest = stable.min("branch", skipna=True)
    excess = (stable - lowest).values
    assert np.nanmax(excess[phase == "equilibrium"], initial=0.0) <= 1e-9
    # A metastable state has another of its branch, or of another branch, below it.
    line = tree.hp.equilibrium()
    for beta in curves["beta"].values:
        inside = [interval for interval in line if interval.lower <= beta <= interval.upper]
        assert bool((phase[:, curves["beta"].values == beta] == "equilibrium").any()) == bool(inside)


def test_excess_is_measured_from_the_maxwell_line(potts):
    _, tree = potts
    arcs = columns(tree, "arcs")
    assert np.abs(arcs["excess"][arcs["phase"] == "equilibrium"]).max() <= 1e-12
    # At the transition itself both phases have no excess.
    assert arcs["excess"][arcs["phase"] == "metastable"].min() >= -1e-11
    assert (arcs["excess"][arcs["phase"] == "unstable"] > 0).all()


def test_the_maxwell_line_cuts_arcs_exactly_at_the_transition(potts):
    _, tree = potts
    arcs, line = columns(tree, "arcs"), columns(tree, "equilibrium")
    (transition,) = line["beta_max"][line["transition"] == "coexistence"]
    assert transition == pytest.approx(18 * math.log(9) / 8, rel=1e-9)
    at = np.flatnonzero(arcs["beta"] == transition)
    assert sorted(arcs["phase"][at[:2]].tolist()) == ["equilibrium", "metastable"]


def test_coexistence_of_branches_of_equal_energy_is_listed_once(potts):
    made, tree = potts
    points = columns(tree, "special_points")
    (row,) = np.flatnonzero(points["kind"] == "coexistence")
    pair = sorted((int(points["branch"][row]), int(points["landing_branch"][row])))
    assert [made[i].at(6.0).overlap_max > 0.5 for i in pair].count(True) == 1
    assert points["free_energy"][row] == pytest.approx(points["landing_free_energy"][row], abs=1e-11)
    retrieving = [i for i, branch in enumerate(made) if branch.at(6.0).overlap_max > 0.5]
    equal = columns(tree, "branches")["equal_to"]
    assert equal[retrieving].tolist() == [retrieving[0]] * 10


def test_storage_onsets_are_where_a_single_pattern_begins(exact):
    made, tree = exact
    points = columns(tree, "special_points")
    onsets = sorted(points["beta"][points["storage_onset"]].tolist())
    single = [branch for branch in made if len(branch.pieces[0].support) == 1]
    expected = sorted(branch.lower for branch in single)
    assert onsets == expected
    assert len(onsets) > 10


def test_a_jump_says_on_which_branch_it_lands(exact):
    made, tree = exact
    points = columns(tree, "special_points")
    landed = np.flatnonzero(points["landing_branch"] >= 0)
    landed = landed[points["kind"][landed] != "coexistence"]
    assert landed.size
    for row in landed:
        met = made[int(points["landing_branch"][row])].at(float(points["landing_beta"][row]))
        assert np.linalg.norm(met.x - points["landing_state"][row]) <= 1e-9
        assert met.support == points["landing_support"][row]


def test_everything_is_labelled(case):
    _, tree = case
    for group in tree.children.values():
        for name, variable in group.to_dataset(inherit=False).variables.items():
            assert variable.attrs["long_name"], name
            assert variable.attrs["units"] == "1"
    assert tree.attrs["schema_version"] == 1
    assert {"alpha", "M", "d", "scale", "reference", "package_version", "git_revision"} <= tree.attrs.keys()


# Files


@pytest.mark.parametrize("name", ["data.zarr", "data.nc"])
@pytest.mark.parametrize("made", ["exact", "potts"])
def test_a_tree_reads_back_identical(tmp_path, request, made, name):
    _, tree = request.getfixturevalue(made)
    store.write(tree, tmp_path / name)
    xr.testing.assert_identical(store.open(tmp_path / name), tree)
    opener = xr.open_zarr if name.endswith("zarr") else xr.open_dataset
    with opener(tmp_path / name, group="special_points") as points:
        meanings = points["kind"].attrs["flag_meanings"].split()
        assert meanings == [str(kind) for kind in PointKind]


@pytest.mark.slow
def test_open_gives_branch_objects_back(tmp_path, case):
    made, tree = case
    store.write(tree, tmp_path / "data.nc")
    read = hp.open(tmp_path / "data.nc")
    assert isinstance(read, LabelledBranchSet)
    assert (read.at, read.betas, read.grid, len(read)) == (made.at, made.betas, made.grid, len(made))
    assert dict(read.options) == dict(made.options)
    for before, after in zip(made, read, strict=True):
        assert (before.lower, before.upper, before.status) == (after.lower, after.upper, after.status)
        for old, new in zip(before.pieces, after.pieces, strict=True):
            for name in ("support", "lower", "upper", "index"):
                assert getattr(old, name) == getattr(new, name)
            assert old.lower_event.label == new.lower_event.label
            assert old.upper_event.label == new.upper_event.label
            for beta in probes(old):
                there, here = old.at(beta), new.at(beta)
                assert np.abs(there.x - here.x).max() <= ROUNDING * made.model.state_scale
                assert there.free_energy == pytest.approx(here.free_energy, rel=ROUNDING)
                assert there.support == here.support
        for old, new in zip(before.special_points, after.special_points, strict=True):
            for name in ("kind", "parameter", "goes_on", "patterns", "multiplicity", "degenerate", "bracket",
                         "precision", "status"):  # fmt: skip
                assert getattr(old, name) == getattr(new, name)
            for there, here in ((old.state, new.state), (old.landing, new.landing)):
                assert (there is None) == (here is None)
                if there is not None:
                    assert np.abs(there.x - here.x).max() <= 1e-12 * made.model.state_scale
                    assert there.hessian_min == pytest.approx(here.hessian_min, abs=1e-12)


def test_closed_forms_come_back_as_closed_forms(exact):
    made, tree = exact
    read = from_datatree(tree)
    assert all(isinstance(piece, ExactPiece) for branch in read for piece in branch.pieces)
    assert math.isinf(read[0].upper)
    assert read[0].at(1e4).free_energy == made[0].at(1e4).free_energy


def test_branches_from_a_file_serve_everywhere(potts):
    made, tree = potts
    read = from_datatree(tree)
    uniform = next(i for i, branch in enumerate(made) if branch.at(6.0).overlap_max < 0.5)
    (before,) = hp.coexistence(made[0], made[uniform])
    (after,) = hp.coexistence(read[0], read[uniform])
    assert after.parameter == pytest.approx(before.parameter, rel=1e-12)
    (fold,) = [found.point for found in hp.spinodals(read[0]) if found.point.kind is PointKind.FOLD]
    assert fold.parameter == read[0].lower
    again = read.to_datatree()
    for group in ("branches", "pieces", "special_points", "curves", "equilibrium", "patterns"):
        xr.testing.assert_allclose(again[group].to_dataset(), tree[group].to_dataset(), rtol=1e-9, atol=1e-12)


def test_the_accessor_reads_a_tree_of_branches(potts):
    made, tree = potts
    assert len(tree.hp.branches()) == len(made)
    assert tree.hp.summary() == branches_summary(tree)
    assert [len(found) for found in tree.hp.spinodals()] == [len(hp.spinodals(branch)) for branch in made]
    assert len(tree.hp.coexistence()) > 1
    assert tree.hp.equilibrium()[-1].upper == 15.0


# Refusals


def complaint(call):
    with pytest.raises(InputError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    return message


def test_incomplete_trees_are_refused(tmp_path, exact):
    _, tree = exact
    assert "no group of branches" in complaint(lambda: from_datatree(xr.DataTree()))
    without = tree.copy()
    del without["arcs"]
    assert "the group arcs is missing" in complaint(lambda: store.write(without, tmp_path / "a.zarr"))
    newer = tree.copy()
    newer.attrs["schema_version"] = 99
    assert "newer than" in complaint(lambda: from_datatree(newer))
    lacking = tree.copy()
    lacking["pieces"] = lacking["pieces"].to_dataset().drop_vars("support")
    assert "support of the group pieces is missing" in complaint(lambda: from_datatree(lacking))


def test_damaged_trees_are_refused(tmp_path, exact):
    _, tree = exact
    fewer = tree.copy()
    fewer["pieces"] = fewer["pieces"].to_dataset().isel(piece=slice(1, None))
    assert "damaged" in complaint(lambda: from_datatree(fewer))
    astray = tree.copy()
    astray["pieces"]["beta_min_point"] = astray["pieces"]["beta_min_point"] + 10_000
    assert "do not belong together" in complaint(lambda: from_datatree(astray))
    store.write(tree, tmp_path / "data.zarr")
    shutil.rmtree(tmp_path / "data.zarr" / "special_points" / "beta")
    assert "cannot read" in complaint(lambda: hp.open(tmp_path / "data.zarr"))


def test_options_must_have_a_stored_form_and_a_free_name(exact):
    made, _ = exact
    assert "name of an attribute" in complaint(lambda: branches_tree(made, (1.0, 2.0), {"alpha": 2.0}))
    assert "cannot be stored" in complaint(lambda: branches_tree(made, (1.0, 2.0), {"made": object()}))
    assert "grid is empty" in complaint(lambda: branches_tree(made, (), {}))


# Summary


def test_the_summary_is_plain_and_names_the_ends(case):
    made, tree = case
    summary = branches_summary(tree)
    for branch, row in zip(made, summary["branches"], strict=True):
        state = branch.at(made.at)
        assert (row["support"], row["free_energy"]) == (list(state.support), state.free_energy)
        assert row["beta_min"] == (branch.lower or None)
        assert row["beta_max"] == (None if math.isinf(branch.upper) else branch.upper)
        first = next(point for point in branch.special_points if point.parameter == branch.lower)
        assert row["beta_min_end"]["type"] == str(first.kind)
        assert row["beta_min_end"]["patterns"] == list(first.patterns)
        assert [piece["beta_max_event"] for piece in row["pieces"]] == [
            piece.upper_event.label for piece in branch.pieces
        ]
    lines = branches_lines(summary)
    assert max(map(len, lines)) <= 80
    assert all(line.isascii() for line in lines)
    table = lines[lines.index("") + 1 :]
    assert " ".join(table[0].split()) == "branch support Gamma z_max beta_min ends by beta_max ends by"
    assert len(table) >= 1 + min(len(made), 12)


def test_a_summary_says_when_a_lower_state_was_not_followed():
    model = hp.HopfieldModel(clustered(100, 64, seed=0), alpha=2.0)
    few, all_of_them = (
        branches_summary(hp.branches(model, at=290.0, top=top).to_datatree()) for top in (5, None)
    )
    assert "see --top all" in " ".join(" ".join(branches_lines(few)).split())
    assert "see --top all" not in " ".join(branches_lines(all_of_them))
    assert few["search"]["lowest_energy"] == min(row["free_energy"] for row in all_of_them["branches"])
    assert "and 85 more, all in summary.json" in branches_lines(all_of_them)


@pytest.mark.parametrize(
    ("support", "weight", "text"),
    [
        ((3,), 1.0, "{3}"),
        ((3, 17), 0.6, "{3, 17}"),
        (range(9), 0.9, "{0} + 8"),
        (range(9), 0.2, "9 patterns"),
    ],
)
def test_supports_in_words(support, weight, text):
    assert support_text(list(support), 0, weight) == text


def test_unconverged_points_are_named(exact):
    _, tree = exact
    changed = tree.copy(deep=True)
    changed["special_points"]["status"][0] = 4
    (point,) = branches_summary(changed)["unconverged"]
    assert (point["branch"], point["status"]) == (0, "iteration_limit")
    assert branches_summary(tree)["unconverged"] == []
