"""The compiled maps give the values of their NumPy twins, for every argument, and of the reference file."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core import entmax as core
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import maps
from hopfieldphase.kernels.screening import BLOCK

# Sums of up to 3000 terms in 32 partial sums: some 100 roundings of 1.1e-16 each.
SUMMATION = 2e-14
# 40-digit values, few terms: a handful of roundings.
REFERENCE = 2e-15
# One rounding to float32 at the end, and one of the unscaled weight.
SINGLE = 3e-7

LARGE = 2.0**600
ALPHAS = [
    1e-3, 0.5, 0.9, 1 - 1e-12, 1.0, 1 + 1e-12, 1.00001, 1.1, 1.3, 1.5, 1.75, 1.999, 2 - 1e-12, 2.0, 2 + 1e-12,
    2.001, 2.5, 3.0, 10.0, 1e3, 1e6, np.inf,
]  # fmt: skip
# Around one and two blocks of the screening, and far above.
SIZES = [1, 2, 7, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5, 3000]


def _rows(kind: str, M: int) -> np.ndarray:
    rng = np.random.default_rng(M)
    z = rng.normal(size=(3, M))
    match kind:
        case "normal":
            return z * np.array([[1.0], [0.01], [100.0]])
        case "ties":
            return np.round(2 * z) / 2
        case "equal":
            return np.full((3, M), [[0.0], [-1e6], [1e6]])
        case "absent":
            z = np.where(rng.random(z.shape) < 0.6, -np.inf, z)
            z[:, M // 2] = [0.0, 2.0, -5.0]
            return z
        case "huge":
            return z * LARGE
        case "evenly spaced":
            return np.linspace(0, 1, M) * np.array([[1e-3], [1.0], [30.0]])
        case _:
            return rng.pareto(1.2, size=(3, M))


KINDS = ["normal", "ties", "equal", "absent", "huge", "evenly spaced", "heavy-tailed"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("beta", [0.02, 1.0, 50.0])
def test_values_of_the_core(kind, alpha, beta):
    for M in SIZES:
        z = _rows(kind, M)
        top = np.max(np.abs(z.max(axis=-1)))
        np.testing.assert_allclose(
            maps.weights(z, alpha, beta), core.weights(z, alpha, beta), rtol=0, atol=SUMMATION
        )
        np.testing.assert_allclose(
            maps.conjugate(z, alpha, beta), core.conjugate(z, alpha, beta), rtol=SUMMATION,
            atol=SUMMATION * max(1, beta * top),
        )  # fmt: skip
        # Near alpha = 1 the threshold is of the size of the margin alpha / ((alpha - 1) beta).
        margin = 0.0 if alpha in (1.0, np.inf) else abs(alpha / ((alpha - 1) * beta))
        np.testing.assert_allclose(
            maps.threshold(z, alpha, beta), core.threshold(z, alpha, beta), rtol=SUMMATION,
            atol=SUMMATION * (margin + top),
        )  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    z=st.lists(st.floats(-50, 50, width=32) | st.just(-np.inf), min_size=1, max_size=300).filter(
        lambda z: max(z) > -np.inf
    ),
    alpha=st.floats(0.05, 40),
    beta=st.floats(1e-2, 1e2),
)
def test_weights_of_any_row(z, alpha, beta):
    np.testing.assert_allclose(
        maps.weights(z, alpha, beta), core.weights(z, alpha, beta), rtol=0, atol=SUMMATION
    )


def test_reference_values(reference_values):
    for case in reference_values["maps"]:
        z, alpha, beta = np.array(case["z"], float), float(case["alpha"]), case["beta"]
        np.testing.assert_allclose(maps.weights(z, alpha, beta), case["weights"], rtol=0, atol=REFERENCE)
        np.testing.assert_allclose(maps.conjugate(z, alpha, beta), case["conjugate"], rtol=REFERENCE)
        theta = maps.threshold(z, alpha, beta)
        if case["theta"] is None:
            assert np.isnan(theta)
        else:
            np.testing.assert_allclose(theta, case["theta"], rtol=REFERENCE, atol=REFERENCE)


@pytest.mark.parametrize(
    ("z", "alpha", "p"),
    [
        ([0, 0, 1], 1, [0.2119415576, 0.2119415576, 0.5761168848]),
        ([0, 0, 1], 1.00001, [0.21194027375, 0.21194027375, 0.5761194525]),
        ([0, 0, 1], 1.1, [0.19846639135, 0.19846639135, 0.6030672173]),
        ([0, 0.5, 1], 2, [0, 0.25, 0.75]),
        ([0.1, 0.2, 0.3, 0.4, 0.5], 2, [0, 0.1, 0.2, 0.3, 0.4]),
        ([0.175, 0, -2], 2, [0.5875, 0.4125, 0]),
        ([0.4, 0.3, -0.4, 0.5], 2, [1 / 3, 0.7 / 3, 0, 1.3 / 3]),
        ([-5, -6, 3, 4], 2, [0, 0, 0, 1]),
        ([1, -np.inf], 2, [1, 0]),
        ([3, 1, 3, -np.inf], np.inf, [0.5, 0, 0.5, 0]),
        ([0.05, 0], 10, [0.9150989502, 0.0849010498]),
        ([0.1112, 0], 10, [1, 0]),
    ],
)
def test_rows_on_which_others_fail(z, alpha, p):
    # Ten printed digits.
    np.testing.assert_allclose(maps.entmax(z, alpha), p, rtol=0, atol=6e-11)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.3, 1.5, 2.0, 3.0, np.inf])
def test_single_precision_is_kept(alpha):
    for M in (1, 20, 700):
        z = np.random.default_rng(M).normal(size=(4, M)).astype(np.float32)
        double = z.astype(np.float64)
        for compiled, plain in (
            (maps.weights, core.weights), (maps.conjugate, core.conjugate), (maps.threshold, core.threshold),
        ):  # fmt: skip
            result = compiled(z, alpha, 2.0)
            assert result.dtype == np.float32
            np.testing.assert_allclose(result, plain(double, alpha, 2.0), rtol=SINGLE, atol=SINGLE)


@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_weights_sum_to_one_within_a_few_ulp(alpha):
    z = np.random.default_rng(1).normal(size=(20, 4096))
    for scale in (0.01, 1.0, 100.0):
        p = maps.weights(scale * z, alpha, alpha)
        # The sum itself rounds: 4 ulp of 1.
        assert np.max(np.abs(p.sum(axis=-1) - 1)) <= 4 * np.finfo(float).eps


def test_sparse_weights_are_exactly_zero_off_the_support():
    z = np.random.default_rng(2).normal(size=(50, 500))
    for alpha in (1.3, 1.5, 2.0, 3.0):
        theta = maps.threshold(z, alpha, 4.0)
        p = maps.weights(z, alpha, 4.0)
        np.testing.assert_array_equal(p > 0, z > theta[:, None])


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_result_does_not_depend_on_threads(threads):
    z = np.random.default_rng(3).normal(size=(64, 2000))
    np.testing.assert_array_equal(
        maps.weights(z, 1.5, 1.5, threads=threads), maps.weights(z, 1.5, 1.5, threads=1)
    )
    np.testing.assert_array_equal(maps.conjugate(z, 1.5, threads=threads), maps.conjugate(z, 1.5, threads=1))


def test_any_layout():
    z = np.random.default_rng(4).normal(size=(6, 5, 40))
    p = core.weights(z, 2.0, 3.0)
    read_only = z.copy()
    read_only.flags.writeable = False
    for layout in (np.asfortranarray(z), np.repeat(z, 2, axis=-1)[..., ::2], z.tolist(), read_only):
        np.testing.assert_allclose(maps.weights(layout, 2.0, 3.0), p, rtol=0, atol=SUMMATION)
    assert maps.threshold(z, 2.0).shape == (6, 5)
    assert maps.weights(z[:0], 2.0).shape == (0, 5, 40)
    assert maps.conjugate(z[0, 0], 2.0).shape == ()
    assert maps.weights([1, 2], 2).dtype == np.float64


def test_out():
    z = np.random.default_rng(5).normal(size=(6, 300))
    p = maps.weights(z, 1.5, 2.0)
    wide = np.full((6, 600), 7.0)
    strided = wide[:, ::2]
    assert maps.weights(z, 1.5, 2.0, out=strided) is strided
    np.testing.assert_array_equal(wide[:, ::2], p)
    np.testing.assert_array_equal(wide[:, 1::2], 7.0)
    in_place = z.copy()
    maps.weights(in_place, 1.5, 2.0, out=in_place)
    np.testing.assert_array_equal(in_place, p)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty((2, 2)), r"out is float64\(2, 2\)"),
        (np.empty((2, 3), np.float32), r"out is float32\(2, 3\)"),
        ([[0.0] * 3] * 2, "out is list"),
        (np.broadcast_to(0.0, (2, 3)), "read-only"),
    ],
)
def test_out_that_cannot_be_used(out, message):
    with pytest.raises(InputError, match=message):
        maps.weights(np.zeros((2, 3)), 2.0, out=out)


@pytest.mark.parametrize(
    ("value", "fault"),
    [(np.nan, "NaN"), (-np.nan, "NaN"), (np.inf, r"\+inf"), (-np.inf, "only -inf")],
)
@pytest.mark.parametrize("function", [maps.weights, maps.threshold, maps.conjugate])
@pytest.mark.parametrize("M", [3, 1000])
def test_bad_rows_are_named(function, value, fault, M):
    z = np.zeros((4, 20, M))
    z[2, 7] = -np.inf
    z[2, 7, M // 2] = value
    with pytest.raises(InputError, match=rf"{fault} in row \(2, 7\)"):
        function(z, 1.5)


def test_fault_of_a_single_row():
    with pytest.raises(InputError, match="scores has NaN: give finite scores"):
        maps.weights([1.0, np.nan], 2.0)


@pytest.mark.parametrize(
    ("scores", "alpha", "beta"),
    [
        ([1.0], 0, 1.0), ([1.0], np.nan, 1.0), ([1.0], -1, 1.0), ([1.0], 2, 0.0), ([1.0], 2, np.inf),
        (1.0, 2, 1.0), ([], 2, 1.0), (np.zeros((3, 0)), 2, 1.0), ([1j], 2, 1.0), (["a"], 2, 1.0),
        (np.zeros(2, np.float16), 2, 1.0),
    ],
)  # fmt: skip
def test_arguments_outside_their_domain(scores, alpha, beta):
    for function in (maps.weights, maps.threshold, maps.conjugate):
        with pytest.raises(InputError):
            function(scores, alpha, beta)


def test_other_namespaces_stay_what_they_are():
    z = np.random.default_rng(6).normal(size=(3, 30))
    foreign = array_api_strict.asarray(z)
    p = maps.weights(foreign, 1.5, 2.0)
    assert type(p) is type(foreign)
    np.testing.assert_allclose(np.asarray(p), maps.weights(z, 1.5, 2.0), rtol=0, atol=SUMMATION)
    assert type(maps.conjugate(foreign, 1.5)) is type(foreign)
    assert type(maps.threshold(foreign, 1.5)) is type(foreign)
    with pytest.raises(InputError, match="out is for NumPy scores"):
        maps.weights(foreign, 1.5, out=np.empty((3, 30)))
