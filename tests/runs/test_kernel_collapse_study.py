"""Kernels under heavy tails as a study: data, words, folder, figure, bad input."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hopfieldphase as hp
from hopfieldphase.core.ensembles import MirroredPareto
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.kernel_collapse import kernel_collapse_lines, kernel_collapse_summary
from hopfieldphase.dynamics.kernel_collapse import MAPS, OUTCOMES, draw_keys, follow
from hopfieldphase.plotting.kernel_collapse import plot_kernel_collapse
from hopfieldphase.runs.folder import DATA, claim_folder
from hopfieldphase.runs.kernel_collapse import compute_kernel_collapse, kernel_collapse
from hopfieldphase.runs.kernel_collapse_spec import KernelCollapseSpec

SMALL = {"M": 40, "d": 10, "indices": "0.7,1.5,3", "b": "0.5,8,128", "queries": 10, "realizations": 3}


@pytest.fixture(scope="module")
def tree():
    return kernel_collapse(KernelCollapseSpec(**SMALL))


def test_every_value_is_at_its_place(tree):
    data = tree.to_dataset()
    stream = np.random.SeedSequence(0, spawn_key=(2, 0))
    keys = draw_keys(MirroredPareto(1.5), 40, 10, 10, np.random.default_rng(stream))
    for kernel in ("exponential", "linear-elu"):
        expected = follow(MAPS[kernel], keys, np.array([0.5, 8, 128])).outcomes(keys)
        for name, values in zip(OUTCOMES, expected, strict=True):
            found = data[name].sel(kernel=kernel, index=1.5, stage="end", realization=2)
            assert_allclose(found.transpose("b"), values, rtol=1e-12)
    whole = data["retrieved"] + data["collapsed"] + data["other"]
    assert float(whole.max()) <= 1 + 1e-12
    assert tree["control"].to_dataset()["retrieved"].dims == ("kernel", "stage", "b", "realization")


def test_summary_and_words(tree):
    summary = kernel_collapse_summary(tree)
    json.dumps(summary, allow_nan=False)
    by_name = {one["kernel"]: one for one in summary["kernels"]}
    # log-ELU concentrates on nothing; softmax finds Gaussian patterns
    assert max(by_name["log-elu"]["collapsed"] + by_name["log-elu"]["retrieved"]) == 0
    assert by_name["exponential"]["control"]["retrieved"] > 2 * by_name["exponential"]["retrieved"][0]
    assert by_name["linear-elu"]["collapsed"][0] > by_name["linear-elu"]["collapsed"][-1]
    lines = kernel_collapse_lines(summary)
    assert max(map(len, lines)) <= 80
    assert "\n".join(lines).isascii()


def test_the_folder_reads_back(tmp_path):
    spec = KernelCollapseSpec(**SMALL | {"realizations": 2, "indices": "1,2"})
    with claim_folder(tmp_path / "result"):
        summary = compute_kernel_collapse(spec, tmp_path / "result")
    assert kernel_collapse_summary(store.open(tmp_path / "result" / DATA)) == summary
    assert KernelCollapseSpec.from_toml(tmp_path / "result" / "spec.toml") == spec


def test_the_study_comes_with_the_package():
    data = hp.study("kernel-collapse", reduced=True)
    assert data.attrs["study"] == "kernel-collapse"
    assert set(data.to_dataset()["kernel"].values.tolist()) == set(MAPS)


def test_the_figure_shows_the_numbers(tree):
    axes = plot_kernel_collapse(tree)
    assert axes.shape == (2, len(MAPS))
    data = tree.to_dataset()
    mesh = axes[1, 0].collections[0]
    expected = data["collapsed"].sel(kernel="exponential", stage="end").mean("realization")
    assert_allclose(mesh.get_array(), expected.transpose("b", "index"))
    assert mesh.get_clim() == (0.0, 1.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"indices": "0.1,1"}, "indices has 0.1"),
        ({"b": "0,1"}, "b"),
        ({"queries": 256}, "queries = 256"),
        ({"M": 100_000}, "at most 10000 patterns"),
        ({"realizations": 1}, "realizations = 1"),
        ({"kernel": "relu"}, "unknown key 'kernel'"),
    ],
)
def test_bad_input(options, words):
    with pytest.raises(InputError, match=words):
        KernelCollapseSpec(**options)
