"""Kernel attention by tiles: values and derivatives of the whole matrix, for scores of any size."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hopfieldphase.core.attention import Entmax, Exponential, LinearElu, LogElu, SquaredElu
from hopfieldphase.core.errors import InputError
from hopfieldphase.learn import kernel_attention as module
from hopfieldphase.learn.kernel_attention import kernel_attention

SUITE = (Exponential(), SquaredElu(), LinearElu(), LogElu())
NAMES = [kernel.name for kernel in SUITE]
# Sums of some dozens of terms of order one.
ROUNDING = {torch.float32: 1e-5, torch.float64: 1e-13}


def gaussian(*shape, seed=0, dtype=torch.float64, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def problem(*batch, n=9, m=13, d=3, d_value=5, scale=1.0, dtype=torch.float64):
    """Queries, keys and values, and a gradient with respect to the means."""
    q, k = (gaussian(*batch, size, d, seed=i, scale=scale, dtype=dtype) for i, size in enumerate((n, m)))
    return (
        q,
        k,
        gaussian(*batch, m, d_value, seed=2, dtype=dtype),
        gaussian(*batch, n, d_value, seed=3, dtype=dtype),
    )


def by_core(kernel, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = (q.double() @ k.double().mT / math.sqrt(q.shape[-1])).numpy()
    return torch.from_numpy(kernel.weights(scores)) @ v.double()


def whole(name: str, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The plain formula, with all weights at once; for scores of moderate size."""
    s = q @ k.mT / math.sqrt(q.shape[-1])
    above, below = s.clamp(min=0), s.clamp(max=0)
    g = {
        "exponential": s.exp,
        "squared-elu": lambda: torch.where(s > 0, 1 + above, below.exp()) ** 2,
        "linear-elu": lambda: torch.where(s > 0, 1 + above, below.exp()),
        "log-elu": lambda: torch.where(s > 0, 1 + torch.log1p(above), 1 / (1 - below)),
    }[name]()
    return (g / g.sum(-1, keepdim=True)) @ v


def with_gradients(function, q, k, v, upstream):
    leaves = [x.detach().clone().requires_grad_() for x in (q, k, v)]
    means = function(*leaves)
    return means.detach(), *torch.autograd.grad(means, leaves, upstream)


@pytest.fixture(params=[2**18, 64, 12], ids=["whole", "tiles", "small-tiles"])
def tile(request, monkeypatch):
    """Scores of one tile: several groups at once; pieces of both axes; pieces of a few scores."""
    monkeypatch.setattr(module, "CPU_TILE", request.param)


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [0.3, 4.0, 300.0])
@pytest.mark.parametrize("kernel", SUITE, ids=NAMES)
def test_values_are_those_of_the_core(kernel, scale, dtype):
    q, k, v, _ = problem(2, 3, dtype=dtype)
    q = q * scale
    means = kernel_attention(q, k, v, kernel)
    assert means.dtype == dtype
    # An exponential weight has the relative error of its exponent, the size of a score.
    tolerance = ROUNDING[dtype] * (1 + scale)
    torch.testing.assert_close(means.double(), by_core(kernel, q, k, v), rtol=0, atol=tolerance)


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize("name", NAMES)
def test_derivatives_by_differences(name):
    q, k, v, _ = (x.requires_grad_() for x in problem(2, n=4, m=6, d=2, d_value=2))
    assert torch.autograd.gradcheck(lambda *x: kernel_attention(*x, name), (q, k, v))
    # Rows of nothing but negative scores, as differently scaled as e^z makes them.
    assert torch.autograd.gradcheck(
        lambda q, k, v: kernel_attention(3 * q.abs(), -k.abs(), v, name), (q, k, v)
    )


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_forward_and_backward_are_those_of_the_plain_formula(name, dtype):
    given = problem(2, n=17, m=23, scale=1.5, dtype=dtype)
    found = with_gradients(lambda *x: kernel_attention(*x, name), *given)
    expected = with_gradients(lambda *x: whole(name, *x), *given)
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=20 * ROUNDING[dtype])


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize("name", NAMES)
def test_float32_gradients_of_heavy_tails_are_those_of_float64(name):
    """Scores from 1e-6 to 1e12 in one row. Integers, so that all of them are the same in both types."""
    levels = torch.tensor([0, 1, -1, 2, -30, 2.0**10, -(2.0**20), 2.0**20])
    k = torch.stack((levels, levels.flip(0)), dim=-1)
    q = k[[1, 2, 4, 5, 7, 6]] * math.sqrt(2)
    v, upstream = gaussian(8, 3, dtype=torch.float32), gaussian(6, 3, seed=1, dtype=torch.float32)
    found = with_gradients(lambda *x: kernel_attention(*x, name), q, k, v, upstream)
    wide = [x.double() for x in (k[[1, 2, 4, 5, 7, 6]], k, v, upstream)]
    wide[0] *= math.sqrt(2)
    expected = with_gradients(lambda *x: kernel_attention(*x, name), *wide)
    for a, b in zip(found, expected, strict=True):
        assert a.isfinite().all()
        torch.testing.assert_close(a.double(), b, rtol=0, atol=1e-4 * float(b.abs().max()))


@pytest.mark.usefixtures("tile")
@pytest.mark.parametrize("scale", [1e6, 1e12, 1e18])
@pytest.mark.parametrize("name", NAMES)
def test_extreme_inputs_stay_finite(name, scale):
    q, k, v, upstream = problem(2, scale=scale, dtype=torch.float32)
    for signed in (k, -k.abs()):
        results = with_gradients(lambda *x: kernel_attention(*x, name), q, signed, scale * v, upstream)
        assert all(x.isfinite().all() for x in results[:1] + results[3:])
        assert results[0].abs().max() <= (scale * v).abs().max() * (1 + 1e-5)  # a mean of the values
        if scale < 1e18:  # beyond, the derivatives themselves leave the range of float32
            assert all(x.isfinite().all() for x in results)


@pytest.mark.parametrize("name", NAMES)
def test_all_scores_far_below_zero(name):
    """e^z and its square underflow at every key; relative to the largest they do not."""
    q, k, v = torch.tensor([[1e3]]), torch.tensor([[-1.0], [-1.001], [-9.0]]), torch.eye(3)
    weights = kernel_attention(q, k, v, name)[0]
    core = dict(zip(NAMES, SUITE, strict=True))[name].weights(np.array([-1e3, -1001.0, -9e3]))
    np.testing.assert_allclose(weights.numpy(), core, rtol=2e-4)  # 1.001 has 1e-7, its score 1e-4 in e^z
    assert weights.sum() == pytest.approx(1, rel=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_finite_poisons_its_rows_alone(name):
    q, k, v, _ = problem()
    clean = kernel_attention(q, k, v, name)
    q[4, 0] = math.nan
    means = kernel_attention(q, k, v, name)
    assert means[4].isnan().all()
    others = torch.arange(len(q)) != 4
    torch.testing.assert_close(means[others], clean[others], rtol=1e-13, atol=1e-13)
    k[2] = math.inf
    assert kernel_attention(q.abs(), k, v, name).isnan().all()


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    seed=st.integers(0, 99),
    n=st.integers(1, 40),
    scale=st.sampled_from([0.1, 3, 1e3]),
)
def test_laws_of_self_attention(name, seed, n, scale):
    """Permutations pass through, weights sum to one, and copies of all points change nothing."""
    x = gaussian(n, 3, seed=seed, scale=scale)
    y = kernel_attention(x, x, x, name)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(
        kernel_attention(x[order], x[order], x[order], name), y[order], rtol=0, atol=1e-9 * scale
    )
    ones = kernel_attention(x, x, torch.ones(n, 1, dtype=x.dtype), name)
    torch.testing.assert_close(ones, torch.ones_like(ones), rtol=1e-13, atol=0)
    twice = x.repeat(2, 1)
    torch.testing.assert_close(kernel_attention(x, twice, twice, name), y, rtol=0, atol=1e-9 * scale)
    shift = gaussian(3, seed=seed + 1)
    torch.testing.assert_close(kernel_attention(x, x, x + shift, name), y + shift, rtol=0, atol=1e-9 * scale)


def test_only_the_exponential_is_blind_to_a_shift_of_the_scores():
    """Keys moved by c move all scores of a query q by q·c/√d."""
    q, k, v, _ = problem()
    shift = gaussian(3, seed=9)
    for name in NAMES:
        change = (kernel_attention(q, k + shift, v, name) - kernel_attention(q, k, v, name)).abs().max()
        assert (change < 1e-14) if name == "exponential" else (change > 1e-3)


def test_upstream_of_an_expanded_sum_and_views_of_heads():
    """Gradients that are no memory of their own, and heads as a view of one projection."""
    x = gaussian(2, 10, 6).requires_grad_()

    def heads(x):
        return x.unflatten(-1, (3, 2)).transpose(1, 2)

    y = kernel_attention(heads(x), heads(x), heads(x), "linear-elu")
    assert y.shape == (2, 3, 10, 2)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    plain = whole("linear-elu", heads(x), heads(x), heads(x))
    torch.testing.assert_close(gradient, torch.autograd.grad(plain.sum(), x)[0], rtol=0, atol=1e-12)


def test_saved_memory_grows_with_the_points_alone():
    q, k, v, _ = (x.requires_grad_() for x in problem(n=300, m=400))
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()) or x, lambda x: x):
        kernel_attention(q, k, v, "squared-elu")
    assert max(sizes) == 400 * 5
    assert len(sizes) < 15


def test_no_query_gives_no_mean():
    q, k, v, _ = problem(2, n=0)
    assert kernel_attention(q, k, v, "log-elu").shape == (2, 0, 5)


def test_bad_input_is_named():
    q, k, v, _ = problem(2)
    for message, arguments in {
        "kernel = 'gauss' is not one of the suite: use exponential": (q, k, v, "gauss"),
        "kernel = 'entmax' is not one": (q, k, v, Entmax(1.5)),
        "value has dtype torch.float32": (q, k, v.float(), "linear-elu"),
        "query has dtype torch.bfloat16": (q.bfloat16(), k, v, "linear-elu"),
        r"key has shape \(1, 13, 3\)": (q, k[:1], v, "linear-elu"),
        "13 keys and 12 values": (q, k, v[:, 1:], "linear-elu"),
        "0 keys and 0 values": (q, k[:, :0], v[:, :0], "linear-elu"),
        "queries have 3 and keys 2 dimensions": (q, k[..., :2], v, "linear-elu"),
    }.items():
        with pytest.raises(InputError, match=message):
            kernel_attention(*arguments)
