"""The studies of random and of equidistant patterns: specs, labelled data, summaries, result folders."""

import json
import math
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from hopfieldphase.core.closed_forms import annealed_fold, exact_storage_probability, rem_threshold
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import spherical
from hopfieldphase.data import store
from hopfieldphase.data.large_d import large_d_lines, large_d_summary
from hopfieldphase.data.order import order_lines, order_summary
from hopfieldphase.phases.retrieval import margin_onset, retrieval_fold
from hopfieldphase.runs.folder import claim_folder
from hopfieldphase.runs.large_d import large_d
from hopfieldphase.runs.large_d_spec import LargeDSpec
from hopfieldphase.runs.order import order
from hopfieldphase.runs.order_spec import OrderSpec
from hopfieldphase.runs.specs import SweepSpec
from hopfieldphase.runs.studies import compute

pytestmark = pytest.mark.slow

SWEEPS = Path(__file__).parents[2] / "sweeps"

# Folds and states there, on the arms of which the order of sums may differ: 1e-8 where λ_min = 0 is met as a
# square root.
ROUNDING = 1e-7

SMALL = LargeDSpec(
    d=12, M=30, instances=12, loads="12,60", load_instances=4, storage_M="20,50", storage_d="6,10", trials=60,
    dimensions="12,16,20", scaling_instances=6,
)  # fmt: skip
FEW = OrderSpec(M="2,3,5", alphas="0.2:4:0.1", checks="0.5,1.5,2.5,3.5")


@pytest.fixture(scope="module")
def large():
    return large_d(SMALL)


@pytest.fixture(scope="module")
def few():
    return order(FEW)


# Specs


@pytest.mark.parametrize(
    ("name", "kind"), [("large-d", LargeDSpec), ("order", OrderSpec), ("softmax-loop", SweepSpec)]
)
def test_study_files_hold_every_option(name, kind):
    path = SWEEPS / f"{name}.toml"
    spec = kind.from_toml(path)
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    quick = given.pop("reduced")
    reduced = kind.from_toml(path, reduced=True)
    assert {name for name in kind.model_fields if getattr(reduced, name) != getattr(spec, name)} == set(quick)
    if kind is not SweepSpec:
        assert set(given) == set(kind.model_fields)
        assert spec == kind()
    assert kind(**tomllib.loads(spec.to_toml())) == spec
    assert path.read_text(encoding="utf-8").startswith("# ")


def test_checking_a_spec_loads_no_numpy():
    code = (
        "import sys; from hopfieldphase.runs.large_d_spec import LargeDSpec as A; "
        "from hopfieldphase.runs.order_spec import OrderSpec as B; A().headline; B().headline; "
        "print([m for m in ('numpy', 'scipy', 'xarray', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_the_headline_counts_what_is_done():
    assert SMALL.headline.startswith("folds of 20 pattern sets in d = 12, storage in 60 sets a point")
    assert "measured at 4 alphas" in FEW.headline


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"storage_M": "20,50,90"}, "storage_M has 3 values and storage_d 2"),
        ({"dimensions": "16"}, "a slope needs at least two"),
        ({"kappa": 0.05}, "makes 2 patterns in d = 12"),
        ({"kappa": 0.9}, "more than 20000 patterns"),
        ({"loads": "20.5"}, "an entry of loads = 20.5"),
        ({"instance": 3}, "the nearest is 'instances'"),
        ({"trials": 0}, "trials = 0"),
    ],
)
def test_bad_options_of_large_d(options, message):
    with pytest.raises(InputError, match=message) as error:
        LargeDSpec(**(SMALL.model_dump() | options))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checks": "1,2"}, "checks contains 2"),
        ({"M": "1,3"}, "an entry of M = 1"),
        ({"M": "3,50"}, "more than 30"),
        ({"alphas": "1"}, "alphas has one value"),
        ({"cosine": -0.5}, "below -1/"),
    ],
)
def test_bad_options_of_order(options, message):
    with pytest.raises(InputError, match=message):
        OrderSpec(**options)


# Random patterns


def test_folds_are_those_of_single_pattern_sets(large):
    folds = large["folds"].to_dataset()
    assert folds["M"].values.tolist() == [12] * 4 + [30] * 12 + [60] * 4
    for i in (0, 7, 19):
        alone = retrieval_fold(spherical(int(folds["M"][i]), 12, 0, i))
        np.testing.assert_allclose(folds["fold"][i], alone.b, rtol=ROUNDING)
    lines = large["fold_lines"].to_dataset()
    assert float(lines["annealed"].sel(M_line=30)) == annealed_fold(30, 12)
    assert float(lines["rem"].sel(M_line=30)) == 12 * rem_threshold(math.log(30) / 12)


def test_storage_counts_follow_the_closed_form(large):
    data = large["storage"].to_dataset()
    assert data.sizes == {"setting": 4, "point": 7, "line": 61}
    assert int(data["disagreements"].sum()) == 0
    one = data.isel(setting=3, point=2)
    expected = exact_storage_probability(50, 10, float(one["b"]), 2.0)
    assert float(one["probability"]) == pytest.approx(expected, rel=1e-12)
    assert float(one["probability"]) == pytest.approx(0.25, rel=1e-9)
    summary = large_d_summary(large)["storage"]
    assert summary["largest_z"] < 4
    assert summary["chi_square"] < 2  # 28 independent points: 3.8 standard deviations above 1
    assert (data["by_relaxation"].diff("point") >= -12).all()  # grows up to the scatter of 60 sets


def test_scaling_keeps_each_set(large):
    data = large["scaling"].to_dataset()
    assert data["M"].values.tolist() == [round(math.exp(0.25 * d)) for d in (12, 16, 20)]
    first = 20 + 28 * 60
    patterns = spherical(55, 16, 0, first + 6)  # the first set of the second dimension
    assert float(data["softmax"][1, 0]) == pytest.approx(retrieval_fold(patterns).b, rel=ROUNDING)
    assert float(data["margin"][1, 0, 0]) == margin_onset(patterns, 1.5)
    # Both onsets are one margin, in units of α/(α − 1).
    np.testing.assert_allclose(
        data["margin"].sel(alpha=1.5) / 3, data["margin"].sel(alpha=2.0) / 2, rtol=1e-12
    )
    exponents = large_d_summary(large)["scaling"]["exponents"]
    assert exponents["softmax"]["far"] > 1.9
    assert exponents["alpha 2"]["far"] < 1.05
    assert exponents["softmax"]["simulated"] > exponents["alpha 2"]["simulated"] + 0.3
    assert large_d_summary(large)["scaling"]["onset_deviation"] < 1e-4


def test_a_contradiction_is_reported(large):
    wrong = large.copy(deep=True)
    storage = wrong["storage"].to_dataset()
    wrong["storage"] = xr.DataTree(
        storage.assign(
            by_relaxation=storage["by_relaxation"].copy(data=storage["by_relaxation"].values[:, ::-1]),
            disagreements=storage["disagreements"] + 1,
        )
    )
    failures = large_d_summary(wrong)["unconverged"]
    assert any("standard errors from the closed form" in text for text in failures)
    assert any("tell differently in 28" in text for text in failures)
    folds = wrong["folds"].to_dataset()
    wrong["folds"] = xr.DataTree(folds.assign(end=folds["end"].where(folds["M"] != 12, "limit")))
    assert sum("ends at a limit" in text for text in large_d_summary(wrong)["unconverged"]) == 4


def test_results_do_not_depend_on_threads(large):
    again = large_d(SMALL, threads=1)
    for name in ("folds", "storage", "scaling"):
        xr.testing.assert_allclose(again[name].to_dataset(), large[name].to_dataset(), rtol=ROUNDING, atol=0)


def test_progress_counts_every_task():
    seen = []
    order(OrderSpec(M="2", checks="1,1.5"), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]


# Equidistant patterns


def test_order_is_measured_and_summed_up(few):
    summary = order_summary(few)
    assert summary["unconverged"] == []
    assert summary["checks"]["worst"] < 1e-9
    assert [size["M"] for size in summary["sizes"]] == [2, 3, 5]
    pair, three, _ = summary["sizes"]
    np.testing.assert_allclose(pair["first_order"], [[2.1, 2.9]])
    np.testing.assert_allclose(three["first_order"], [[0.2, 1.9], [2.1, 4.0]])
    assert max(map(len, order_lines(summary))) <= 80


def test_a_deviation_is_reported(few):
    wrong = few.copy(deep=True)
    checks = wrong["checks"].to_dataset()
    wrong["checks"] = xr.DataTree(checks.assign(deviation=checks["deviation"] + 1e-6))
    summary = order_summary(wrong)
    assert len(summary["unconverged"]) == summary["checks"]["count"]
    assert "closed form" in summary["unconverged"][0]


# Result folders


@pytest.mark.parametrize(
    ("spec", "lines"),
    [(SMALL, large_d_lines), (FEW, order_lines)],
)
def test_the_result_folder(spec, lines, tmp_path):
    drawn = []
    path = tmp_path / "result"
    with claim_folder(path):
        summary = compute(spec, path, draw=lambda data, file: drawn.append((data, file)))
    assert json.loads((path / "summary.json").read_text(encoding="utf-8")) == summary
    assert type(spec).from_toml(path / "spec.toml") == spec
    assert len(drawn) == 1
    data = store.open(path / "data.zarr")
    assert data.attrs["study"] == spec.study
    assert summary["unconverged"] == []
    text = lines(summary)
    assert text
    assert max(map(len, text)) <= 80
