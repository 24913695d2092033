"""Attention integrals under heavy tails as a study: growth, population values, folder, figure."""

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hopfieldphase.core.ensembles import KERNELS, Gaussian, MirroredPareto
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.integrability import integrability_lines, integrability_summary
from hopfieldphase.dynamics.integrability import running_integrals
from hopfieldphase.plotting.integrability import plot_integrability
from hopfieldphase.runs.folder import DATA, claim_folder
from hopfieldphase.runs.integrability import integrability
from hopfieldphase.runs.integrability_spec import IntegrabilitySpec
from hopfieldphase.runs.studies import compute

SMALL = {"sizes": "64:16384:x4", "draws": 60}


@pytest.fixture(scope="module")
def tree():
    return integrability(IntegrabilitySpec(**SMALL))


def test_means_over_the_first_draws():
    law, sizes = MirroredPareto(3.0), (5, 40, 300)
    z = law.sample(300, 2)
    found = running_integrals(law, list(KERNELS.values()), 0.3, sizes, 2)
    for i, kernel in enumerate(KERNELS.values()):
        g = np.exp(kernel.log(0.3 * z))
        for power in (0, 1):
            expected = [np.log(np.mean(g[:n] * np.abs(z[:n]) ** power)) for n in sizes]
            assert_allclose(found[i, power], expected, rtol=1e-12, atol=1e-14)


def test_gaussian_denominators_of_softmax_settle():
    # E e^{cZ} = exp(cμ + c²σ²/2), with a relative variance e^{c²σ²} − 1 of one draw
    c, sigma, n = 0.8, 1.2, 40_000
    logs = running_integrals(Gaussian(sigma), [KERNELS["exponential"]], c, (n,), 3)[0, 0, 0]
    error = math.sqrt(math.expm1((c * sigma) ** 2) / n)
    assert abs(math.expm1(logs - c - (c * sigma) ** 2 / 2)) < 4 * error


def test_what_has_no_population_value_grows_as_expected(tree):
    summary = integrability_summary(tree)
    json.dumps(summary, allow_nan=False)
    for one in summary["integrals"]:
        kernel, power = KERNELS[one["kernel"]], one["power"]
        assert one["finite"] == (kernel.order + power < 1.5)
        # a slope over two decades of medians of 60 samples with fluctuations of order one
        assert abs(one["measured"] - one["growth"]) < 0.2, one
        if one["finite"]:
            # means of a law of index (1.5 − p)/q or more converge, slowly where the variance is infinite
            assert abs(one["typical"] - math.log(one["population"])) < 0.15
    exponential = summary["integrals"][0]
    assert exponential["kernel"] == "exponential"
    assert exponential["typical"] > 100
    control = summary["control"]
    assert abs(control["typical"] - control["log_population"]) < 0.1


def test_extreme_laws_have_plain_summaries():
    for options in ({"index": 0.2}, {"index": 1e4}, {"score": 1e-6}, {"score": 1e6}):
        spec = IntegrabilitySpec(sizes="16,64,256,1024", draws=4, **options)
        summary = integrability_summary(integrability(spec))
        json.dumps(summary, allow_nan=False)
        assert max(map(len, integrability_lines(summary))) <= 80


def test_words(tree):
    lines = integrability_lines(integrability_summary(tree))
    assert max(map(len, lines)) <= 80
    assert "\n".join(lines).isascii()


def test_the_folder_reads_back(tmp_path):
    spec = IntegrabilitySpec(sizes="16,32,64,128", draws=5)
    with claim_folder(tmp_path / "result"):
        summary = compute(spec, tmp_path / "result")
    assert integrability_summary(store.open(tmp_path / "result" / DATA)) == summary
    assert IntegrabilitySpec.from_toml(tmp_path / "result" / "spec.toml") == spec


def test_the_figure_shows_the_numbers(tree):
    first, second, third = plot_integrability(tree)
    data = tree.to_dataset()
    median = data["log_mean"].sel(kernel="exponential", power=0).median("draw")
    assert_allclose(first.get_lines()[0].get_ydata(), median)
    assert "log-elu" in [text.get_text() for text in third.get_legend().get_texts()]
    assert "exponential" not in [text.get_text() for text in second.get_legend().get_texts()]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"index": 0.0}, "index = 0"),
        ({"index": 0.1}, "index = 0.1"),
        ({"score": -1.0}, "score = -1"),
        ({"sizes": "10,20"}, "sizes has 2 values"),
        ({"sizes": "10,20,30,1000000000"}, "at most"),
        ({"draws": 1}, "draws = 1"),
        ({"kernel": "relu"}, "unknown key 'kernel'"),
    ],
)
def test_bad_input(options, words):
    with pytest.raises(InputError, match=words):
        IntegrabilitySpec(**options)
