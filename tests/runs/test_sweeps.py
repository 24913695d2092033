"""`sweep_beta`: labels, options, threads, progress, refusals."""

import threading

import numpy as np
import pytest
import xarray as xr

from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import clustered, equicorrelated, spherical, two_keys
from hopfieldphase.core.status import Status
from hopfieldphase.data import patterns_io
from hopfieldphase.data.sweep_report import unconverged_points
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.sources import digest, make_patterns, resolve, suggest_betas
from hopfieldphase.runs.specs import PatternSpec, SweepSpec
from hopfieldphase.runs.sweeps import sweep_beta

BETAS = "40:200:40"
SPEC = SweepSpec(betas=BETAS, realizations=3, patterns={"M": 12, "d": 16})


@pytest.fixture(scope="module")
def dataset() -> xr.Dataset:
    return sweep_beta(SPEC)


def test_realizations_are_the_plain_sweeps_of_their_patterns(dataset):
    assert dict(dataset.sizes) == {"realization": 3, "direction": 2, "beta": 5}
    np.testing.assert_array_equal(dataset["beta"], [40, 80, 120, 160, 200])
    for k in range(3):
        plain = sweep(HopfieldModel(clustered(12, 16, realization=k)), dataset["beta"].values)
        for name in ("overlap_max", "ipr", "free_energy", "hessian_min", "status", "support_size"):
            np.testing.assert_array_equal(dataset[name].sel(realization=k), getattr(plain, name))


def test_attributes_hold_every_resolved_option(dataset):
    expected = {
        "study": "sweep-beta", "alpha": 2.0, "betas": BETAS, "realizations": 3, "start_up": "mean",
        "start_down": "pattern:0", "solver": "auto", "tol": None, "polish": True, "keep_states": False,
        "device": "cpu", "generator": "clustered", "M": 12, "d": 16, "seed": 0, "clusters": 4, "delta": 0.04,
        "noise": "gaussian",
    }  # fmt: skip
    assert {name: dataset.attrs[name] for name in expected} == expected


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_results_do_not_depend_on_the_number_of_threads(dataset, threads):
    xr.testing.assert_identical(sweep_beta(SPEC, threads=threads), dataset)


def test_a_list_of_models_is_a_study_of_realizations(dataset):
    models = [HopfieldModel(clustered(12, 16, realization=k)) for k in range(3)]
    several = sweep_beta(models, BETAS)
    assert several.sizes == dataset.sizes
    for name in dataset.data_vars:
        xr.testing.assert_equal(several[name], dataset[name])
    single = sweep_beta(models[1], BETAS)
    assert set(single.dims) == {"direction", "beta"}
    xr.testing.assert_equal(single["free_energy"], dataset["free_energy"].sel(realization=1, drop=True))
    assert sweep_beta(models[:1], BETAS).sizes["realization"] == 1


def test_states_are_kept_on_request_and_belong_to_the_observables(dataset):
    model = HopfieldModel(clustered(12, 16))
    kept = sweep_beta(model, BETAS, keep_states=True)
    for beta in (40.0, 200.0):
        for direction in ("up", "down"):
            point = kept.sel(beta=beta, direction=direction)
            # Γ of the stored state, computed anew: equal to the rounding of a sum of 16 terms.
            assert float(model.free_energy(point["state"].values, beta)) == pytest.approx(
                float(point["free_energy"]), rel=1e-13
            )
    assert "state" not in dataset


def test_a_given_start_state_is_the_start():
    model = HopfieldModel(clustered(12, 16))
    by_name = sweep_beta(model, BETAS, start_down="pattern:5")
    by_state = sweep_beta(model, BETAS, start_down=model.scale * np.asarray(model.patterns)[5])
    assert by_state.attrs["start_down"] == "a given state"
    xr.testing.assert_equal(by_name["free_energy"], by_state["free_energy"])


def test_progress_is_called_after_each_realization_by_the_calling_thread():
    calls = []
    sweep_beta(SPEC, progress=lambda done, total: calls.append((done, total, threading.get_ident())))
    assert calls == [(k, 3, threading.get_ident()) for k in (1, 2, 3)]


def test_without_progress_nothing_is_printed(capfd):
    sweep_beta(SPEC)
    assert capfd.readouterr() == ("", "")


def test_an_error_in_a_realization_reaches_the_caller():
    with pytest.raises(InputError, match="start"):
        sweep_beta([HopfieldModel(spherical(5, 4))] * 3, BETAS, start_up="pattern:5")


def test_an_error_in_progress_stops_the_sweep():
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep_beta(SPEC, progress=stop)


@pytest.mark.parametrize(
    ("models", "options", "complaint"),
    [
        ([], {"betas": BETAS}, "no model was given"),
        (
            [HopfieldModel(spherical(5, 4)), HopfieldModel(spherical(6, 4))],
            {"betas": BETAS},
            "model 1 has M = 6, but model 0 has 5",
        ),
        (
            [HopfieldModel(spherical(5, 4)), HopfieldModel(spherical(5, 4), 1.0)],
            {"betas": BETAS},
            "model 1 has alpha = 1.0",
        ),
        (HopfieldModel(spherical(5, 4)), {"betas": "3:1:1"}, "is reversed"),
        (HopfieldModel(spherical(5, 4)), {"betas": BETAS, "threads": 0}, "threads = 0"),
        (HopfieldModel(spherical(5, 4)), {"betas": BETAS, "solver": "adam"}, "solver = 'adam'"),
        (SPEC, {"betas": BETAS}, "betas is given next to a spec"),
        (SPEC, {"start_up": "best"}, "start_up is given next to a spec"),
        (SPEC, {"keep_states": True}, "keep_states is given next to a spec"),
        (SPEC, {"start_down": np.zeros(16)}, "start_down is given next to a spec"),
    ],
)
def test_wrong_arguments_are_one_line(models, options, complaint):
    with pytest.raises(InputError) as caught:
        sweep_beta(models, **options)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (PatternSpec(M=7, d=5, delta=0.5, noise="unit", seed=3), clustered(7, 5, 4, 0.5, 3, 2, "unit")),
        (PatternSpec(generator="spherical", M=7, d=5), spherical(7, 5, realization=2)),
        (PatternSpec(generator="two_keys", epsilon=0.3), two_keys(0.3, realization=2)),
        (PatternSpec(generator="equicorrelated", M=3, d=4, cosine=0.2), equicorrelated(3, 4, 0.2)),
    ],
)
def test_patterns_are_those_of_their_generator(spec, expected):
    np.testing.assert_array_equal(make_patterns(spec, 2), expected)


@pytest.mark.parametrize(
    ("name", "shape"), [("circulant", (5, 20)), ("heavy_tailed", (5, 64)), ("gaussian", (5, 64))]
)
def test_every_generator_is_within_reach(name, shape):
    assert make_patterns(PatternSpec(generator=name, M=5)).shape == shape


def test_a_file_is_resolved_by_its_numbers(tmp_path):
    stored = spherical(20, 8)
    files = [str(patterns_io.save(tmp_path / name, stored)) for name in ("a.npy", "b.csv")]
    first, second = (resolve(SweepSpec(patterns={"path": file})) for file in files)
    assert first.patterns.sha256 == second.patterns.sha256 == digest(stored)
    assert first.betas == second.betas == suggest_betas(stored, 2.0)
    assert first.fingerprint == second.fingerprint
    assert resolve(first) is first
    assert sweep_beta(SweepSpec(patterns={"path": files[0]}, betas="5,6")).attrs["M"] == 20
    patterns_io.save(files[0], 2 * stored)
    with pytest.raises(InputError, match="has changed since this spec was written"):
        sweep_beta(first)


def test_a_start_beyond_the_file_is_refused(tmp_path):
    file = str(patterns_io.save(tmp_path / "a.npy", spherical(20, 8)))
    with pytest.raises(InputError, match="there are 20 patterns"):
        resolve(SweepSpec(patterns={"path": file}, start_down="pattern:20"))


@pytest.mark.parametrize("alpha", [1.5, 2.0, 3.0])
def test_the_suggested_range_reaches_from_the_mean_state_to_a_stored_pattern(alpha):
    """Before its first value the mean state still holds many patterns; at its last a pattern is stored."""
    model = HopfieldModel(spherical(30, 12), alpha)
    found = sweep_beta(model)
    assert float(found["ipr"].sel(direction="up")[0]) > 15
    assert float(found["ipr"].sel(direction="down")[-1]) == pytest.approx(1.0, abs=1e-9)


def test_points_that_did_not_converge_are_named(dataset):
    broken = dataset.copy(deep=True)
    broken["status"][1, 0, 2] = Status.ITERATION_LIMIT
    broken["status"][1, 1, 3:] = Status.NO_PROGRESS
    broken["status"][2, 0, 0] = Status.BOUNDARY  # undecided, but converged
    broken["residual"][1, 0, 2] = np.nan
    points = unconverged_points(broken)
    assert [(p["realization"], p["direction"], p["beta"], p["status"], p["last_good"]) for p in points] == [
        (1, "up", 120.0, "iteration_limit", 80.0),
        (1, "down", 200.0, "no_progress", None),
        (1, "down", 160.0, "no_progress", None),
    ]
    assert points[0]["residual"] is None
    assert points[1]["residual"] == float(dataset["residual"][1, 1, 4])
    assert unconverged_points(dataset) == []
    assert unconverged_points(broken.isel(realization=1, drop=True))[0]["realization"] == 0
