"""The Transformer against its printed formulas, head by head and memory by memory."""

import math

import pytest
import torch

from hopfieldphase import weights
from hopfieldphase.learn.transformer import CrossAttentionTransformer


def examples(B=3, M=10, dtype=torch.float64):
    generator = torch.Generator().manual_seed(2)
    return tuple(torch.randn(*s, generator=generator, dtype=dtype) for s in ((B, 24), (B, M, 24), (B, M, 32)))


def layer_norm(x, norm):
    spread = torch.sqrt(((x - x.mean()) ** 2).mean() + 1e-5)
    return (x - x.mean()) / spread * norm.weight + norm.bias


def as_printed(model, q, keys, values, beta):
    """The output for one example, equation by equation."""

    def heads(layer):
        return [layer.weight[24 * h : 24 * (h + 1)] for h in range(4)]

    x0 = model.query_input.weight @ q + model.query_input.bias
    mixed = []
    weights_of_heads = []
    for Q, K, V in zip(*map(heads, (model.query_heads, model.key_heads, model.value_heads)), strict=True):
        query = Q @ layer_norm(x0, model.query_norm)
        scores, read = [], []
        for k, v in zip(keys, values, strict=True):
            key = model.key_input.weight @ k + model.key_input.bias
            value = model.value_input.weight @ v + model.value_input.bias
            scores.append(query @ (K @ layer_norm(key, model.key_norm)) / math.sqrt(24))
            read.append(V @ layer_norm(value, model.value_norm))
        p = torch.from_numpy(weights(torch.stack(scores).numpy(), model.alpha, beta))
        weights_of_heads.append(p)
        mixed.append(sum(w * v for w, v in zip(p, read, strict=True)))
    x1 = x0 + model.attention_output.weight @ torch.cat(mixed)
    hidden = model.ffn[0].weight @ layer_norm(x1, model.ffn_norm)
    gelu = hidden * (1 + torch.erf(hidden / math.sqrt(2))) / 2
    x2 = x1 + model.ffn[2].weight @ gelu
    return model.output.weight @ layer_norm(x2, model.final_norm), torch.stack(weights_of_heads)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, math.inf])
@pytest.mark.parametrize("beta", [1.0, 16.0])
def test_output_is_that_of_the_printed_formulas(alpha, beta):
    model = CrossAttentionTransformer(alpha).double()
    q, keys, values = examples()
    with torch.no_grad():
        output, p = model(q, keys, values, beta)
        for b in range(3):
            expected, weights_of_heads = as_printed(model, q[b], keys[b], values[b], beta)
            torch.testing.assert_close(output[b], expected, rtol=0, atol=1e-13)
            torch.testing.assert_close(p[b], weights_of_heads, rtol=0, atol=1e-13)


def test_number_of_parameters():
    inputs = 96 * 24 + 96 * 24 + 96 * 32 + 3 * 96  # with r_Q, r_K, r_V
    attention = 4 * 3 * 24 * 96 + 96 * 96
    rest = 2 * 192 * 96 + 32 * 96 + 5 * 2 * 96  # feed-forward, output, layer norms
    model = CrossAttentionTransformer(2.0)
    assert sum(p.numel() for p in model.parameters()) == inputs + attention + rest == 85728


def test_order_of_memories_does_not_matter():
    model = CrossAttentionTransformer(1.5).double()
    q, keys, values = examples()
    order = torch.randperm(10, generator=torch.Generator().manual_seed(0))
    output, p = model(q, keys, values)
    turned, p_turned = model(q, keys[:, order], values[:, order])
    torch.testing.assert_close(turned, output, rtol=0, atol=1e-13)
    torch.testing.assert_close(p_turned, p[..., order], rtol=0, atol=1e-13)


def test_every_parameter_learns():
    model = CrossAttentionTransformer(2.0)
    output, _ = model(*examples(dtype=torch.float32))
    output.square().sum().backward()
    silent = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    # A shift of all keys moves all scores of a head alike, and the map does not see it.
    assert silent <= {"key_norm.bias"}


def test_the_seed_fixes_the_weights_and_no_global_generator_is_touched():
    before = torch.random.get_rng_state()
    first, same, other = (CrossAttentionTransformer(2.0, seed=s).state_dict() for s in (0, 0, 1))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert not torch.equal(first["output.weight"], other["output.weight"])
