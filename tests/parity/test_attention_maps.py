"""Attention maps give NumPy's values in every array library, and compiled routines those of the maps."""

import math

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopfieldphase.core import attention as core
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import attention as hp
from hopfieldphase.kernels.attention_selection import selected_weights
from hopfieldphase.kernels.attention_separable import separable_weights
from hopfieldphase.kernels.screening import BLOCK

torch = pytest.importorskip("torch")

# As in `test_array_namespaces`: units in the last place, condition numbers below a hundred.
TOLERANCE = {"float64": 2e-14, "float32": 3e-7}
# Sums of up to 3000 terms in another order.
SUMMATION = 2e-14

REGULARIZED = [
    hp.Entmax(0.5), hp.Entmax(1), hp.Entmax(1.5), hp.Entmax(3), hp.Entmax(math.inf), hp.Separable.shannon(),
    hp.Separable.quadratic(), hp.Separable.tsallis(0.5), hp.Separable.tsallis(1.3), hp.Separable.tsallis(3),
]  # fmt: skip
SELECTIONS = [
    hp.TopK(3), hp.TopK(2, hp.Separable.tsallis(1.5)), hp.TopK(1), hp.SparsemaxK(3), hp.CappedEntmax(3, 1.3),
    hp.CappedEntmax(5, 0.7), hp.CappedEntmax(3, 3.0), hp.CappedEntmax(2, math.inf), hp.TopP(0.2),
    hp.TopP(0.8), hp.TopP(1),
]  # fmt: skip
MAPS = REGULARIZED + SELECTIONS


BACKENDS = {
    "array-api-strict": (array_api_strict, np.from_dlpack),
    "torch": (torch, lambda value: value.numpy()),
}


def few_scores(dtype):
    z = np.random.default_rng(0).normal(size=(2, 3, 8))
    z[0, 0, 2] = -math.inf
    z[0, 1] = 0.5  # all tied
    z[0, 2, :3] = 4.0  # tied at the top
    z[1, 0] *= 100  # one pattern with all weight
    z[1, 1] *= 1e-3
    return z.astype(dtype)


@pytest.mark.parametrize("attention", MAPS, ids=repr)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_array_libraries(attention, dtype, backend):
    library, to_numpy = BACKENDS[backend]
    z, v = few_scores(dtype), np.random.default_rng(1).normal(size=8).astype(dtype)
    y = attention.weights(np.random.default_rng(2).normal(size=8).astype(dtype))
    functions = {
        "weights": (attention.weights, z),
        "public weights": (lambda z: hp.weights(attention, z), z),
        "jacobian": (attention.jacobian_action, z, v),
        "support": (attention.support, z),
    }
    if attention.has_threshold:
        functions["threshold"] = (attention.threshold, z)
    if attention.has_conjugate:
        functions["conjugate"] = (attention.conjugate, z)
        functions["regularizer"] = (attention.regularizer, y)
        functions["loss"] = (lambda z, y: hp.fenchel_young_loss(attention, z, y), z, y)
        functions["gradient"] = (lambda z, y: hp.fenchel_young_gradient(attention, z, y), z, y)
    for name, (function, *arrays) in functions.items():
        expected = np.asarray(function(*arrays))
        value = function(*(library.asarray(array) for array in arrays))
        assert isinstance(value, type(library.asarray(0.0))), name
        value = to_numpy(value)
        assert value.dtype == expected.dtype, name
        # J and the loss grow with the scores, which reach 200 here.
        scale = 1 if name in ("weights", "public weights", "support") else 100
        np.testing.assert_allclose(
            value, expected, rtol=scale * TOLERANCE[dtype], atol=scale * TOLERANCE[dtype], err_msg=name
        )


def rows(kind, n):
    rng = np.random.default_rng(n)
    z = rng.normal(size=(3, n))
    match kind:
        case "normal":
            return z * np.array([[1.0], [0.01], [100.0]])
        case "ties":
            return np.round(2 * z) / 2
        case "equal":
            return np.full((3, n), [[0.0], [-1e6], [1e6]])
        case "absent":
            z = np.where(rng.random(z.shape) < 0.6, -np.inf, z)
            z[:, n // 2] = [0.0, 2.0, -5.0]
            return z
        case "huge":
            return z * 2.0**600
        case "evenly spaced":
            return np.linspace(0, 1, n) * np.array([[1e-3], [1.0], [30.0]])
        case _:
            return rng.pareto(1.2, size=(3, n))


KINDS = ["normal", "ties", "equal", "absent", "huge", "evenly spaced", "heavy-tailed"]
# Around one and two blocks of the screening, around its number of maxima for k, and far above.
SIZES = [1, 2, 7, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5, 3000]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_compiled_selections(kind, n):
    z = rows(kind, n)
    for k in sorted({1, min(n, 2), min(n, 9), max(1, n // 10), n // 2 + 1, n}):
        for attention in (
            hp.TopK(k), hp.SparsemaxK(k), *(hp.CappedEntmax(k, alpha) for alpha in (0.5, 1.5, 3.0, math.inf)),
        ):  # fmt: skip
            value = selected_weights(attention, z)
            np.testing.assert_allclose(
                value, attention.weights(z), rtol=0, atol=SUMMATION, err_msg=str(attention)
            )
        np.testing.assert_array_equal(selected_weights(hp.TopK(k), z) > 0, hp.TopK(k).weights(z) > 0)
    for p in (1e-3, 0.1, 0.3, 0.5, 0.9, 0.999, 1):
        value = selected_weights(hp.TopP(p), z)
        np.testing.assert_allclose(value, hp.TopP(p).weights(z), rtol=0, atol=SUMMATION, err_msg=str(p))
        np.testing.assert_array_equal(value > 0, hp.TopP(p).weights(z) > 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_compiled_separable_maps(kind, n):
    z = rows(kind, n)
    for attention in (
        hp.Separable.shannon(), hp.Separable.quadratic(), hp.Separable.tsallis(1.2), hp.Separable.tsallis(4),
    ):  # fmt: skip
        np.testing.assert_allclose(
            separable_weights(attention, z), attention.weights(z), rtol=0, atol=SUMMATION
        )


@given(
    z=st.lists(st.floats(-50, 50, width=32) | st.just(-np.inf), min_size=1, max_size=300).filter(
        lambda z: max(z) > -np.inf
    ),
    dtype=st.sampled_from([np.float32, np.float64]),
    data=st.data(),
)
def test_compiled_weights_of_any_row(z, dtype, data):
    z = np.array(z, dtype)
    k = data.draw(st.integers(1, len(z)))
    for attention in (
        hp.TopK(k),
        hp.SparsemaxK(k),
        hp.CappedEntmax(k, 1.5),
        hp.TopP(data.draw(st.floats(0.01, 1))),
    ):
        value = hp.weights(attention, z)
        assert value.dtype == dtype
        np.testing.assert_allclose(
            value, attention.weights(z), rtol=0, atol=SUMMATION if dtype == np.float64 else 3e-7
        )


def test_selection_in_single_precision():
    z = rows("ties", 3000).astype(np.float32)
    for attention in (hp.TopK(40), hp.TopP(0.7), hp.SparsemaxK(5)):
        value = hp.weights(attention, z)
        assert value.dtype == np.float32
        np.testing.assert_allclose(value, attention.weights(z), rtol=0, atol=3e-7)


@pytest.mark.parametrize("attention", [*MAPS, hp.Normmax(2.0), hp.WaterFilling(), hp.Exponential()], ids=repr)
def test_threads_and_out(attention):
    z = np.random.default_rng(3).normal(size=(40, 3, 900))
    one = hp.weights(attention, z, threads=1)
    np.testing.assert_array_equal(hp.weights(attention, z, threads=3), one)
    out = np.empty_like(z)
    assert hp.weights(attention, z, out=out) is out
    np.testing.assert_array_equal(out, one)
    same = z.copy()
    np.testing.assert_array_equal(hp.weights(attention, same, out=same), one)
    strided = np.empty((40, 3, 1800))[..., ::2]
    np.testing.assert_array_equal(hp.weights(attention, z[::-1], out=strided), one[::-1])
    np.testing.assert_allclose(one, attention.weights(z), rtol=0, atol=SUMMATION)
    with pytest.raises(InputError, match=r"out (does not fit|is float32)"):
        hp.weights(attention, z, out=np.empty(z.shape, np.float32))


def test_maps_without_a_compiled_routine():
    attention = hp.LengthScaled(hp.Entmax(1.5), hp.Logarithmic(0.5))
    z = np.random.default_rng(4).normal(size=(5, 6))
    out = np.empty_like(z)
    assert hp.weights(attention, z, out=out) is out
    np.testing.assert_array_equal(out, attention.weights(z))
    with pytest.raises(InputError, match=r"out is float64\(6,\): give a NumPy array float64\(5, 6\)"):
        hp.weights(attention, z, out=out[0])
    with pytest.raises(InputError, match=r"attention = 'softmax' is no attention map"):
        hp.weights("softmax", z)


@pytest.mark.parametrize("attention", MAPS, ids=repr)
@pytest.mark.parametrize(
    ("scores", "complaint"),
    [
        ([0.0, math.nan, 0, 0, 0, 0], "NaN"),
        ([0.0, math.inf, 0, 0, 0, 0], r"\+inf"),
        (np.full((2, 6), -math.inf), "only -inf|nothing but -inf"),
        ([], "give M >= 1 patterns"),
        (1.0, "give M >= 1 patterns"),
        (np.array([1, 2j]), "has dtype complex128"),
    ],
)
def test_compiled_routines_refuse_what_the_maps_refuse(attention, scores, complaint):
    with pytest.raises(InputError, match=complaint):
        hp.weights(attention, scores)


def test_more_than_there_are():
    with pytest.raises(InputError, match="k = 4 is above the number of scores, 3"):
        hp.weights(hp.TopK(4), np.zeros((2, 3)))


def test_every_map_is_public():
    assert set(hp.__all__) == {*core.__all__, "weights"}
    assert all(getattr(hp, name) is getattr(core, name) for name in core.__all__)


def test_no_rows():
    for attention in MAPS:
        assert hp.weights(attention, np.empty((0, 6))).shape == (0, 6)
