"""Learned factors of the scores equal the maps of the core with the same constants."""

import math

import pytest
import torch

from hopfieldphase.core.attention import Entmax, LengthScaled, Logarithmic, PowerOfLogarithm
from hopfieldphase.learn.transformer import CrossAttentionTransformer


@pytest.mark.parametrize(("alpha", "scaling"), [(1.0, "logarithmic"), (1.5, "adaptive")])
def test_weights_equal_the_core(alpha, scaling):
    model = CrossAttentionTransformer(alpha, scaling=scaling).double()
    generator = torch.Generator().manual_seed(0)
    for parameter in model.scaling.parameters():  # away from where they start
        parameter.data += 0.3 * torch.randn(4, generator=generator, dtype=torch.float64)
    query, keys, values = (
        torch.randn(*shape, generator=generator, dtype=torch.float64)
        for shape in ((2, 24), (2, 50, 24), (2, 50, 32))
    )
    with torch.no_grad():
        _, p = model(query, keys, values, beta=2.0)
        q, k = model.heads_of(query, keys)
    for head in range(4):
        learned = {name: parameter[head].item() for name, parameter in model.scaling.state_dict().items()}
        if scaling == "logarithmic":
            rule = Logarithmic(math.exp(learned["log_slope"]))
        else:
            delta, beta = math.exp(learned["log_delta"]), math.exp(learned["log_beta"])
            rule = PowerOfLogarithm(delta, beta, learned["gamma"])
        plain = q[:, head] / rule.factor(50)
        scores = torch.einsum("bd,bmd->bm", plain, k[:, head]) / math.sqrt(24)
        expected = LengthScaled(Entmax(alpha), rule).weights(2.0 / alpha * scores)
        torch.testing.assert_close(p[:, head], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scaling", ["logarithmic", "adaptive"])
def test_factors_start_at_one_and_learn(scaling):
    model = CrossAttentionTransformer(1.5, scaling=scaling)
    assert model.scaling(32).detach().numpy() == pytest.approx(1)
    generator = torch.Generator().manual_seed(0)
    shapes = ((2, 24), (2, 8, 24), (2, 8, 32))
    output, _ = model(*(torch.randn(*shape, generator=generator) for shape in shapes))
    output.square().sum().backward()
    assert all(parameter.grad.any() for parameter in model.scaling.parameters())
