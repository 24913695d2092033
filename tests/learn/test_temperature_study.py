"""The temperature study: protocols, the phases of trained keys, and what they tell."""

import numpy as np
import pytest
import xarray as xr

from hopfieldphase.core.errors import InputError
from hopfieldphase.data.temperature import key_statistics, temperature_lines, temperature_summary
from hopfieldphase.learn.capacity import reliability
from hopfieldphase.learn.head_phases import key_phases
from hopfieldphase.learn.temperature_study import temperature
from hopfieldphase.learn.trained_keys import trained_keys
from hopfieldphase.learn.training import Training, train
from hopfieldphase.plotting.temperature import plot_temperature
from hopfieldphase.runs.temperature_spec import TemperatureSpec

pytestmark = pytest.mark.slow

TINY = TemperatureSpec(
    maps="softmax,sparsemax", tasks="uniform", betas="0.5,1,4", load=8, steps=3, examples=4, realizations=2,
    key_examples=1,
)  # fmt: skip


@pytest.fixture(scope="module")
def tree():
    return temperature(TINY)


def test_frozen_models_are_trained_at_one_and_matched_ones_at_each_beta(tree):
    data = tree["uniform"].to_dataset().sel(map="sparsemax", seed=1)
    for protocol, beta, trained_at in (("frozen", 4.0, 1.0), ("matched", 4.0, 4.0), ("matched", 1.0, 1.0)):
        trained = train(Training("uniform", 2.0, beta=trained_at, seed=1, steps=3))
        found = reliability(trained.model, trained.training.data, 8, beta=beta, examples=4)
        here = data.sel(protocol=protocol, beta=beta)
        assert float(here["relative_error"]) == pytest.approx(found.relative_error.mean(), rel=1e-12)
    frozen, matched = (data.sel(protocol=name, beta=1.0)["ipr"] for name in ("frozen", "matched"))
    assert float(frozen) == float(matched)


def test_phases_are_those_of_the_keys_of_each_head(tree):
    trained = train(Training("uniform", 2.0, seed=1, steps=3))
    batch = trained.training.data.evaluation_batch(0, 1, 8, 0.10)
    _, keys = trained.model.heads_of(batch.query, batch.keys)
    here = tree["uniform"].to_dataset().sel(map="sparsemax", seed=1).isel(example=0)
    for head in range(4):
        phases = key_phases(keys[0, head].double().numpy(), 2.0)
        assert float(here["coexistence"].isel(head=head)) == phases.coexistence
        assert float(here["second_minimum"].isel(head=head)) == phases.second_minimum


def test_learned_factors_shift_the_operating_point():
    trained = train(Training("uniform", 1.5, scaling="adaptive", steps=2, loads=(8,)))
    assert trained_keys(trained, 32, 1).factor == pytest.approx(trained.model.scaling(32).detach().numpy())


def test_summary_and_figure(tree):
    summary = temperature_summary(tree)
    assert np.shape(summary["uniform"]["matched"]["reliability"]) == (2, 3)
    assert all(len(line) <= 80 for line in temperature_lines(summary))
    axes = plot_temperature(tree)
    assert len(axes) == 4
    axes[0].figure.clear()


def _data(frozen, coexistence):
    """Two models (map, seed) = (1, 2), three β, one example and head."""
    return xr.Dataset(
        {
            "value_correct": (("protocol", "map", "seed", "beta"), frozen),
            "coexistence": (("map", "seed", "example", "head"), coexistence),
            "second_minimum": (("map", "seed", "example", "head"), np.full((1, 2, 1, 1), 0.9)),
            "instability": (("map", "seed", "example", "head"), np.full((1, 2, 1, 1), np.inf)),
            "factor": (("map", "seed", "head"), np.ones((1, 2, 1))),
        },
        {"protocol": ["frozen"], "map": ["softmax"], "seed": [0, 1], "beta": [1.0, 2.0, 4.0]},
    )


def test_rank_correlation_of_what_falls_with_the_distance():
    accuracy = np.array([[[[1.0, 0.9, 0.8], [1.0, 0.95, 0.85]]]])
    found = key_statistics(_data(accuracy, np.array([[[[1.0]], [[1.2]]]])), "selective")
    assert found["rank_correlation"]["signed"]["value"] == pytest.approx(1)
    assert found["trained_inside"] == [1.0]
    constant = key_statistics(_data(np.ones((1, 1, 2, 3)), np.ones((1, 2, 1, 1))), "selective")
    assert constant["rank_correlation"]["signed"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"betas": "2,4"}, "betas = 2,4 lacks 1"),
        ({"protocols": "warm"}, "protocols has 'warm': use frozen, matched"),
        ({"load": 10}, "load has 10 memories"),
        ({"betas": "0,1"}, "betas = 0,1 contains 0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        TemperatureSpec(**options)
