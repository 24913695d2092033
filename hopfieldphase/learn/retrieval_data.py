"""Retrieval from clustered memories: the data on which the Transformers of Appendix G are trained."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.capacity_spec import TASKS, Task

_MAPS, _TRAINING, _EVALUATION = range(3)  # independent random streams of one seed


@dataclass(frozen=True)
class Batch:
    """B examples of M memories each, in float32.

    Attributes
    ----------
    query : Tensor, shape (B, d_input)
        Observed queries q.
    keys : Tensor, shape (B, M, d_input)
        Observed keys k_μ.
    values : Tensor, shape (B, M, d_value)
        Values v_μ, independent standard Gaussian vectors.
    relevant : Tensor of bool, shape (B, M)
        The memories that the query asks for: one, or those of one cluster.
    target : Tensor, shape (B, d_value)
        Mean value of the relevant memories.
    """

    query: Tensor
    keys: Tensor
    values: Tensor
    relevant: Tensor
    target: Tensor


@dataclass(frozen=True)
class RetrievalData:
    r"""A generator of examples, fixed by its seed.

    Cluster centres :math:`c_r` are uniform on the sphere, new for every example; memory μ belongs to cluster
    :math:`a(\mu) = \mu \bmod C` and has the latent key
    :math:`u_\mu \propto \sqrt{1-\delta}\, c_{a(\mu)} + \sqrt{\delta}\, \epsilon_\mu` of unit norm. The latent
    query is :math:`u_Q \propto u_t + \sigma_Q \epsilon_Q` for a memory t drawn uniformly ("selective"), or
    :math:`u_Q \propto c_r + \sigma_Q \epsilon_Q` for a cluster r drawn uniformly ("uniform"). Observed are
    :math:`q = A_Q u_Q + \sigma_{obs} \eta_Q` and :math:`k_\mu = A_K u_\mu + \sigma_K \eta_\mu`, with fixed
    :math:`A_Q, A_K` of orthonormal columns; all ε and η are standard Gaussian vectors, not of unit norm.

    Parameters
    ----------
    task : {"selective", "uniform"}
        To give back the value of one memory, or the mean value of one cluster.
    seed : int
        Fixes A_Q, A_K and every batch, each in a random stream of its own.
    clusters, delta, d_latent, d_input, d_value, query_spread, key_spread
        C, δ, the dimensions, σ_obs and σ_K.

    Raises
    ------
    InputError
        If there is no such task, or the seed is negative.

    Notes
    -----
    Appendix G.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """

    task: Task
    seed: int = 0
    clusters: int = 4
    delta: float = 0.12
    d_latent: int = 16
    d_input: int = 24
    d_value: int = 32
    query_spread: float = 0.03
    key_spread: float = 0.05

    def __post_init__(self) -> None:
        if self.task not in TASKS:
            raise InputError(f"task = {self.task!r}: choose one of {', '.join(TASKS)}")
        if self.seed < 0:
            raise InputError(f"seed = {self.seed}: give an integer of at least 0")

    @cached_property
    def observation_maps(self) -> tuple[np.ndarray, np.ndarray]:
        """A_Q and A_K, shape (d_input, d_latent), uniform among the matrices with orthonormal columns."""
        rng = self._generator(_MAPS)
        found = []
        for _ in range(2):
            q, r = np.linalg.qr(rng.standard_normal((self.d_input, self.d_latent)))
            found.append((q * np.sign(np.diag(r))).astype(np.float32))
        return found[0], found[1]

    def relevant_count(self, M: int) -> int:
        """How many of M memories a query asks for, |R|.

        Raises
        ------
        InputError
            If M memories do not fill the clusters equally where a cluster is asked for, or there are none.
        """
        if M < 1 or (self.task == "uniform" and M % self.clusters):
            allowed = "at least 1" if self.task == "selective" else f"a multiple of {self.clusters}"
            raise InputError(f"M = {M} memories: give {allowed}")
        return 1 if self.task == "selective" else M // self.clusters

    def training_batch(self, step: int, B: int, M: int, query_noise: float) -> Batch:
        """Examples of training step `step`; they depend on the seed and the arguments alone."""
        return self._batch(self._generator(_TRAINING, step), B, M, query_noise)

    def evaluation_batch(self, block: int, B: int, M: int, query_noise: float) -> Batch:
        """Examples that training never sees; they depend on the seed and the arguments alone."""
        return self._batch(self._generator(_EVALUATION, M, block), B, M, query_noise)

    def _generator(self, *stream: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=stream))

    def _batch(self, rng: np.random.Generator, B: int, M: int, query_noise: float) -> Batch:
        n_relevant = self.relevant_count(M)

        def normal(*shape: int) -> np.ndarray:
            return rng.standard_normal(shape, dtype=np.float32)

        centres = _unit(normal(B, self.clusters, self.d_latent))
        cluster = np.arange(M) % self.clusters
        noise = normal(B, M, self.d_latent)
        keep, spread = np.float32(np.sqrt(1 - self.delta)), np.float32(np.sqrt(self.delta))
        latent_keys = _unit(keep * centres[:, cluster] + spread * noise)
        if self.task == "selective":
            asked = rng.integers(M, size=B)
            around, relevant = latent_keys[np.arange(B), asked], asked[:, None] == np.arange(M)
        else:
            asked = rng.integers(self.clusters, size=B)
            around, relevant = centres[np.arange(B), asked], asked[:, None] == cluster
        latent_query = _unit(around + np.float32(query_noise) * normal(B, self.d_latent))
        to_query, to_key = self.observation_maps
        query = latent_query @ to_query.T + np.float32(self.query_spread) * normal(B, self.d_input)
        keys = latent_keys @ to_key.T + np.float32(self.key_spread) * normal(B, M, self.d_input)
        values = torch.from_numpy(normal(B, M, self.d_value))
        marked = torch.from_numpy(relevant)
        target = torch.einsum("bm,bmv->bv", marked.float(), values) / n_relevant
        return Batch(torch.from_numpy(query), torch.from_numpy(keys), values, marked, target)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
