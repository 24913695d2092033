"""The Transformer of ensembles: its size, its symmetry, its formulas."""

import math

import numpy as np
import pytest
import torch

from hopfieldphase.core.ensembles.symlog import symexp, symlog
from hopfieldphase.core.errors import InputError
from hopfieldphase.learn.measure_transformer import KERNELS, MeasureTransformer

SMALL = {"width": 8, "hidden": 12, "blocks": 2}
ROUNDING = 1e-11  # sums of a few dozen float64 numbers of order one, through two blocks


def model(kernel="log-elu", **options):
    return MeasureTransformer(kernel, **(SMALL | options)).double()


def ensembles(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((*shape, 2)))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_paper_has_3163906_parameters(norm):
    found = MeasureTransformer("exponential", norm=norm)
    assert found.size == 3_163_906
    block = sum(parameter.numel() for parameter in found.blocks[0].parameters())
    attention, ffn, norms = 4 * (256**2 + 256), 2 * 512 * 256 + 512 + 256, 4 * 256
    assert block == attention + ffn + norms
    assert found.size == 6 * block + 3 * 256 + 2 * 256 + 2


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("options", [{}, {"norm": "pre"}, {"symlog": True}])
def test_a_permutation_of_the_input_permutes_the_output(kernel, options):
    x, order = ensembles(3, 40), torch.from_numpy(np.random.default_rng(1).permutation(40))
    m = model(kernel, **options)
    torch.testing.assert_close(m(x[:, order]), m(x)[:, order], rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_output_is_that_of_the_formulas(kernel, norm):
    """In NumPy, with the weights of the core's kernel and all N × N scores."""
    m = model(kernel, norm=norm, symlog=True)
    w = {name: parameter.detach().numpy() for name, parameter in m.named_parameters()}
    x = ensembles(30).numpy() * 3

    def affine(name, y):
        return y @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    def normed(name, y):
        centred = y - y.mean(-1, keepdims=True)
        return centred / np.sqrt(y.var(-1, keepdims=True) + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]

    def attention(block, y):
        q, k, v = (affine(f"{block}.attention.{name}", y) for name in ("query", "key", "value"))
        return affine(f"{block}.attention.output", KERNELS[kernel].weights(q @ k.T / math.sqrt(8)) @ v)

    def ffn(block, y):
        h = affine(f"{block}.ffn.0", y)
        return affine(f"{block}.ffn.2", 0.5 * h * (1 + torch.erf(torch.from_numpy(h) / math.sqrt(2)).numpy()))

    y = affine("input", symlog(x))
    for block in ("blocks.0", "blocks.1"):
        for name, sublayer in ((f"{block}.attention_norm", attention), (f"{block}.ffn_norm", ffn)):
            y = normed(name, 4.899 * y + sublayer(block, y)) if norm == "post" else (
                y + sublayer(block, normed(name, y))
            )  # fmt: skip
    expected = symexp(affine("output", y))
    with torch.no_grad():
        np.testing.assert_allclose(m(torch.from_numpy(x)).numpy(), expected, rtol=ROUNDING, atol=ROUNDING)


def test_post_norm_outputs_are_bounded_and_pre_norm_ones_are_not():
    x = torch.tensor([[1e12, 0.0], [0.0, 1.0], [-1e9, 3.0]], dtype=torch.float64)
    bounded, free = model(norm="post"), model(norm="pre")
    largest = math.sqrt(SMALL["width"]) * torch.linalg.matrix_norm(bounded.output.weight, 2) + 1
    assert bounded(x).abs().max() <= largest
    assert free(x).abs().max() > 1e6


def test_weights_depend_on_the_seed_alone():
    before = torch.random.get_rng_state()
    one, same, other = (model(seed=seed).state_dict() for seed in (3, 3, 4))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["input.weight"], other["input.weight"])
    assert one["input.weight"].abs().max() <= 1 / math.sqrt(2)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="kernel = 'relu' is unknown: use exponential, squared-elu"):
        MeasureTransformer("relu")
    with pytest.raises(InputError, match="norm = 'mid' is unknown: use post or pre"):
        MeasureTransformer("log-elu", norm="mid")
