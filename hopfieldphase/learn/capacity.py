"""How well a trained Transformer retrieves at any memory load and temperature: Appendices G.2 and G.3."""

from dataclasses import dataclass

import numpy as np
import torch

from hopfieldphase.learn.retrieval_data import RetrievalData
from hopfieldphase.learn.transformer import CrossAttentionTransformer

LOADS = tuple(2**k for k in range(3, 13))
"""Memory loads of Figures 12 and 13, 8 to 4096."""

BETAS = tuple(2.0**k for k in range(-2, 10))
"""Inverse temperatures of Figures 14 and 15."""

BETA_LOAD = 128
"""Memory load of Figures 14 and 15."""

QUERY_NOISE = 0.10
"""Level σ_Q at which models are measured."""

_BLOCK = 32  # examples at a time: with 4096 memories an activation takes 50 MB


@dataclass(frozen=True)
class Reliability:
    r"""What n examples say of a model, each an array of shape (n,) in float64.

    Attributes
    ----------
    value_correct : ndarray
        1 where the output is nearest to the value asked for, else 0 (the value top-1 accuracy is its mean);
        NaN where a whole cluster is asked for.
    relative_error : ndarray
        Squared error over that of the output zero, :math:`|R|\,|\hat y - y|^2/d_v`.
    ipr : ndarray
        Effective support 1/Σ p², mean over the heads.
    ipr_ratio : ndarray
        `ipr` over the number of relevant memories, |R|.
    support_size : ndarray
        Number of memories with positive weight, mean over the heads.
    relevant_weight : ndarray
        Attention on the relevant memories, mean over the heads.
    """

    value_correct: np.ndarray
    relative_error: np.ndarray
    ipr: np.ndarray
    ipr_ratio: np.ndarray
    support_size: np.ndarray
    relevant_weight: np.ndarray


@torch.inference_mode()
def reliability(
    model: CrossAttentionTransformer,
    data: RetrievalData,
    M: int,
    *,
    beta: float = 1.0,
    query_noise: float = QUERY_NOISE,
    examples: int = 512,
) -> Reliability:
    """Measure a model on examples that training never saw.

    Models with the same data see the same examples, at every β. Memory stays bounded: few examples are held
    at a time.

    Parameters
    ----------
    model : CrossAttentionTransformer
    data : RetrievalData
    M : int
        Memories per example.
    beta : float
        Inverse temperature of the attention.
    query_noise : float
        Level σ_Q.
    examples : int
        Number of examples n.

    Returns
    -------
    Reliability

    Raises
    ------
    InputError
        If M or β is outside its domain.

    Notes
    -----
    Observables of Appendix G.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    n_relevant = data.relevant_count(M)
    parts = []
    for block, start in enumerate(range(0, examples, _BLOCK)):
        batch = data.evaluation_batch(block, min(_BLOCK, examples - start), M, query_noise)
        output, p = model(batch.query, batch.keys, batch.values, beta)
        p = p.double()
        error = (output.double() - batch.target.double()).square().sum(-1)
        if data.task == "selective":
            # |y − v|² without |y|², which is the same for all values
            distance = batch.values.square().sum(-1) - 2 * torch.einsum("bmv,bv->bm", batch.values, output)
            asked = batch.relevant.int().argmax(-1)
            correct = (distance.argmin(-1) == asked).double()
        else:
            correct = torch.full_like(error, torch.nan)
        ipr = (1 / p.square().sum(-1)).mean(-1)
        parts.append(
            (
                correct,
                error * n_relevant / data.d_value,
                ipr,
                ipr / n_relevant,
                (p > 0).double().sum(-1).mean(-1),
                (p * batch.relevant[:, None]).sum(-1).mean(-1),
            )
        )
    return Reliability(*(torch.cat(column).numpy() for column in zip(*parts, strict=True)))
