"""The data of Appendix G.2: geometry, noise levels, independence of everything but seed and arguments."""

import numpy as np
import pytest
import torch

from hopfieldphase.core.errors import InputError
from hopfieldphase.learn.retrieval_data import RetrievalData

EPS32 = 2.0**-23


def noiseless(task, **options):
    """Latent geometry seen through the maps alone."""
    return RetrievalData(task, query_spread=0.0, key_spread=0.0, **options)


@pytest.mark.parametrize("seed", [0, 7])
def test_observation_maps_have_orthonormal_columns(seed):
    for A in RetrievalData("selective", seed).observation_maps:
        np.testing.assert_allclose(A.T @ A, np.eye(16), atol=16 * EPS32)
    first, second = RetrievalData("selective", seed).observation_maps
    assert np.abs(first - second).max() > 0.1


def test_latent_keys_have_the_cosines_of_the_formula():
    """Within a cluster the mean inner product is that of u = (√(1−δ) c + √δ ε)/|…|, across clusters zero."""
    data = noiseless("selective")
    keys = data.training_batch(0, 400, 16, 0.1).keys.double()
    G = keys @ keys.transpose(-1, -2)
    np.testing.assert_allclose(torch.diagonal(G, dim1=1, dim2=2), 1, atol=32 * EPS32)
    same = (np.arange(16)[:, None] - np.arange(16)) % 4 == 0
    inside = G[:, same & ~np.eye(16, dtype=bool)].mean(-1)
    outside = G[:, ~same].mean(-1)
    rng = np.random.default_rng(1)
    u = np.sqrt(0.88) * np.eye(16)[0] + np.sqrt(0.12) * rng.standard_normal((2, 200_000, 16))
    u /= np.linalg.norm(u, axis=-1, keepdims=True)
    expected = np.sum(u[0] * u[1], -1).mean()
    # Four standard errors of the means over 400 independent examples.
    assert abs(inside.mean() - expected) < 4 * inside.std() / 20
    assert abs(outside.mean()) < 4 * outside.std() / 20
    assert 4 * inside.std() / 20 < 0.02


def test_observation_noise_has_its_variance():
    shown = RetrievalData("selective").training_batch(0, 64, 256, 0.1)
    A_Q, A_K = (torch.from_numpy(A).double() for A in RetrievalData("selective").observation_maps)
    for seen, A, sigma in ((shown.query, A_Q, 0.03), (shown.keys, A_K, 0.05)):
        # What lies outside the column space of A is noise alone: 24 − 16 dimensions.
        rest = seen.double() @ (torch.eye(24).double() - A @ A.T)
        count = rest[..., 0].numel() * 8
        found = float((rest.square().sum() / count).sqrt())
        assert found == pytest.approx(sigma, rel=5 / np.sqrt(2 * count))


def test_the_query_is_its_memory_and_noise():
    """At σ_Q = 0 the latent query is the key asked for; the value asked for is the target."""
    data = noiseless("selective", seed=3)
    batch = data.training_batch(5, 32, 12, 0.0)
    A_Q, A_K = (torch.from_numpy(A) for A in data.observation_maps)
    cosines = torch.einsum("bi,bmi->bm", batch.query @ A_Q, batch.keys @ A_K)
    assert batch.relevant.sum(-1).eq(1).all()
    np.testing.assert_allclose(cosines[batch.relevant], 1, atol=64 * EPS32)
    assert torch.equal(cosines.argmax(-1), batch.relevant.int().argmax(-1))
    assert torch.equal(batch.target, batch.values[batch.relevant])


def test_a_cluster_is_asked_for_by_its_centre():
    data = noiseless("uniform")
    batch = data.training_batch(0, 500, 32, 0.0)
    A_Q, A_K = (torch.from_numpy(A) for A in data.observation_maps)
    cosines = torch.einsum("bi,bmi->bm", batch.query @ A_Q, batch.keys @ A_K)
    assert batch.relevant.sum(-1).eq(8).all()
    assert cosines[batch.relevant].mean() > 0.5  # about √(1−δ)/√(1−δ+δd) = 0.56
    assert abs(float(cosines[~batch.relevant].mean())) < 0.03
    means = torch.stack([v[r].mean(0) for v, r in zip(batch.values, batch.relevant, strict=True)])
    torch.testing.assert_close(batch.target, means, rtol=0, atol=8 * EPS32)
    # E|target|² = d_v/|R|: the error of the output zero.
    assert float(batch.target.square().sum(-1).mean()) == pytest.approx(32 / 8, rel=0.05)


def test_batches_depend_on_seed_and_arguments_alone():
    data, again, other = RetrievalData("selective"), RetrievalData("selective"), RetrievalData("selective", 1)
    again.training_batch(9, 8, 16, 0.1)
    a, b = data.training_batch(4, 8, 16, 0.1), again.training_batch(4, 8, 16, 0.1)
    assert all(torch.equal(x, y) for x, y in zip(vars(a).values(), vars(b).values(), strict=True))
    for c in (other.training_batch(4, 8, 16, 0.1), data.evaluation_batch(4, 8, 16, 0.1)):
        assert not torch.equal(a.values, c.values)


def test_bad_input_is_named():
    with pytest.raises(InputError, match="task = 'both': choose one of selective, uniform"):
        RetrievalData("both")
    with pytest.raises(InputError, match="seed = -1"):
        RetrievalData("selective", -1)
    with pytest.raises(InputError, match="M = 10 memories: give a multiple of 4"):
        RetrievalData("uniform").training_batch(0, 2, 10, 0.1)
