"""The energy loss: values of the core, derivatives by differences, and the laws of a distance."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core import distances as core
from hopfieldphase.core.ensembles.pareto import MirroredPareto
from hopfieldphase.core.errors import InputError
from hopfieldphase.learn import energy_loss as module
from hopfieldphase.learn.energy_loss import energy_distance


def gaussian(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.fixture(params=[2**17, 64, 9], ids=["whole", "blocks", "small-blocks"])
def block(request, monkeypatch):
    """Pairs of one block: several ensembles at once; pieces of each; pieces of three points."""
    monkeypatch.setattr(module, "CPU_BLOCK", request.param)


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_values_are_those_of_the_core(d, dtype):
    x, y = gaussian(4, 20, d, dtype=dtype), 0.5 + gaussian(4, 13, d, seed=1, dtype=dtype)
    values = energy_distance(x, y)
    expected = [core.energy_distance(a, b) for a, b in zip(x.numpy(), y.numpy(), strict=True)]
    assert values.dtype == dtype
    # The distances have the rounding of their type, the sums have none that counts.
    tolerance = 8 * torch.finfo(dtype).eps
    torch.testing.assert_close(
        values.double(), torch.tensor(expected, dtype=torch.float64), rtol=0, atol=tolerance
    )


@pytest.mark.usefixtures("block")
@pytest.mark.parametrize("d", [1, 2, 3])
def test_derivatives_by_differences(d):
    x, y = gaussian(2, 6, d).requires_grad_(), (1 + gaussian(2, 5, d, seed=1)).requires_grad_()
    assert torch.autograd.gradcheck(energy_distance, (x, y))


def test_heavy_tails():
    """Points up to 1e6 in float32: the value and the gradient of float64, in the units of each."""
    draws = MirroredPareto(1.0, 1.1).sample((2, 2000, 2), 3)
    assert abs(draws).max() > 1e3
    found, expected = [], []
    for dtype, results in ((torch.float32, found), (torch.float64, expected)):
        x, y = torch.from_numpy(draws).to(dtype).float().to(dtype)
        x = x.requires_grad_()
        value = energy_distance(x, y)
        results.extend((value.detach().double(), torch.autograd.grad(value, x)[0].double()))
    typical = float(torch.cdist(*torch.from_numpy(draws)).mean())
    torch.testing.assert_close(found[0], expected[0], rtol=0, atol=1e-6 * typical)
    torch.testing.assert_close(found[1], expected[1], rtol=0, atol=1e-5 / 2000)  # 2/N is the largest


def test_extreme_units():
    """Squares of these differences leave the range of float32."""
    x, y = gaussian(7, 2, dtype=torch.float32), gaussian(9, 2, seed=1, dtype=torch.float32)
    expected = energy_distance(x, y)
    for unit in (2.0**80, 2.0**-80):
        a = (x * unit).requires_grad_()
        value = energy_distance(a, y * unit)
        torch.testing.assert_close(value.detach() / unit, expected, rtol=1e-5, atol=0)
        assert torch.autograd.grad(value, a)[0].isfinite().all()


@pytest.mark.usefixtures("block")
def test_coincident_points_pull_at_nothing():
    x = gaussian(1, 6, 2)[:, [0, 0, 1, 2, 3, 3]].requires_grad_()
    value = energy_distance(x, x.detach())
    (gradient,) = torch.autograd.grad(value.sum(), x)
    # Every pull of a sample on a point of the same sample has its opposite.
    assert abs(value.item()) < 1e-15
    assert gradient.abs().max() < 1e-15
    single = torch.ones(1, 2).requires_grad_()
    assert torch.autograd.grad(energy_distance(single, torch.ones(3, 2)), single)[0].abs().max() == 0


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 99), n=st.integers(1, 30), m=st.integers(1, 30), d=st.integers(1, 3))
def test_laws_of_the_distance(seed, n, m, d):
    """Symmetric, never negative, homogeneous, blind to order and to isometries; forces sum to zero."""
    x, y = gaussian(n, d, seed=seed).requires_grad_(), 0.3 + gaussian(m, d, seed=seed + 100)
    value = energy_distance(x, y)
    assert value.item() > -1e-14
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    rotation = torch.linalg.qr(gaussian(d, d, seed=seed + 200)).Q
    for same in (
        energy_distance(y, x),
        energy_distance(x[order], y),
        energy_distance(3 * x, 3 * y) / 3,
        energy_distance(x @ rotation + 5, y @ rotation + 5),
    ):
        torch.testing.assert_close(same, value, rtol=0, atol=1e-13)
    both = y.detach().requires_grad_()
    on_x, on_y = torch.autograd.grad(energy_distance(x, both), (x, both))
    torch.testing.assert_close(on_x.sum(0), -on_y.sum(0), rtol=0, atol=1e-13)


def test_independent_samples_have_the_mean_of_the_floor():
    """E of the V-statistic is 2δ/N, with δ = 2/√π for the normal law on the line."""
    values = energy_distance(gaussian(400, 50, 1), gaussian(400, 50, 1, seed=1))
    floor = core.iid_floor(2 / math.sqrt(math.pi), 50)
    error = float(values.std()) / math.sqrt(len(values))
    assert abs(float(values.mean()) - floor) < 4 * error < 0.5 * floor


def test_gradients_wait_for_what_is_asked():
    x, y = gaussian(3, 8, 2), gaussian(3, 8, 2, seed=1).requires_grad_()
    weights = torch.tensor([1.0, -2.0, 0.0], dtype=torch.float64)
    (gradient,) = torch.autograd.grad((weights * energy_distance(x, y)).sum(), y)
    for i, w in enumerate(weights):
        (single,) = torch.autograd.grad(energy_distance(x[i], y[i]), y)
        torch.testing.assert_close(gradient[i], w * single[i], rtol=1e-13, atol=1e-15)
    assert not energy_distance(x, y.detach()).requires_grad


def test_not_finite_is_seen():
    for bad in (math.nan, math.inf):
        x, y = gaussian(2, 8, 2), gaussian(2, 8, 2, seed=1)
        x[1, 3, 0] = bad
        values = energy_distance(x, y)
        assert values.isnan().tolist() == [False, True]


def test_bad_input_is_named():
    x = gaussian(3, 8, 2)
    for message, arguments in {
        "y has dtype torch.float32": (x, x.float()),
        "x has dtype torch.int64": (x.long(), x.long()),
        r"x has shape \(8,\)": (x[0, :, 0], x),
        r"y has shape \(3, 0, 2\)": (x, x[:, :0]),
        r"x has shape \(3, 8, 2\) and y \(2, 8, 2\)": (x, x[:2]),
    }.items():
        with pytest.raises(InputError, match=message):
            energy_distance(*arguments)
