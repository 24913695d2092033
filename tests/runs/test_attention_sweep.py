"""Sweeps and branches of attention maps as studies: specs, datasets, summaries, words."""

import subprocess
import sys
import tomllib

import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.continuation.map_sweep import sweep_map
from hopfieldphase.core.attention import (
    CappedEntmax,
    LengthScaled,
    LinearElu,
    Logarithmic,
    LogElu,
    PositiveKernel,
    SquaredElu,
    TopK,
)
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import schema, store
from hopfieldphase.data.map_branches import map_branches_lines, map_branches_summary
from hopfieldphase.data.summary import dataset_hysteresis, summary_lines, sweep_summary
from hopfieldphase.data.sweep_report import sweep_report
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.attention_spec import PARAMETERS, REQUIRED, describe_attention, make_attention
from hopfieldphase.runs.map_branches import map_branches
from hopfieldphase.runs.map_branches_spec import MapBranchesSpec
from hopfieldphase.runs.specs import AttentionSpec, PatternSpec, SweepSpec

SMALL = PatternSpec(M=20, d=8)
VALUES = {"k": 4, "p": 0.8, "alpha": 1.5, "gamma": 2.0, "budget": 1.0, "caps": 0.5}
ENERGY = {"free_energy", "hessian_min"}
STABILITY = {"spectral_radius", "eigenvalue_real", "eigenvalue_imag"}


def options_of(name):
    return {key: VALUES[key] for key, value in PARAMETERS[name].items() if value is REQUIRED}


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_name_makes_the_map_of_that_name(name):
    spec = AttentionSpec(name=name, **options_of(name))
    attention = make_attention(spec.model_dump(exclude_none=True))
    assert attention.name == name
    assert attention.weights(np.linspace(-1, 1, 6)).sum() == pytest.approx(1.0)
    described = describe_attention(attention)
    assert described["name"] == name
    assert described.items() >= options_of(name).items()


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_sweep_of_every_map_is_verified(name):
    spec = SweepSpec(
        attention={"name": name, **options_of(name)}, patterns=SMALL, betas="20:80:20", realizations=1
    )
    data = hp.sweep_beta(spec)
    schema.check(data)
    assert (data["status"] == 0).all()
    assert data.data_vars.keys() >= STABILITY
    attention = make_attention(spec.attention.model_dump(exclude_none=True))
    assert (data.data_vars.keys() >= ENERGY) == attention.has_conjugate
    assert float(data["residual"].max()) < 2e-12
    if attention.has_conjugate:
        np.testing.assert_allclose(data["hessian_min"], 1 - data["spectral_radius"], atol=1e-12)


def test_a_spec_goes_to_toml_and_back():
    for attention in ("log-elu", {"name": "top-k", "k": 8}, AttentionSpec(name="capped-entmax", k=4)):
        spec = SweepSpec(attention=attention, patterns=SMALL)
        assert spec.alpha is None
        again = SweepSpec(**tomllib.loads(spec.to_toml()))
        assert (again, again.fingerprint) == (spec, spec.fingerprint)
    others = {
        SweepSpec().fingerprint,
        SweepSpec(attention="log-elu").fingerprint,
        SweepSpec(attention={"name": "top-k", "k": 8}).fingerprint,
        SweepSpec(attention={"name": "top-k", "k": 9}).fingerprint,
    }
    assert len(others) == 4
    spec = MapBranchesSpec(attention="log-elu", patterns=SMALL, betas="20:80:20")
    assert MapBranchesSpec(**tomllib.loads(spec.to_toml())) == spec
    assert (spec.reference, spec.count) == (60.0, 10)


def test_without_attention_a_spec_is_what_it_was():
    assert "attention" not in SweepSpec().to_toml()
    assert SweepSpec().alpha == 2.0


def test_checking_a_spec_needs_no_numpy():
    code = (
        "import sys; from hopfieldphase.runs.specs import SweepSpec; "
        "from hopfieldphase.runs.map_branches_spec import MapBranchesSpec; "
        "SweepSpec(attention={'name': 'top-k', 'k': 8}); MapBranchesSpec(attention='log-elu'); "
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention": "logelu"}, "attention = 'logelu' is unknown; the nearest is 'log-elu'"),
        ({"attention": "top-k"}, "top-k attention needs k"),
        ({"attention": {"name": "top-k", "k": 0}}, "k = 0 is not a whole number"),
        ({"attention": {"name": "top-p", "p": 1.5}}, r"p = 1.5 is outside its domain \(0, 1\]"),
        ({"attention": {"name": "log-elu", "k": 3}}, "k does not apply to log-elu attention"),
        ({"attention": {"name": "top-k", "k": 3, "kk": 1}}, "unknown key 'kk'; the nearest is 'k'"),
        ({"attention": "log-elu", "alpha": 2.0}, "alpha = 2.0 and attention = log-elu are both given"),
        ({"attention": "log-elu", "solver": "newton"}, "solver = newton does not apply"),
        ({"attention": "log-elu", "polish": False}, "polish = False does not apply"),
        ({"attention": "log-elu", "patterns": PatternSpec(generator="digits")}, "betas is not given"),
    ],
)
def test_a_wrong_spec_is_named(options, message):
    with pytest.raises(InputError, match=message):
        SweepSpec(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "attention is not given"),
        ({"attention": "log-elu", "alpha": 2.0}, "both given"),
        ({"attention": "log-elu", "at": 500.0}, "lies outside the range"),
        ({"attention": "log-elu", "betas": "5"}, "betas has one value"),
        ({"attention": "log-elu", "top": 0}, "top = 0"),
        ({"attention": "log-elu", "patterns": PatternSpec(generator="digits")}, "betas is not given"),
        ({"attention": "log-elu", "realization": 1, "patterns": PatternSpec(generator="digits")}, "realiz"),
    ],
)
def test_a_wrong_spec_of_branches_is_named(options, message):
    with pytest.raises(InputError, match=message):
        MapBranchesSpec(**options)


def test_maps_without_a_name_are_described_too():
    kernel = PositiveKernel(np.exp, np.exp)
    assert describe_attention(kernel)["function"] == "exp"
    inner = describe_attention(TopK(3))
    assert inner == {"name": "top-k", "k": 3, "inner": {"name": "entmax", "alpha": 1.0}}
    scaled = describe_attention(LengthScaled(CappedEntmax(2), Logarithmic(2.0)))
    assert scaled["scaling"] == {"name": "Logarithmic", "slope": 2.0}


def test_models_and_their_spec_give_the_same_data():
    spec = SweepSpec(attention="log-elu", patterns=SMALL, betas="20:80:10", realizations=2)
    of_spec = hp.sweep_beta(spec)
    models = [
        HopfieldModel(hp.patterns.clustered(20, 8, realization=i), attention=LogElu()) for i in range(2)
    ]
    of_models = hp.sweep_beta(models, "20:80:10")
    assert of_models.attrs["attention"] == of_spec.attrs["attention"] == {"name": "log-elu"}
    assert "alpha" not in of_spec.attrs
    for name in of_spec.data_vars:
        np.testing.assert_array_equal(of_spec[name], of_models[name])
    single = hp.sweep_beta(models[0], "20:80:10")
    assert "realization" not in single.dims


def test_models_of_one_study_have_one_map():
    first, second = (HopfieldModel(np.eye(4), attention=attention) for attention in (LogElu(), LinearElu()))
    with pytest.raises(InputError, match="model 1 has attention"):
        hp.sweep_beta([first, second], "1:3:1")
    with pytest.raises(InputError, match="betas is not given"):
        hp.sweep_beta(first)
    with pytest.raises(InputError, match="solver = newton does not apply"):
        hp.sweep_beta(first, "1:3:1", solver="newton")


def test_data_without_energy_are_kept_and_read(tmp_path):
    spec = SweepSpec(attention="squared-elu", patterns=SMALL, betas="20:80:20", realizations=2)
    data = hp.sweep_beta(spec)
    assert not ENERGY & data.data_vars.keys()
    for name in STABILITY:
        assert {"long_name", "units"} <= data[name].attrs.keys()
    store.write(data, tmp_path / "data.zarr")
    again = store.open(tmp_path / "data.zarr")
    assert again.identical(data)
    with pytest.raises(InputError, match="eigenvalue_imag is missing"):
        schema.check(data.drop_vars("eigenvalue_imag"))
    with pytest.raises(InputError, match="free_energy is missing"):
        schema.check(data.drop_vars(STABILITY))


def test_without_energy_the_overlaps_alone_show_hysteresis():
    model = HopfieldModel(2 * hp.patterns.gaussian(12, 6, seed=5), scale=1.0, attention=SquaredElu())
    betas = np.linspace(1.5, 4.0, 51)
    data = hp.sweep_beta(model, betas, start_down="pattern:1")
    plain = sweep_map(model, betas, start_down="pattern:1")
    apart = np.abs(np.diff(plain.overlap_max, axis=0)[0]) > 1e-3 * plain.overlap_max.max()
    (loop,) = dataset_hysteresis(data)
    inside = np.zeros(betas.size, bool)
    for interval in loop.intervals:
        inside[interval.first : interval.last + 1] = True
    np.testing.assert_array_equal(inside, apart)


def test_the_summary_says_what_there_is():
    spec = SweepSpec(attention="log-elu", patterns=SMALL, betas="20:80:20", realizations=2)
    data = hp.sweep_beta(spec)
    summary = sweep_report(data)
    assert summary["model"]["attention"] == {"name": "log-elu"}
    assert "alpha" not in summary["model"]
    assert summary["stability"]["free_energy"] is False
    assert summary["stability"]["spectral_radius"] == float(data["spectral_radius"].max())
    text = "\n".join(summary_lines(summary))
    assert "log-elu, M = 20, d = 8" in text
    assert "in z_max by more than" in text
    assert "verified attracting fixed points of the" in text
    assert max(map(len, text.splitlines())) <= 80
    with_energy = sweep_summary(hp.sweep_beta(SweepSpec(
        attention={"name": "top-k", "k": 3}, patterns=SMALL, betas="20:80:20", realizations=1
    )))  # fmt: skip
    lines = "\n".join(summary_lines(with_energy))
    assert "top-k (k = 3)" in lines
    assert "in Gamma or z_max" in lines
    assert "verified minima of the free energy" in lines


def test_a_sweep_of_cycles_names_them():
    decreasing = PositiveKernel(lambda z: np.exp(-z), lambda z: -np.exp(-z))
    model = HopfieldModel(np.eye(2), scale=1.0, attention=decreasing)
    summary = sweep_report(hp.sweep_beta(model, [1.0, 3.0, 4.0], start_up=np.array([0.6, 0.4])))
    assert summary["statuses"]["limit_cycle"] >= 2
    assert {point["status"] for point in summary["unconverged"]} == {"limit_cycle"}
    assert max(map(len, summary_lines(summary))) <= 80
    only_cycles = sweep_report(hp.sweep_beta(model, [3.0, 4.0], start_up=np.array([0.6, 0.4])))
    assert only_cycles["stability"]["spectral_radius"] is None
    assert summary_lines(only_cycles)


def test_branches_become_a_tree_and_words(tmp_path):
    spec = MapBranchesSpec(
        attention={"name": "entmax", "alpha": 1.5}, patterns=SMALL, betas="20:120:5", top=3
    )
    tree = map_branches(spec)
    store.write(tree, tmp_path / "data.zarr")
    again = store.open(tmp_path / "data.zarr")
    summary = map_branches_summary(again)
    assert summary == map_branches_summary(tree) == tree.hp.summary()
    assert summary["coexistence"] is not None
    assert summary["unconverged"] == []
    points, special = tree["points"].to_dataset(), tree["special_points"].to_dataset()
    place = special["point"].values
    np.testing.assert_array_equal(points["beta"].values[place], special["beta"].values)
    folds = [point for point in summary["special_points"] if point["kind"] == "fold"]
    assert folds
    for fold in folds:
        rows = np.flatnonzero(special["beta"].values == fold["beta"])
        assert float(points["spectral_radius"][place[rows[0]]]) == pytest.approx(1.0, abs=1e-6)
    lines = map_branches_lines(summary)
    assert max(map(len, lines)) <= 80
    assert any("fold at beta" in line for line in lines)
    assert len(tree.hp.plot()) == 2


def test_branches_without_energy_have_none():
    tree = map_branches(MapBranchesSpec(attention="log-elu", patterns=SMALL, betas="20:120:20"))
    assert "free_energy" not in tree["points"]
    summary = map_branches_summary(tree)
    assert summary["coexistence"] is None
    assert "no free energy" in " ".join(map_branches_lines(summary))


def test_coexistence_of_branches_is_told():
    spec = MapBranchesSpec(
        attention="exponential", patterns=PatternSpec(M=30, d=16, seed=1), at=150.0, betas="40:400:10"
    )
    tree = map_branches(spec)
    summary = map_branches_summary(tree)
    assert len(summary["coexistence"]) == tree["coexistence"].sizes["crossing"] == 5
    assert sum(point["equilibrium"] for point in summary["coexistence"]) >= 1
    lines = map_branches_lines(summary)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("coexistence branches") for line in lines)
