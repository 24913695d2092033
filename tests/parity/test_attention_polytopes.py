"""Maps under caps, on the permutahedron, by norms and by positive kernels: NumPy's values from every library.

The compiled rows are one of the libraries here: they must give the values of the plain NumPy methods.
"""

import math

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core.attention.capped import (
    CappedSimplex,
    ConstrainedSoftmax,
    ConstrainedSparsemax,
    GreedyFilling,
    WaterFilling,
)
from hopfieldphase.core.attention.normmax import Normmax
from hopfieldphase.core.attention.permutahedron import Permutahedron
from hopfieldphase.core.attention.positive import Exponential, LinearElu, LogElu, PositiveKernel, SquaredElu
from hopfieldphase.core.attention.scaling import LengthScaled, Logarithmic
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import attention_capped
from hopfieldphase.kernels.attention_capped import capped_weights
from hopfieldphase.kernels.attention_greedy import greedy_weights
from hopfieldphase.kernels.attention_normmax import normmax_weights
from hopfieldphase.kernels.attention_positive import positive_weights

pytestmark = pytest.mark.slow

torch = pytest.importorskip("torch")

# Libraries differ in elementary functions and in the order of sums; a float32 result is rounded once.
TOLERANCE = {"float64": 4e-14, "float32": 2.5e-7}
# Sums of up to 4096 weights, relative to the budget.
SUMMATION = 2e-14

CAPS = np.array([0.9, 0.3, math.inf, 0.5, 0.4, 0.7, 0.35, 1.0])
LIBRARIES = {"array-api-strict": (array_api_strict, np.from_dlpack), "torch": (torch, lambda x: x.numpy())}
MAPS = [
    CappedSimplex(1.7), WaterFilling(2.2, CAPS), ConstrainedSparsemax(CAPS), ConstrainedSoftmax(CAPS),
    GreedyFilling(1.6, CAPS), Permutahedron([0.5, 0.5, 0.25, 0.1, 0.0, 0.0, 0.0, 0.0]), Normmax(1.5),
    Normmax(4.0), Normmax(math.inf), Exponential(), LinearElu(), SquaredElu(), LogElu(),
    PositiveKernel(lambda z: 1 + z**2, lambda z: 2 * z), LengthScaled(LogElu(), Logarithmic(2.0)),
    LengthScaled(CappedSimplex(1.7), Logarithmic(2.0)),
]  # fmt: skip


def scores(dtype="float64"):
    z = np.random.default_rng(0).normal(size=(2, 3, 8))
    z[0, 0, 2] = -math.inf
    z[0, 1] = 0.5  # all tied
    z[0, 2, :3] = 4.0  # tied at the top
    z[1, 0] *= 100
    z[1, 1] *= 1e-3
    z[1, 2] -= 1e3
    return z.astype(dtype)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("attention", MAPS, ids=lambda attention: attention.name)
def test_every_library_gives_the_values_of_numpy(attention, dtype, library):
    namespace, to_numpy = LIBRARIES[library]
    z = scores(dtype)
    v = np.random.default_rng(1).normal(size=z.shape).astype(dtype)
    given, directions = namespace.asarray(z.copy()), namespace.asarray(v.copy())
    pairs = [
        (attention.weights(given), attention.weights(z)),
        (attention.jacobian_action(given, directions), attention.jacobian_action(z, v)),
    ]
    if attention.has_threshold:
        pairs.append((attention.threshold(given), attention.threshold(z)))
    if attention.has_conjugate:
        pairs.append((attention.conjugate(given), attention.conjugate(z)))
    for result, expected in pairs:
        assert isinstance(result, type(given))
        value = to_numpy(result)
        assert value.dtype == expected.dtype == np.dtype(dtype)
        finite = expected[np.isfinite(expected)]
        atol = TOLERANCE[dtype] * max(1.0, np.max(np.abs(finite), initial=0.0))
        np.testing.assert_allclose(value, expected, rtol=TOLERANCE[dtype], atol=atol)
    np.testing.assert_array_equal(to_numpy(attention.support(given)), attention.support(z))


@pytest.mark.parametrize("attention", MAPS, ids=lambda attention: attention.name)
def test_no_rows_and_one_row(attention):
    none = np.zeros((0, 8))
    assert attention.weights(none).shape == attention.jacobian_action(none, none).shape == none.shape
    z = scores()[0, 2]
    np.testing.assert_array_equal(attention.weights(z), attention.weights(z[None])[0])


def compiled(attention):
    if isinstance(attention, Normmax):
        return normmax_weights
    if isinstance(attention, GreedyFilling):
        return greedy_weights
    return capped_weights if isinstance(attention, WaterFilling | ConstrainedSoftmax) else positive_weights


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
            z = np.where(rng.random(z.shape) < 0.3, -np.inf, z)
            z[:, n // 2] = [0.0, 2.0, -5.0]
            return z
        case "far apart":
            return z * np.array([[1e6], [1e12], [1e3]]) + np.array([[0.0], [0.0], [1e8]])
        case _:
            return rng.pareto(0.7, size=(3, n)) * np.array([[1], [-1], [1e3]])


KINDS = ["normal", "ties", "equal", "absent", "far apart", "heavy-tailed"]


def maps(z):
    """Maps whose caps hold their budgets in every row."""
    n = z.shape[-1]
    least = int(np.min(np.sum(z > -np.inf, axis=-1)))
    caps = np.random.default_rng(n).uniform(0.5, 1.5, n) * 4 / least
    budgets = {1.0, 0.3, least / 3, 0.9 * least, float(least)}
    yield from (CappedSimplex(budget) for budget in sorted(b for b in budgets if b <= least))
    yield from (ConstrainedSparsemax(caps), ConstrainedSparsemax(1.0 / least), ConstrainedSparsemax(math.inf))
    yield from (ConstrainedSoftmax(caps), ConstrainedSoftmax(1.2 / least), ConstrainedSoftmax(math.inf))
    yield from (GreedyFilling(1.0, caps), GreedyFilling(0.9 * least, 1.0), GreedyFilling(float(least), 1.0))
    yield from (Exponential(), LinearElu(), SquaredElu(), LogElu())
    yield from (Normmax(gamma) for gamma in (1.02, 1.5, 2.0, 6.0, math.inf))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 7, 130, 1500])
def test_compiled_rows_give_the_values_of_numpy(kind, n):
    z = rows(kind, n)
    for attention in maps(z):
        p = compiled(attention)(attention, z)
        expected = attention.weights(z)
        total = float(np.max(np.sum(expected, axis=-1)))
        np.testing.assert_allclose(
            p, expected, rtol=0, atol=SUMMATION * max(1.0, total), err_msg=f"{attention}"
        )
        assert np.max(np.abs(p.sum(axis=-1) - total)) <= SUMMATION * total, attention


@settings(max_examples=150)
@given(st.integers(0, 2**32), st.integers(1, 300), st.floats(0.01, 1.0), st.booleans(), st.floats(-3, 6))
def test_water_filling_of_any_row(seed, n, fullness, tied, decades):
    rng = np.random.default_rng(seed)
    z = 10**decades * (rng.integers(-9, 10, n) / 4 if tied else rng.normal(size=n))
    caps = np.where(rng.random(n) < 0.2, 0.5, rng.uniform(0.01, 2, n))
    attention = WaterFilling(fullness * caps.sum(), caps)
    p = capped_weights(attention, z)
    np.testing.assert_allclose(p, attention.weights(z), rtol=0, atol=SUMMATION * max(1, attention.budget))
    greedy = GreedyFilling(attention.budget, caps)
    p = greedy_weights(greedy, z)
    np.testing.assert_allclose(p, greedy.weights(z), rtol=0, atol=SUMMATION * max(1, attention.budget))
    soft = ConstrainedSoftmax(caps / (fullness * caps.sum()))
    np.testing.assert_allclose(capped_weights(soft, z), soft.weights(z), rtol=0, atol=SUMMATION)


def test_breakpoint_search_alone_finds_the_level():
    """The search that Newton's steps fall back on, over the whole range."""
    rng = np.random.default_rng(0)
    for n in (1, 2, 50, 999):
        z = np.round(4 * rng.normal(size=n)) / 4
        caps = rng.uniform(0.1, 1, n)
        budget = 0.6 * caps.sum()
        scratch = np.empty(n), np.empty(n)
        level = attention_capped._search(z, caps, budget, z.max(), -np.inf, 0.0, *scratch)
        expected = WaterFilling(budget, caps).weights(z)
        p = np.clip(z - z.max() - level, 0, caps)
        np.testing.assert_allclose(p, expected, rtol=0, atol=SUMMATION * max(1.0, budget))


@pytest.mark.parametrize(
    "attention", [CappedSimplex(2), ConstrainedSoftmax(0.5), GreedyFilling(2.0, 0.8), LogElu(), Normmax(2.0)]
)
class TestCalls:
    def test_layouts_and_types(self, attention):
        z = np.random.default_rng(0).normal(size=(4, 5, 6))
        expected = attention.weights(z)
        for same in (np.asfortranarray(z), z[:, ::-1][:, ::-1], z.tolist()):
            np.testing.assert_allclose(compiled(attention)(attention, same), expected, rtol=0, atol=SUMMATION)
        single = compiled(attention)(attention, z.astype(np.float32))
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, expected, rtol=0, atol=3e-7)

    def test_output_array(self, attention):
        z = np.random.default_rng(0).normal(size=(40, 30))
        expected = attention.weights(z)
        for out in (np.empty_like(z), np.empty((40, 60))[:, ::2], z):
            assert compiled(attention)(attention, z.copy() if out is not z else z, out=out, threads=2) is out
            np.testing.assert_allclose(out, expected, rtol=0, atol=SUMMATION)
        with pytest.raises(InputError, match=r"out is float64\(2, 2\): give"):
            compiled(attention)(attention, z, out=np.empty((2, 2)))

    def test_other_libraries_take_the_methods(self, attention):
        z = torch.randn(3, 4, dtype=torch.float64)
        p = compiled(attention)(attention, z)
        assert isinstance(p, torch.Tensor)
        np.testing.assert_array_equal(p.numpy(), attention.weights(z).numpy())

    @pytest.mark.parametrize("row", [[math.nan, 0, 0], [math.inf, 0, 0], [-math.inf] * 3, []])
    def test_bad_scores(self, attention, row):
        with pytest.raises(InputError, match="scores"):
            compiled(attention)(attention, np.array([row, row]))


def test_caps_of_every_shape():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2, 3, 5))
    for shape in [(), (1,), (5,), (3, 1), (3, 5), (2, 1, 5), (2, 3, 5)]:
        for make in (ConstrainedSparsemax, ConstrainedSoftmax):
            attention = make(rng.uniform(0.25, 0.6, shape))
            np.testing.assert_allclose(
                capped_weights(attention, z), attention.weights(z), rtol=0, atol=SUMMATION
            )
    for caps, words in [(np.ones(4), "caps have shape"), (0.1, "cannot hold")]:
        with pytest.raises(InputError, match=words):
            capped_weights(ConstrainedSparsemax(caps), z)
