"""What a page shows is what the data hold."""

import importlib
import re

import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.core.errors import InputError
from hopfieldphase.data.diagram import stored_lines
from hopfieldphase.explore.labels import plain
from hopfieldphase.explore.page import LARGEST, page
from hopfieldphase.explore.reading import view_of
from hopfieldphase.explore.sizes import single, thinned
from hopfieldphase.explore.view import Kind, Link, Phase
from hopfieldphase.runs.kappa_spec import KappaSpec, SequenceSpec
from hopfieldphase.runs.specs import PatternSpec, SweepSpec
from hopfieldphase.runs.sweeps import spec_model

SINGLE = 1e-6  # weights are kept in single precision, 6e-8


def shaped(view, name):
    sizes = [len(axis.values) for axis in (*view.outer, view.curves)]
    return view.nodes[name].reshape(*sizes, -1)


@pytest.mark.parametrize(("kind", "parameter"), [("sweep", "beta"), ("load_sweep", "kappa")])
def test_nodes_of_a_sweep_are_its_points(result, kind, parameter):
    data = result(kind)
    dataset = data if parameter == "beta" else data.to_dataset()
    view = view_of(data)
    for name in ("overlap_max", "free_energy", "ipr", "support_size", "status"):
        assert np.array_equal(shaped(view, name), dataset[name].values), name
    assert np.array_equal(
        view.nodes["parameter"].reshape(-1, dataset.sizes[parameter])[0], dataset[parameter]
    )
    lowest = dataset["free_energy"].min("direction")
    assert np.array_equal(shaped(view, "excess"), (dataset["free_energy"] - lowest).values)
    jumps = int(dataset["jumped"].sum())
    assert (view.nodes["link"] == Link.JUMP).sum() == jumps == (view.marks["kind"] == Kind.SPINODAL).sum()


def test_a_sweep_over_further_dimensions_has_a_slider_for_each():
    models = [hp.HopfieldModel(hp.patterns.spherical(8, 6, seed), alpha=2.0) for seed in range(2)]
    data = hp.sweep_beta(models, "10:60:10").expand_dims(temperature=["low", "high"], noise=[0.1, 0.2, 0.4])
    data["overlap_max"] = data["overlap_max"].where(data["noise"] != 0.4)
    view = view_of(data)
    assert [axis.name for axis in view.outer] == ["temperature", "noise", "realization"]
    assert shaped(view, "overlap_max").shape == (2, 3, 2, 2, 6)
    assert np.array_equal(shaped(view, "overlap_max"), data["overlap_max"], equal_nan=True)
    assert (shaped(view, "phase")[:, 2] == Phase.ABSENT).all()
    assert any("48 of 144 states are not there" in note for note in view.notes)
    assert view.at({"noise": "0.19", "temperature": "high", "beta": "41"}) == (1, 1, 0, 1, 3)


def test_weights_are_those_of_the_stored_states_and_of_the_sweep_done_again(result):
    spec = SweepSpec(patterns=PatternSpec(M=20, d=12), betas="10:150:5", realizations=2, keep_states=True)
    stored = hp.sweep_beta(spec)
    patterns, values = view_of(stored).weights
    again = view_of(result("sweep")).weights
    assert np.array_equal(patterns, again[0])
    assert np.array_equal(values, again[1])
    states = stored["state"]
    for realization, direction, i in ((0, 0, 3), (1, 1, 20)):
        p = spec_model(spec, realization).weights(
            states.values[realization, direction, i], float(states["beta"][i])
        )
        row = (2 * realization + direction) * states.sizes["beta"] + i
        kept = patterns[row] >= 0
        assert values[row][kept] == pytest.approx(p[patterns[row][kept]], abs=SINGLE)
        assert values[row].sum() == pytest.approx(np.sort(p)[::-1][:12].sum(), abs=SINGLE)


def test_weights_in_the_memory_load_give_the_support_size(result):
    for kind in ("load_sweep", "load_branches"):
        view = view_of(result(kind))
        there = view.nodes["phase"] != Phase.ABSENT
        kept = (view.weights[0] >= 0).sum(axis=1)
        assert np.array_equal(kept[there], np.minimum(view.nodes["support_size"][there], 12)), kind
        ipr = 1 / (view.weights[1].astype(float) ** 2).sum(axis=1)
        few = there & (view.nodes["support_size"] <= 12)
        assert ipr[few] == pytest.approx(view.nodes["ipr"][few], rel=SINGLE)


def test_coexistence_between_grid_points_is_near_the_exact_one():
    model = hp.HopfieldModel(hp.patterns.equicorrelated(6, 8, 0.1), alpha=1.5)
    view = view_of(hp.sweep_beta(model, "5:60:0.25"))
    shown = view.marks["parameter"][view.marks["kind"] == Kind.COEXISTENCE]
    found = hp.branches(model, at=float(shown[0]), betas="5:60:1")
    exact = [point.parameter for _, _, point in found.to_datatree().hp.coexistence() if not point.degenerate]
    assert shown.size == 2
    assert min(abs(beta - shown[0]) for beta in exact) < 0.25**2


def test_nodes_and_special_points_of_branches(result):
    tree = result("branches")
    view, arcs = view_of(tree), tree["arcs"].to_dataset()
    for name in ("beta", "overlap_max", "free_energy", "ipr", "hessian_min"):
        assert np.array_equal(view.nodes["parameter" if name == "beta" else name], arcs[name]), name
    lost = {round(spinodal.point.parameter, 9) for found in tree.hp.spinodals() for spinodal in found}
    shown = view.marks["parameter"][view.marks["kind"] == Kind.SPINODAL]
    assert lost
    assert lost <= {round(float(beta), 9) for beta in shown}
    equal = [point.parameter for _, _, point in tree.hp.coexistence()]
    here = view.marks["parameter"][view.marks["kind"] == Kind.COEXISTENCE]
    assert len(here) > 0
    assert all(min(abs(beta - value) for value in equal) < 1e-9 * beta for beta in here)
    ipr = 1 / (view.weights[1].astype(float) ** 2).sum(axis=1)
    few = view.nodes["support_size"] <= 12
    assert ipr[few] == pytest.approx(view.nodes["ipr"][few], rel=SINGLE)


def test_the_sweeps_behind_a_phase_diagram_are_those_of_its_maps(result):
    tree = result("phase_diagram")
    view = view_of(tree)
    overlap = shaped(view, "overlap_max")
    stored = tree["hysteresis"].values
    there = np.isfinite(stored)
    assert (overlap[:, :, 1] - overlap[:, :, 0])[there] == pytest.approx(stored[there], abs=1e-12)
    assert np.array_equal(view.cells["map_n_states"].values, np.where(
        tree["n_states"] < 0, np.nan, tree["n_states"]
    ).reshape(-1, tree.sizes["beta"]), equal_nan=True)  # fmt: skip
    # Where the diagram of a row crosses the lines of the map.
    assert view.rules["parameter"].size
    for line in stored_lines(tree):
        if not line["step"] and (np.diff(line["y"]) > 0).all():
            for place, y in enumerate(tree["epsilon"].values):
                if line["y"][0] <= y <= line["y"][-1]:
                    beta = np.interp(y, line["y"], line["beta"])
                    own = view.rules["parameter"][view.rules["place"] == place]
                    assert not 4 <= beta <= 40 or np.abs(own - beta).min() < 1e-9 * beta


def test_a_page_is_small_and_forbids_the_browser_to_load_anything(result):
    text, view = page(view_of(result("phase_diagram")), {}, "runs/it")
    assert len(text.encode()) < LARGEST
    assert "default-src 'none'" in text
    assert view.nodes["overlap_max"].dtype == np.float64
    assert "double precision" in text


@pytest.mark.slow
def test_a_large_grid_is_rounded_then_thinned_and_says_so(result):
    small = result("sweep")
    data = small.isel(realization=0, drop=True).expand_dims(noise=np.linspace(0, 1, 4000)).copy()
    noise = np.random.default_rng(0)
    for name in (
        "overlap_max",
        "free_energy",
        "ipr",
        "hessian_min",
    ):  # numbers that no compression makes less
        data[name] = data[name] * (1 + 1e-3 * noise.random(data[name].shape))
    text, view = page(view_of(data), {"noise": 0.5}, "")
    assert len(text.encode()) < LARGEST
    assert any("thinned" in note for note in view.notes)
    assert view.nodes["overlap_max"].dtype == np.float32
    assert "single precision" in text
    kept = view.nodes["parameter"][: view.starts[1]]
    assert (kept[0], kept[-1]) == (small["beta"].values[0], small["beta"].values[-1])
    assert np.array_equal(view.marks["parameter"], view_of(data).marks["parameter"])


def test_thinned_curves_hold_every_second_state_and_their_jumps(result):
    view = view_of(result("sweep"))
    half = single(thinned(view))
    count = int(view.starts[1])
    for curve in range(4):
        kept = half.nodes["overlap_max"][half.starts[curve] : half.starts[curve + 1]]
        own = view.nodes["overlap_max"][curve * count : (curve + 1) * count]
        assert kept == pytest.approx(
            np.append(own[:-1:2], own[-1]) if count % 2 == 0 else own[::2], rel=SINGLE
        )
    assert (half.nodes["link"] == Link.JUMP).sum() == (view.nodes["link"] == Link.JUMP).sum()


def test_the_page_opens_where_it_is_told_to(result):
    view = view_of(result("sweep"))
    assert view.at({"realization": "1", "direction": "up", "beta": "22"}) == (1, 0, 2)
    for wanted, message in (
        ({"gamma": "1"}, "gamma is no dimension of these data: they have realization, direction, beta"),
        ({"direction": "left"}, "direction = left is none of up, down"),
        ({"beta": "hot"}, "beta = hot is none of 10.0, 15.0"),
    ):
        with pytest.raises(InputError, match=message):
            view.at(wanted)


def test_data_without_a_page_are_refused():
    data = hp.study("figure-16", reduced=True)
    with pytest.raises(InputError, match="has no page: explore shows sweeps"):
        view_of(data)


def test_no_weights_without_knowing_the_patterns():
    model = hp.HopfieldModel(hp.patterns.spherical(6, 5, 0), alpha=2.0)
    view = view_of(hp.sweep_beta(model, "10:30:10"))
    assert view.weights is None
    assert "not stored" in view.notes[0]


def test_labels_are_plain_text():
    assert plain(r"maximal overlap $z_{\max}$") == "maximal overlap z_max"
    assert plain(r"memory load $\log(M)/d$") == "memory load log(M)/d"
    assert plain(r"$\mathrm{IPR} = 1/\Sigma_\mu\,p_\mu^2$") == "IPR = 1/Σ_μ p_μ²"


def test_kappa_specs_are_found_in_attributes():
    spec = KappaSpec(patterns=SequenceSpec(d=12), beta=40.0, kappas="0.1,0.15", realizations=1)
    assert view_of(hp.sweep_kappa(spec)).weights is not None


def test_no_line_joins_pieces_of_a_branch_that_do_not_meet():
    # The two stored keys and the unstable arms that leave them at the fold are one curve at alpha = 2.5.
    model = hp.HopfieldModel(hp.patterns.two_keys(0.3, 12, seed=0), alpha=2.5)
    view = view_of(hp.branches(model, at=29.4, betas="14:38:0.2").to_datatree())
    t, link = view.nodes["parameter"], view.nodes["link"]
    assert (np.abs(np.diff(t))[link[:-1] == Link.LINE] < 0.5).all()
    there = view.marks["kind"] == Kind.COEXISTENCE
    assert there.any()
    assert view.marks["excess"][there] == pytest.approx(0, abs=1e-3)  # of the sampled curve beside the kink


def test_a_page_holds_all_that_it_needs_also_where_panel_is_loaded(result):
    """Panel puts files of its own among those of Bokeh."""
    importlib.import_module("panel")
    html, _ = page(view_of(result("sweep")), {}, "x.nc")
    assert "<script>" in html
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=\"(?!data:)", html)
