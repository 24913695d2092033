"""Sweeps in the memory load as labelled results: shape, events, files, threads, the paper's data."""

import threading

import numpy as np
import pytest
import xarray as xr

import hopfieldphase.runs.kappa as runs
from hopfieldphase.continuation.kappa import kappa_sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.data import schema, store
from hopfieldphase.data.events import COLUMNS
from hopfieldphase.data.summary import sweep_summary
from hopfieldphase.data.sweep_report import unconverged_points
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import sequence
from hopfieldphase.runs.kappa import sweep_kappa, sweep_kappa_tree
from hopfieldphase.runs.kappa_spec import KappaSpec
from hopfieldphase.runs.ranges import parse_grid

# of Γ, which is of order 10
ROUNDING = 1e-13
GRID = "0.15:0.35:0.05"
BETA = 60.0


def rows(count=3, **options):
    return [sequence("clustered", 16, seed=2, realization=k, **options) for k in range(count)]


@pytest.fixture(scope="module")
def tree():
    return sweep_kappa_tree(rows(), GRID, BETA, keep_states=True)


@pytest.fixture(scope="module")
def events(tree):
    return tree["events"].to_dataset(inherit=False)


def test_the_dataset_is_a_sweep_with_M_along_kappa(tree):
    dataset = tree.to_dataset()
    schema.check(dataset)
    assert dict(dataset.sizes) == {"realization": 3, "direction": 2, "kappa": 5, "component": 16}
    np.testing.assert_array_equal(dataset["M"], np.rint(np.exp(dataset["kappa"] * 16)))
    assert dataset["M"].dims == ("kappa",)
    assert all({"long_name", "units"} <= set(dataset[name].attrs) for name in dataset.variables)
    expected = {
        "alpha": 2.0, "beta": 60.0, "d": 16, "scale": 0.25, "kappas": GRID, "generator": "clustered",
        "clusters": 4, "delta": 0.04, "noise": "gaussian", "seed": 2, "realization": [0, 1, 2],
        "start_up": "mean", "start_down": "pattern:0", "solver": "auto", "tol": None, "polish": True,
    }  # fmt: skip
    assert {name: dataset.attrs[name] for name in expected} == expected


def test_every_realization_is_the_sweep_of_its_patterns(tree, events):
    dataset = tree.to_dataset()
    for k, row in enumerate(rows()):
        alone = kappa_sweep(HopfieldModel(row.take(int(dataset["M"][-1]))), dataset["kappa"].values, BETA)
        for name in schema.OBSERVABLES:
            np.testing.assert_array_equal(dataset[name][k], getattr(alone.sweep, name))
        for way, name in zip(alone.events, schema.DIRECTIONS, strict=True):
            own = events.isel(event=(events["realization"] == k) & (events["direction"] == name))
            np.testing.assert_array_equal(own["M"], way.M)
            np.testing.assert_array_equal(own["free_energy_before"], way.free_energy_before)
            np.testing.assert_allclose(own["kappa"], np.log(way.M) / 16, rtol=1e-15)
            assert set(own["kind"].values) == {"enters" if name == "up" else "leaves"}


def test_the_jumps_of_the_grid_are_those_of_the_events(tree, events):
    dataset = tree.to_dataset()
    assert events["jumped"].any()
    assert set(events.variables) == set(COLUMNS)
    np.testing.assert_array_equal(dataset["jump_M"] > 0, dataset["jumped"])
    M = dataset["M"].values
    for k in range(3):
        for way, name in enumerate(schema.DIRECTIONS):
            chosen = (events["realization"] == k) & (events["direction"] == name) & events["jumped"]
            jumps = events["M"].values[chosen.values]
            for n in range(1, M.size):
                inside = (
                    (jumps > M[n - 1]) & (jumps <= M[n])
                    if name == "up"
                    else (jumps >= M[n - 1]) & (jumps < M[n])
                )
                last = jumps[inside][-1] if inside.any() else 0
                assert dataset["jump_M"][k, way, n if name == "up" else n - 1] == last


@pytest.mark.parametrize("ending", ["zarr", "nc"])
def test_files_hold_the_sweep_at_the_root_and_its_events(tree, ending, tmp_path):
    store.write(tree, tmp_path / f"data.{ending}")
    back = store.open(tmp_path / f"data.{ending}")
    xr.testing.assert_identical(back, tree)
    opener = xr.open_zarr if ending == "zarr" else xr.open_dataset
    with opener(tmp_path / f"data.{ending}", group="events") as found:
        assert found.sizes == tree["events"].to_dataset(inherit=False).sizes
        assert found["pattern"].dtype == np.int64


def test_one_sequence_gives_no_realization():
    dataset = sweep_kappa(rows()[0], GRID, BETA)
    assert dataset["overlap_max"].dims == ("direction", "kappa")
    tree = sweep_kappa_tree(rows()[0], GRID, BETA)
    assert "realization" not in tree["events"].to_dataset(inherit=False)
    xr.testing.assert_identical(tree.to_dataset(), dataset)
    assert unconverged_points(dataset) == []


def test_without_events_the_group_is_there_and_empty(tmp_path):
    tree = sweep_kappa_tree(rows(1), "0.15:0.2:0.05", 1.0, 1.0)
    assert tree["events"].sizes["event"] == 0
    store.write(tree, tmp_path / "data.zarr")
    xr.testing.assert_identical(store.open(tmp_path / "data.zarr"), tree)


@pytest.mark.parametrize("starts", [{}, {"start_up": "continue"}, {"start_down": "continue"}])
def test_results_do_not_depend_on_threads(starts):
    one, other = (sweep_kappa_tree(rows(2), GRID, BETA, threads=n, **starts) for n in (1, 3))
    xr.testing.assert_identical(one, other)


def test_a_continued_sweep_starts_where_the_other_ends():
    dataset = sweep_kappa(rows(1), GRID, BETA, start_up="continue", keep_states=True)
    state = dataset["state"].isel(realization=0, kappa=0)
    np.testing.assert_array_equal(state.sel(direction="up"), state.sel(direction="down"))
    assert dataset.attrs["start_up"] == "continue"


@pytest.mark.parametrize("starts", [{}, {"start_down": "continue"}])
def test_progress_counts_sweeps_in_the_calling_thread(starts):
    calls = []
    sweep_kappa(
        rows(2),
        GRID,
        BETA,
        progress=lambda n, total: calls.append((n, total, threading.get_ident())),
        **starts,
    )
    assert {call[1:] for call in calls} == {(4, threading.get_ident())}
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert done[-1] == 4


def test_patterns_are_made_once_per_realization_and_fewer_threads_run_where_memory_is_short(monkeypatch):
    made, running, most = [], [0], [0]
    original, follow = HopfieldModel, runs.follow_load

    def model(patterns, alpha):
        made.append(patterns.shape)
        return original(patterns, alpha)

    def counted(*arguments):
        running[0] += 1
        most[0] = max(most[0], running[0])
        found = follow(*arguments)
        running[0] -= 1
        return found

    monkeypatch.setattr(runs, "HopfieldModel", model)
    monkeypatch.setattr(runs, "follow_load", counted)
    monkeypatch.setattr(runs, "most_patterns", lambda d: 270)
    sweep_kappa(rows(2), GRID, BETA, threads=4)
    assert made == [(270, 16)] * 2
    assert most[0] <= 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"kappas": "0.3:0.1:0.05"}, "reversed"),
        ({"kappas": ""}, "kappas is empty"),
        ({"kappas": [0.1, np.nan]}, "kappas"),
        ({"kappas": [-0.2, 0.1]}, "outside its domain"),
        ({"kappas": "0.1:3:0.1"}, "the memory of this machine holds"),
        ({"beta": -1.0}, "beta = -1"),
        ({"alpha": 0.0}, "alpha = 0"),
        ({"start_down": "pattern:500"}, "270 patterns"),
        ({"start_up": "continue", "start_down": "continue"}, "both"),
        ({"threads": 0}, "threads"),
        ({"sequences": []}, "at least one"),
        ({"sequences": [np.eye(3)]}, "ndarray is no sequence"),
        ({"sequences": [sequence("clustered", 16), sequence("clustered", 16, delta=0.1)]}, "sequence 1"),
        ({"sequences": [sequence("clustered", 16), sequence("spherical", 16)]}, "sequence 1"),
        ({"sequences": [sequence("spherical", 16), sequence("spherical", 15)]}, "sequence 1"),
    ],
)
def test_bad_input_is_one_line(arguments, word):
    given = {"sequences": rows(1), "kappas": GRID, "beta": BETA} | arguments
    with pytest.raises(InputError, match=word) as error:
        sweep_kappa(given.pop("sequences"), given.pop("kappas"), **given)
    assert "\n" not in str(error.value)


def test_a_spec_brings_its_options(tree):
    spec = KappaSpec(patterns={"d": 16, "seed": 2}, beta=BETA, kappas=GRID, realizations=3, keep_states=True)
    found = sweep_kappa_tree(spec)
    xr.testing.assert_equal(found, tree)
    expected = {"study": "sweep-kappa", "realizations": 3, "device": "cpu", "clusters": 4, "kappas": GRID}
    assert {name: found.attrs[name] for name in expected} == expected
    assert KappaSpec().kappas == parse_grid("0.06:0.19:0.005")
    for options in ({"beta": 10.0}, {"kappas": "0.1:0.2:0.1"}, {"start_up": np.zeros(16)}):
        with pytest.raises(InputError, match=f"{next(iter(options))} is given next to a spec"):
            sweep_kappa(spec, **options)


def test_the_paper_finds_hysteresis_in_sparse_retrieval_only():
    # Figures 4 and 5: d = 48, β = 180; three of their ten realizations.
    sequences = [sequence("clustered", 48, realization=k) for k in range(3)]
    sparse = sweep_kappa(sequences, "0.06:0.19:0.005", 180.0, 2.0)
    dense = sweep_kappa(sequences, "0.06:0.19:0.01", 180.0, 1.0)
    assert sparse["M"].values[[0, -1]].tolist() == [18, 9136]
    for dataset in (sparse, dense):
        assert (dataset["status"] == Status.CONVERGED).all()
        mean = dataset.mean(("realization", "direction"))
        # a new pattern lowers Γ of every state, or leaves it, and the state relaxes from there
        assert (dataset["free_energy"].sel(direction="up").diff("kappa") <= ROUNDING).all()
        assert mean["overlap_max"][-1] < mean["overlap_max"][0]
    assert sweep_summary(sparse)["hysteresis"]["realizations"] == 3
    assert sweep_summary(dense)["hysteresis"]["realizations"] == 0
    assert not dense["jumped"].any()
    # softmax spreads over all patterns, sparsemax stays on a few
    np.testing.assert_array_equal(dense["support_size"], dense["M"].broadcast_like(dense["support_size"]))
    assert (dense["ipr"] > 0.85 * dense["M"]).all()
    assert (sparse["ipr"] < 8).all()
    assert sparse["threshold_count"].mean(("realization", "direction"))[-1] > 100
