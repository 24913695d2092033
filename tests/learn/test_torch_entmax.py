"""Entmax for PyTorch: values of the core, derivatives by differences and by the entmax package."""

import math

import entmax as peters
import numpy as np
import pytest
import torch

from hopfieldphase.core import entmax as core
from hopfieldphase.core.errors import InputError
from hopfieldphase.learn.entmax import entmax

ALPHAS = (0.6, 1.0, 1.3, 1.5, 2.0, 3.0)
# One rounding of each dtype, times the handful of operations after the threshold.
ROUNDING = {torch.float32: 4 * 2.0**-23, torch.float64: 16 * 2.0**-52}


def gaussian(*shape, seed=0, dtype=torch.float64, scale=1.0):
    return scale * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def clear_of_kinks(alpha, *shape):
    """Scores none of which lies within 1e-3 of the threshold, where derivatives jump (α ≥ 2)."""
    z = gaussian(*shape)
    if alpha > 1:
        theta = core.threshold(z.numpy(), alpha, alpha)[..., None]
        z = torch.where(torch.from_numpy(np.abs(z.numpy() - theta) < 1e-3), z - 0.1, z)
        theta = core.threshold(z.numpy(), alpha, alpha)[..., None]
        assert np.abs(z.numpy() - theta).min() > 1e-3
    return z.requires_grad_()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("alpha", [*ALPHAS, math.inf])
def test_values_are_those_of_the_core(alpha, dtype):
    z = gaussian(6, 3, 40, dtype=dtype)
    p = entmax(z, alpha)
    assert p.dtype == dtype
    np.testing.assert_allclose(p.numpy(), core.entmax(z.numpy(), alpha), rtol=0, atol=ROUNDING[dtype])


@pytest.mark.parametrize("alpha", ALPHAS)
def test_first_and_second_derivatives_by_differences(alpha):
    z = clear_of_kinks(alpha, 4, 7)
    assert torch.autograd.gradcheck(lambda z: entmax(z, alpha), z)
    assert torch.autograd.gradgradcheck(lambda z: entmax(z, alpha), z)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_compiled_gradient_is_that_of_the_formula_in_pytorch(alpha):
    """The same derivative twice: compiled, and (with a graph) in PyTorch by the core."""
    z, v = gaussian(8, 50).requires_grad_(), gaussian(8, 50, seed=1)
    p = entmax(z, alpha)
    (compiled,) = torch.autograd.grad(p, z, v, retain_graph=True)
    (formula,) = torch.autograd.grad(p, z, v, create_graph=True)
    torch.testing.assert_close(compiled, formula.detach(), rtol=1e-12, atol=1e-14)
    assert compiled[p == 0].abs().sum() == 0
    assert compiled.sum(-1).abs().max() < 1e-13 * compiled.abs().max()


@pytest.mark.parametrize(
    ("alpha", "function"),
    [
        (1.5, peters.entmax15),
        (2.0, peters.sparsemax),
        (1.3, lambda z, dim: peters.entmax_bisect(z, 1.3, dim)),
    ],
)
def test_values_and_gradients_of_the_entmax_package(alpha, function):
    z, v = gaussian(16, 30).requires_grad_(), gaussian(16, 30, seed=1)
    ours, theirs = entmax(z, alpha), function(z, dim=-1)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    (a,), (b,) = torch.autograd.grad(ours, z, v), torch.autograd.grad(theirs, z, v)
    # p^(2-α) of a weight near zero keeps the 2-α th power of the error that a bisection leaves in it.
    torch.testing.assert_close(a, b, rtol=0, atol=1e-8)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_any_axis_and_any_layout(alpha):
    z, v = gaussian(5, 4, 9), gaussian(5, 4, 9, seed=1)

    def through(z, v, dim, **options):
        z = z.detach().requires_grad_()
        p = entmax(z, alpha, dim=dim, **options)
        return p.detach(), torch.autograd.grad(p, z, v)[0]

    expected = through(z, v, -1)
    for axes in ((2, 0, 1), (0, 2, 1), (1, 0, 2)):
        turned = z.permute(axes), v.permute(axes)
        found = through(*turned, axes.index(2))
        for a, b in zip(found, expected, strict=True):
            assert torch.equal(a, b.permute(axes))
    wide = torch.empty(5, 4, 18, dtype=z.dtype)
    wide[..., ::2] = z
    found = through(wide[..., ::2], v, -1)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("alpha", [1.0, 1.3, 1.5, 2.0, 3.0])
def test_masked_patterns_are_as_if_absent(alpha):
    z, v = gaussian(3, 8).requires_grad_(), gaussian(3, 8, seed=1)
    mask = torch.tensor([True, True, False, True, False, True, True, False])
    p = entmax(z, alpha, mask=mask)
    (gradient,) = torch.autograd.grad(p, z, v)
    few = z.detach()[:, mask].requires_grad_()
    short = entmax(few, alpha)
    (short_gradient,) = torch.autograd.grad(short, few, v[:, mask])
    torch.testing.assert_close(p[:, mask], short, rtol=0, atol=1e-15)
    torch.testing.assert_close(gradient[:, mask], short_gradient, rtol=1e-12, atol=1e-14)
    assert p[:, ~mask].abs().sum() == 0
    assert gradient[:, ~mask].abs().sum() == 0


def test_minus_infinity_is_an_absent_pattern():
    z = torch.tensor([0.3, -math.inf, 0.1], dtype=torch.float64, requires_grad=True)
    p = entmax(z, 1.5)
    (gradient,) = torch.autograd.grad(p[0], z)
    assert p[1] == 0
    assert gradient[1] == 0
    assert torch.isfinite(gradient).all()


def test_used_twice_the_gradients_add():
    z, v, w = gaussian(4, 6).requires_grad_(), gaussian(4, 6, seed=1), gaussian(4, 6, seed=2)
    p = entmax(z, 1.5)
    both = torch.autograd.grad((p * v).sum() + (p * w).sum(), z, retain_graph=True)[0]
    once = [torch.autograd.grad(p, z, u, retain_graph=True)[0] for u in (v, w)]
    torch.testing.assert_close(both, once[0] + once[1], rtol=1e-13, atol=1e-15)
    again = torch.autograd.grad(entmax(entmax(z, 1.5), 2.0), z, v)[0]
    assert torch.isfinite(again).all()


def test_hardmax_has_no_slope():
    z = gaussian(4, 6).requires_grad_()
    p = entmax(z, math.inf)
    assert torch.equal(p.argmax(-1), z.argmax(-1))
    assert torch.equal(torch.autograd.grad(p, z, gaussian(4, 6, seed=1))[0], torch.zeros(4, 6).double())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((torch.zeros(3, dtype=torch.float16), 2.0), r"float16: give float32 or float64"),
        ((torch.zeros(3), 0.0), "alpha = 0"),
        ((torch.zeros(3), 2.0, 1), r"dim = 1 is no axis of scores of shape \(3,\)"),
        ((torch.zeros(3), 2.0, -1, torch.zeros(3)), "give booleans"),
        ((torch.zeros(2, 3), 2.0, -1, torch.zeros(3, dtype=torch.bool)), "at least one pattern"),
        ((torch.tensor([0.0, math.nan]), 2.0), "NaN"),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises(InputError, match=words):
        entmax(*arguments)
