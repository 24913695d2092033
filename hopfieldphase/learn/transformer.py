"""The one-layer cross-attention Transformer of Appendix G.2, with any entmax as its attention."""

import math

import torch
from torch import Tensor, nn

from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.learn.entmax import entmax
from hopfieldphase.learn.layers import draw_weights, linear
from hopfieldphase.learn.score_scaling import SCALINGS, Scaling


class CrossAttentionTransformer(nn.Module):
    r"""A query attends to M memories once, and a feed-forward network makes the output.

    With :math:`x_0 = W_Q^{in} q + r_Q`, the layer is

    .. math::
        q_h = W^Q_h\,\mathrm{LN}_Q(x_0), \quad k_{h\mu} = W^K_h\,\mathrm{LN}_K(W_K^{in} k_\mu + r_K), \quad
        v_{h\mu} = W^V_h\,\mathrm{LN}_V(W_V^{in} v_\mu + r_V),

        x_1 = x_0 + W^O\,\mathrm{Concat}_h \sum_\mu p_{h\mu} v_{h\mu}, \quad
        x_2 = x_1 + W_2\,\mathrm{GELU}(W_1\,\mathrm{LN}_{FFN}(x_1)), \quad
        \hat y = W^{out}\,\mathrm{LN}_{final}(x_2),

    and :math:`p_h = \arg\max_{p \in \Delta} \beta z_h \cdot p + \Psi_\alpha(p)` with
    :math:`z_{h\mu} = c_h(M)\, q_h \cdot k_{h\mu}/\sqrt{d_h}`, where :math:`c_h = 1` unless it is learned.

    Parameters
    ----------
    alpha : float
        Tsallis index of the attention, 0 < α ≤ ∞.
    scaling : {"none", "logarithmic", "adaptive"}
        Learned factor c_h(M) of the scores, see `hopfieldphase.learn.score_scaling`.
    seed : int
        Of the initial weights: each matrix, and each r, uniform within ± 1/√(number of inputs).
    d_input, d_value : int
        Dimensions of queries and keys, and of values.
    heads, d_head, d_hidden : int
        H, d_h and the width of the feed-forward network; the model has dimension H d_h.

    Notes
    -----
    Appendix G.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347). Two things are not printed
    there and chosen here: the initial weights (PyTorch's usual ones), and the scale 1/√d_h of the scores (as
    for overlaps in the rest of the paper).
    """

    def __init__(
        self,
        alpha: float,
        *,
        scaling: Scaling = "none",
        seed: int = 0,
        d_input: int = 24,
        d_value: int = 32,
        heads: int = 4,
        d_head: int = 24,
        d_hidden: int = 192,
    ) -> None:
        super().__init__()
        self.alpha, self.heads, self.d_head = tsallis_index(alpha), heads, d_head
        d_model = heads * d_head
        self.query_input = linear(d_input, d_model)
        self.key_input = linear(d_input, d_model)
        self.value_input = linear(d_value, d_model)
        self.query_norm, self.key_norm, self.value_norm, self.ffn_norm, self.final_norm = (
            nn.LayerNorm(d_model) for _ in range(5)
        )
        self.query_heads = linear(d_model, d_model, bias=False)
        self.key_heads = linear(d_model, d_model, bias=False)
        self.value_heads = linear(d_model, d_model, bias=False)
        self.attention_output = linear(d_model, d_model, bias=False)
        self.ffn = nn.Sequential(
            linear(d_model, d_hidden, bias=False), nn.GELU(), linear(d_hidden, d_model, bias=False)
        )
        self.output = linear(d_model, d_value, bias=False)
        self.scaling = SCALINGS[scaling](heads)
        draw_weights(self, seed)

    def forward(
        self, query: Tensor, keys: Tensor, values: Tensor, beta: float = 1.0
    ) -> tuple[Tensor, Tensor]:
        """Output and attention weights.

        Parameters
        ----------
        query : Tensor, shape (B, d_input)
        keys : Tensor, shape (B, M, d_input)
        values : Tensor, shape (B, M, d_value)
        beta : float
            Inverse temperature, 0 < β < ∞.

        Returns
        -------
        output : Tensor, shape (B, d_value)
        weights : Tensor, shape (B, H, M)
        """
        beta = inverse_temperature(beta)
        x = self.query_input(query)
        q = self.query_heads(self.query_norm(x)).unflatten(-1, (self.heads, self.d_head))
        k = self.key_norm(self.key_input(keys))
        # W^V_h acts once on the weighted mean: the matrices of the heads are never applied to M memories.
        v = self.value_norm(self.value_input(values))
        p = entmax(self._scores(q, k) * (beta if math.isinf(self.alpha) else beta / self.alpha), self.alpha)
        heads = torch.einsum("bhe,hde->bhd", p @ v, self._by_head(self.value_heads))
        x = x + self.attention_output(heads.flatten(-2))
        x = x + self.ffn(self.ffn_norm(x))
        return self.output(self.final_norm(x)), p

    @torch.inference_mode()
    def heads_of(self, query: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        r"""Queries and keys of every head, with :math:`z_{h\mu} = q_h \cdot k_{h\mu}/\sqrt{d_h}`.

        Parameters
        ----------
        query : Tensor, shape (B, d_input)
        keys : Tensor, shape (B, M, d_input)

        Returns
        -------
        q : Tensor, shape (B, H, d_h)
            With the learned factor c_h(M), where there is one.
        k : Tensor, shape (B, H, M, d_h)
        """
        q = self.query_heads(self.query_norm(self.query_input(query))).unflatten(
            -1, (self.heads, self.d_head)
        )
        if self.scaling is not None:
            q = q * self.scaling(keys.shape[1])[:, None]
        k = self.key_heads(self.key_norm(self.key_input(keys)))
        return q, k.unflatten(-1, (self.heads, self.d_head)).transpose(1, 2)

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        """Scores z of queries (B, H, d_h) with normalized keys (B, M, H d_h), shape (B, H, M)."""
        probe = torch.einsum("bhd,hde->bhe", q, self._by_head(self.key_heads))  # (W^K_h)ᵀ q_h, for all keys
        if self.scaling is not None:
            probe = probe * self.scaling(k.shape[1])[:, None]
        return probe @ k.transpose(-1, -2) / math.sqrt(self.d_head)

    def _by_head(self, layer: nn.Linear) -> Tensor:
        return layer.weight.unflatten(0, (self.heads, self.d_head))
