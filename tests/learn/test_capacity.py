"""Observables of a Transformer, recomputed one example at a time."""

import math

import numpy as np
import pytest
import torch

from hopfieldphase.core.errors import InputError
from hopfieldphase.learn import capacity
from hopfieldphase.learn.capacity import BETAS, LOADS, reliability
from hopfieldphase.learn.retrieval_data import RetrievalData
from hopfieldphase.learn.transformer import CrossAttentionTransformer

# float32 sums of a few hundred terms, in another order
ROUNDING = 1e-5


@pytest.mark.parametrize("task", ["selective", "uniform"])
@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_observables_are_the_printed_ones(task, alpha):
    model, data = CrossAttentionTransformer(alpha), RetrievalData(task)
    found = reliability(model, data, 16, beta=4.0, examples=20)
    batch = data.evaluation_batch(0, 20, 16, 0.10)
    with torch.no_grad():
        output, p = model(batch.query, batch.keys, batch.values, 4.0)
    for b in range(20):
        asked = np.flatnonzero(batch.relevant[b])
        ipr = np.mean([1 / sum(float(w) ** 2 for w in head) for head in p[b]])
        error = sum((float(a) - float(c)) ** 2 for a, c in zip(output[b], batch.target[b], strict=True))
        assert found.ipr[b] == pytest.approx(ipr, rel=ROUNDING)
        assert found.ipr_ratio[b] == pytest.approx(ipr / len(asked), rel=ROUNDING)
        assert found.relative_error[b] == pytest.approx(len(asked) * error / 32, rel=ROUNDING)
        assert found.support_size[b] == np.mean([np.count_nonzero(head) for head in p[b].numpy()])
        assert found.relevant_weight[b] == pytest.approx(float(p[b][:, asked].sum() / 4), rel=ROUNDING)
        if task == "selective":
            nearest = np.argmin([float((output[b] - v).square().sum()) for v in batch.values[b]])
            assert found.value_correct[b] == (nearest == asked[0])
        else:
            assert math.isnan(found.value_correct[b])


class Perfect(torch.nn.Module):
    """Gives back exactly the value of the memory nearest to the query, as `data` makes them."""

    def __init__(self, data):
        super().__init__()
        self.maps = [torch.from_numpy(A) for A in data.observation_maps]

    def forward(self, query, keys, values, beta):
        cosines = torch.einsum("bi,bmi->bm", query @ self.maps[0], keys @ self.maps[1])
        p = torch.nn.functional.one_hot(cosines.argmax(-1), keys.shape[1]).float()
        return torch.einsum("bm,bmv->bv", p, values), p[:, None].expand(-1, 4, -1)


def test_exact_retrieval_has_no_error():
    data = RetrievalData("selective", query_spread=0.0, key_spread=0.0)
    found = reliability(Perfect(data), data, 64, query_noise=0.0, examples=40)
    assert found.value_correct.tolist() == [1] * 40
    assert found.relative_error.max() < 1e-10
    assert found.ipr.tolist() == [1] * 40


class Silent(torch.nn.Module):
    """Says zero, and attends to all."""

    def forward(self, query, keys, values, beta):
        M = keys.shape[1]
        return torch.zeros(len(query), 32), torch.full((len(query), 4, M), 1 / M)


@pytest.mark.parametrize("task", ["selective", "uniform"])
def test_the_output_zero_is_the_baseline(task):
    found = reliability(Silent(), RetrievalData(task), 32, examples=1000)
    # |y|²·|R|/d_v is χ²/d_v of 32 degrees of freedom: variance 2/32; five standard errors
    assert found.relative_error.mean() == pytest.approx(1, abs=5 * math.sqrt(2 / 32 / 1000))
    np.testing.assert_allclose(found.ipr, 32, rtol=ROUNDING)


def test_the_first_examples_do_not_depend_on_how_many_follow():
    model, data = CrossAttentionTransformer(2.0), RetrievalData("selective")
    few, many = (reliability(model, data, 8, examples=n) for n in (capacity._BLOCK, 3 * capacity._BLOCK))
    np.testing.assert_array_equal(few.ipr, many.ipr[: capacity._BLOCK])


def test_grids_are_those_of_the_figures():
    assert (LOADS[0], LOADS[-1], len(LOADS)) == (8, 4096, 10)
    assert (BETAS[0], BETAS[-1], len(BETAS)) == (0.25, 512, 12)


def test_bad_input_is_named():
    model = CrossAttentionTransformer(2.0)
    with pytest.raises(InputError, match="beta = 0"):
        reliability(model, RetrievalData("selective"), 8, beta=0.0, examples=1)
    with pytest.raises(InputError, match="M = 0"):
        reliability(model, RetrievalData("selective"), 0, examples=1)
