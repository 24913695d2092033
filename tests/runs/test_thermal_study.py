"""Thermal attention as a study: the spec, the tree, the summary, the folder."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hopfieldphase.core.entmax import weights
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.thermal import Ensemble, thermal_lines, thermal_summary
from hopfieldphase.dynamics.thermal import (
    local_growth,
    normalisation_growth,
    thermal_attention,
    vertex_attention,
)
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.folder import DATA, claim_folder
from hopfieldphase.runs.sources import make_patterns
from hopfieldphase.runs.specs import PatternSpec
from hopfieldphase.runs.studies import compute
from hopfieldphase.runs.thermal import thermal
from hopfieldphase.runs.thermal_spec import ThermalSpec

SMALL = PatternSpec(generator="clustered", M=5, d=16)


def test_every_ensemble_at_every_beta():
    spec = ThermalSpec(alpha=1.5, betas=(3.0, 40.0), patterns=SMALL, query="pattern:3")
    tree = thermal(spec)
    data = tree.to_dataset()
    model = HopfieldModel(make_patterns(SMALL), 1.5)
    scores = model.overlaps(model.patterns[3])
    assert_allclose(data["score"], scores)
    for k, beta in enumerate(spec.betas):
        expected = {
            Ensemble.DETERMINISTIC: weights(scores, 1.5, beta),
            Ensemble.SOFTMAX: weights(scores, 1.0, beta),
            Ensemble.ESCORT_VERTICES: vertex_attention(scores, 1.5, beta).weights,
            Ensemble.GIBBS: thermal_attention(scores, 1.0, beta).weights,
            Ensemble.ESCORT: thermal_attention(scores, 1.5, beta).weights,
        }
        for name, p in expected.items():
            found = data.sel(ensemble=str(name)).isel(beta=k)
            assert_allclose(found["weights"], p, rtol=1e-12)
            assert_allclose(found["ipr"], 1 / np.sum(p**2), rtol=1e-12)
            assert_allclose(found["top_weight"], p[3], rtol=1e-12)
    assert tree["zero_temperature"]["growth"] == 0  # M − 1 = 4 > α/(α − 1) = 3


def test_ensembles_that_are_one_at_alpha_one_stand_once():
    data = thermal(ThermalSpec(alpha=1.0, betas=(1.0, 10.0), patterns=SMALL, query="mean")).to_dataset()
    assert data["ensemble"].values.tolist() == ["softmax", "Gibbs over the simplex"]
    assert "log_normalisation" not in data


def test_growth_belongs_to_alpha_above_one():
    data = thermal(ThermalSpec(alpha=0.7, betas=(1.0, 10.0), patterns=SMALL)).to_dataset()
    assert "growth" not in data
    assert bool(np.all(np.isfinite(data["log_normalisation"])))


@pytest.mark.parametrize(
    ("alpha", "concentrates"), [(0.5, True), (1.0, True), (1.2, True), (1.5, False), (2.0, False)]
)
def test_summary_says_whether_the_escort_average_concentrates(alpha, concentrates):
    tree = thermal(ThermalSpec(alpha=alpha, betas=(1.0, 1e4, 1e8), patterns=SMALL))
    summary = thermal_summary(tree)
    assert summary["concentrates"] is concentrates
    last = summary["ensembles"][-1]
    assert (last["limit"] == 1) is concentrates
    assert_allclose(last["top_weight"], last["limit"], atol=0.05)
    lines = thermal_lines(summary)
    assert max(map(len, lines)) <= 80
    assert "\n".join(lines).isascii()
    json.dumps(summary, allow_nan=False)


def test_half_weight_is_where_the_softmax_says():
    # Two patterns: the softmax is never below 1/2; five orthogonal ones: e^{βg} = 4.
    spec = ThermalSpec(
        alpha=1.0, betas="1:100:x1.02", patterns=PatternSpec(generator="equicorrelated", M=5, d=9)
    )
    softmax, gibbs = thermal_summary(thermal(spec))["ensembles"]
    assert_allclose(softmax["half_beta"], 3 * math.log(4), rtol=1e-4)
    assert gibbs["half_beta"] > softmax["half_beta"]


def test_ties_at_the_maximum_act_as_one_vertex():
    # Two directions lead away from the edge between the best two patterns.
    scores = np.array([1.0, 1.0, 0.2, 0.4])
    growth = local_growth(scores, 1.2, 1e10)
    assert_allclose(growth, normalisation_growth(1.2, 3), atol=1e-6)


def test_no_contrast_without_gaps():
    spec = ThermalSpec(
        alpha=1.5, betas=(1.0, 10.0), patterns=PatternSpec(generator="equicorrelated", M=1, d=8)
    )
    summary = thermal_summary(thermal(spec))
    assert summary["best"]["gap"] is None
    assert summary["growth"]["limit"] == 0
    assert not any("argmax" in line for line in thermal_lines(summary))


def test_the_folder_reads_back(tmp_path):
    spec = ThermalSpec(alpha=2.0, betas=(1.0, 10.0), patterns=SMALL)
    calls = []
    with claim_folder(tmp_path / "result"):
        summary = compute(spec, tmp_path / "result", progress=lambda *counts: calls.append(counts))
    assert calls == [(1, 2), (2, 2)]
    tree = store.open(tmp_path / "result" / DATA)
    assert thermal_summary(tree) == summary
    assert ThermalSpec.from_toml(tmp_path / "result" / "spec.toml") == spec


def test_spec_round_trip_and_headline(tmp_path):
    spec = ThermalSpec(alpha=1.5, query="mean", betas="1:100:x2")
    file = tmp_path / "spec.toml"
    file.write_text(spec.to_toml(), encoding="utf-8")
    assert ThermalSpec.from_toml(file) == spec
    assert spec.headline == "thermal attention: alpha 1.5, clustered, M 100, d 64, query mean, beta 1:64:x2"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": math.inf}, "alpha = inf"),
        ({"alpha": -1.0}, "alpha = -1"),
        ({"query": "best"}, "query = 'best'"),
        ({"query": "pattern:100"}, "there are 100 patterns"),
        ({"betas": "5:1:1"}, "betas"),
        ({"realization": 1, "patterns": PatternSpec(generator="equicorrelated", M=4)}, "no randomness"),
        ({"beta": 2.0}, "unknown key 'beta'; the nearest is 'betas'"),
    ],
)
def test_bad_input(options, words):
    with pytest.raises(InputError, match=words):
        ThermalSpec(**options)


def test_query_beyond_the_patterns_of_a_file(tmp_path):
    np.save(tmp_path / "keys.npy", np.eye(4))
    spec = ThermalSpec(patterns=PatternSpec(path=str(tmp_path / "keys.npy")), query="pattern:4", betas=(1.0,))
    with pytest.raises(InputError, match="there are 4 patterns"):
        thermal(spec)
