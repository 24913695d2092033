"""The studies of what attention maps do: numbers, words, figures, folders, wrong options."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hopfieldphase as hp
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.runs.folder import DATA, claim_folder
from hopfieldphase.runs.studies import STUDIES, compute, load

SMALL = {
    "simplex-maps": {"points": 41},
    "dispersion": {"lengths": "2,10,50,200,1000,5000", "draws": 3},
    "regression": {"keys": 120, "queries": 91, "temperatures": "0.001,0.01,0.1"},
    "smoothness": {"alphas": "1.25,1.5,2,3"},
}


def spec_of(name, **options):
    return load(STUDIES[name].spec)(**options)


@pytest.fixture(scope="module")
def trees():
    return {name: hp.study(spec_of(name, **options)) for name, options in SMALL.items()}


@pytest.mark.parametrize("name", SMALL)
def test_words_and_plain_values(trees, name):
    summary = trees[name].hp.summary()
    json.dumps(summary, allow_nan=False)
    assert summary["unconverged"] == []
    lines = load(STUDIES[name].lines)(summary)
    assert max(map(len, lines)) <= 80
    assert "\n".join(lines).isascii()


@pytest.mark.parametrize("name", SMALL)
def test_the_folder_reads_back(tmp_path, name):
    study, spec = STUDIES[name], spec_of(name, **SMALL[name])
    with claim_folder(tmp_path / "result"):
        summary = compute(spec, tmp_path / "result")
    assert load(study.summary)(store.open(tmp_path / "result" / DATA)) == summary
    assert type(spec).from_toml(tmp_path / "result" / "spec.toml") == spec


EXTREME = [
    ("simplex-maps", {"alpha": 1.01, "points": 9}),
    ("simplex-maps", {"k": 1, "p": 1.0, "caps": 0.5, "points": 15}),
    ("dispersion", {"lengths": "2,3,5,9", "draws": 1, "relevant": 1}),
    ("dispersion", {"lengths": "2,30,500,900", "draws": 2, "alpha": 1.01, "spread": 0.001}),
    ("dispersion", {"lengths": "2,30,500,900", "draws": 2, "spread": 100.0, "slope": 100.0, "context": 2}),
    ("regression", {"temperature": 1e-6, "keys": 8, "queries": 8}),
    ("regression", {"temperature": 1e3, "keys": 20, "queries": 9, "temperatures": "0.1,1000"}),
    ("regression", {"concentration": 0.0, "noise": 0.0, "keys": 30, "dimensions": "3"}),
    ("smoothness", {"alphas": "1.05,20", "alpha": 1.01, "k": 1, "p": 0.01, "caps": 0.26}),
]


@pytest.mark.parametrize(("name", "options"), EXTREME)
def test_extreme_options_have_plain_summaries(name, options):
    tree = hp.study(spec_of(name, **options))
    summary = tree.hp.summary()
    json.dumps(summary, allow_nan=False)
    assert summary["unconverged"] == []
    assert max(map(len, load(STUDIES[name].lines)(summary))) <= 80
    tree.hp.plot()


def test_simplex_figure_shows_the_numbers(trees):
    tree = trees["simplex-maps"]
    axes = tree.hp.plot()
    pair = tree["pair"].to_dataset()
    for line, name in zip(axes[0].get_lines(), pair["map"].values, strict=True):
        assert_allclose(line.get_ydata(), pair["weight"].sel(map=name))
    top_k = axes[2 + pair["map"].values.tolist().index("top-k")]
    assert [len(line.get_xdata()) > 0 for line in top_k.get_lines()] == [False, True]  # jumps only
    maps = {one["name"]: one for one in tree.hp.summary()["maps"]}
    assert maps["softmax"]["supports"] == [0, 0, 1]
    assert maps["top-k"]["supports"] == [0, 1, 0]
    assert maps["entmax"]["jump"] == maps["sparsemax"]["jump"] == 0 < maps["top-p"]["jump"]


def test_dispersion_against_its_closed_forms(trees):
    tree = trees["dispersion"]
    summary = tree.hp.summary()
    maps = {one["name"]: one for one in summary["maps"]}
    for one in maps.values():
        assert one["gap_error"] is None or one["gap_error"] < 1e-10
        assert one["isolation_error"] is None or one["isolation_error"] < 1e-10
    assert maps["entmax"]["isolation"] == pytest.approx(1, rel=1e-10)
    assert maps["sparsemax"]["isolation"] == pytest.approx(0.25, rel=1e-10)
    assert [name for name, one in maps.items() if one["isolation"] is None] == [
        "softmax", "yarn-softmax", "scalable-softmax"
    ]  # fmt: skip
    # at gap 1 and slope 1: kn/(kn + n − k)
    n = summary["length"]
    assert_allclose(maps["scalable-softmax"]["mass"], 4 * n / (5 * n - 4), rtol=1e-12)
    for name in ("entmax", "sparsemax", "top-k"):
        assert maps[name]["unmoved"] < 1e-15  # rounding of sums in another order
    assert maps["softmax"]["unmoved"] is maps["asentmax"]["unmoved"] is None
    assert_allclose(maps["entmax"]["level_entropy"], math.log(4) / math.log(n), rtol=1e-12)
    # supports of 3 draws of 5000 scores fluctuate by about their root
    for name in ("entmax", "sparsemax", "asentmax"):
        expected = maps[name]["expected_support"]
        assert abs(maps[name]["support"] - expected) < 4 * math.sqrt(expected)


def test_dispersion_figure_shows_the_numbers(trees):
    data = trees["dispersion"].to_dataset()
    axes = trees["dispersion"].hp.plot()
    assert_allclose(axes[0].get_lines()[0].get_ydata(), data["entropy"].sel(map="softmax").mean("draw"))
    assert (data["entropy"].sel(map="softmax") >= data["least_entropy"]).all()
    assert (data["least_entropy"] >= data["entropy_bound"]).all()


def test_regression_numbers(trees):
    tree = trees["regression"]
    summary = tree.hp.summary()
    for one in summary["kernels"]:
        assert one["identity"] < 1e-12
    assert [one["alpha"] for one in summary["kernels"]] == [2, 1.5, 1 + 1 / 3, 1]
    assert abs(summary["limit_exponent"] + 1) < 0.02
    data = tree.to_dataset()
    # bandwidths are smallest where keys are dense
    middle = data["bandwidth"].sel(angle=0, method="nearest")
    outside = data["bandwidth"].sel(angle=[-math.pi, math.pi], method="nearest").mean("angle")
    assert (middle < outside)[:3].all()
    axes = tree.hp.plot()
    assert_allclose(axes[1].get_lines()[0].get_ydata(), data["bandwidth"].sel(kernel="epanechnikov"))


def test_smoothness_numbers(trees):
    summary = trees["smoothness"].hp.summary()
    assert [one["class"] for one in summary["exponents"]] == [3, 1, 0, 0]
    assert summary["worst"] < 1e-3
    classes = {one["map"]: one["class"] for one in reversed(summary["crossings"])}
    assert classes == {
        "softmax": 3, "linear-elu": 1, "entmax-4/3": 2, "entmax": 1, "sparsemax": 0, "normmax": 0,
        "constrained-softmax": 0, "constrained-sparsemax": 0, "capped-entmax": -1, "top-k": -1, "top-p": -1,
    }  # fmt: skip
    ax = trees["smoothness"].hp.plot()[1]
    fitted = next(line for line in ax.get_lines() if line.get_label() == "fitted")
    assert_allclose(fitted.get_ydata(), trees["smoothness"].to_dataset()["exponent"])


def test_draws_depend_on_the_seed_alone():
    first, second = (
        hp.study(spec_of("dispersion", lengths=lengths, draws=2))
        for lengths in ("2,10,50,200", "10,50,200,400")
    )
    same = {"length": [10, 50, 200]}
    assert np.array_equal(first["entropy"].sel(same), second["entropy"].sel(same))


def test_near_two_the_exponent_is_not_resolved():
    (one,) = hp.study(spec_of("smoothness", alphas="1.98")).hp.summary()["exponents"]
    assert (one["class"], one["expected_class"]) == (0, 1)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("simplex-maps", {"k": 3}, "k = 3"),
        ("simplex-maps", {"caps": 0.4}, "caps = 0.4"),
        ("simplex-maps", {"points": 5000}, "points = 5000"),
        ("simplex-maps", {"alpha": 1.0}, "alpha = 1"),
        ("dispersion", {"lengths": "2,5"}, "lengths has 2 values"),
        ("dispersion", {"lengths": "2,5,10,100000000000"}, "more than"),
        ("dispersion", {"mass": 1.0}, "mass = 1"),
        ("dispersion", {"relevant": 10**6}, "hold 0.9 already"),
        ("regression", {"temperature": 0.0}, "temperature = 0"),
        ("regression", {"temperatures": "1e-9,1"}, "temperatures reach"),
        ("regression", {"keys": 10**6}, "keys = 1000000"),
        ("smoothness", {"alphas": "0.5,2"}, "alphas = 0.5"),
        ("smoothness", {"alphas": "1.5,50"}, "alphas = 50"),
        ("smoothness", {"k": 4}, "k = 4"),
        ("smoothness", {"cap": 0.5}, "unknown key 'cap'; the nearest is 'caps'"),
    ],
)
def test_bad_input(name, options, words):
    with pytest.raises(InputError, match=words):
        spec_of(name, **options)
