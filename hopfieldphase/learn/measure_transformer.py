"""The permutation-equivariant Transformer that maps ensembles to ensembles, with any positive kernel."""

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn import functional

from hopfieldphase.core.attention import Exponential, LinearElu, LogElu, SquaredElu
from hopfieldphase.core.errors import InputError
from hopfieldphase.learn.kernel_attention import kernel_attention
from hopfieldphase.learn.layers import draw_weights, linear

Norm = Literal["post", "pre"]

KERNELS = {kernel.name: kernel for kernel in (Exponential(), SquaredElu(), LinearElu(), LogElu())}
"""By name, in the order of their growth: Table 1 of the paper."""

RESIDUAL_SCALE = 4.899
"""α_RS of the post-norm blocks: √24 to the four digits printed."""

DIMENSION = 2


class MeasureTransformer(nn.Module):
    r"""A map of ensembles on the plane: affine in, blocks of attention and feed-forward network, affine out.

    With one head, :math:`\mathrm{Attn}(x)_i = W^O \sum_j p_{ij} v_j + b^O` where
    :math:`p_{ij} \propto g(q_i \cdot k_j/\sqrt{D})`, and with
    :math:`\mathrm{FF}(x) = W_2\,\mathrm{GELU}(W_1 x + b_1) + b_2`, every block applies both sublayers f in
    turn, as

    .. math:: x \leftarrow \mathrm{LN}(\alpha_{RS}\, x + f(x)) \text{ (post-norm)}, \qquad
       x \leftarrow x + f(\mathrm{LN}(x)) \text{ (pre-norm)}.

    Points have no order: a permutation of the input permutes the output. Post-norm outputs are bounded, by a
    bound that depends on the weights.

    Parameters
    ----------
    kernel : str
        Name of g, one of `KERNELS`.
    norm : {"post", "pre"}
    symlog : bool
        Take the signed logarithm of the input, and its inverse of the output.
    seed : int
        Of the initial weights: each matrix and each bias uniform within ± 1/√(number of inputs).
    width, hidden, blocks : int
        D, the inner width of the feed-forward network, and the number of blocks.

    Raises
    ------
    InputError
        For an unknown kernel or norm.

    Notes
    -----
    Appendix E of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures". Its 3,163,906
    parameters fix what is not printed: all linear maps have biases, and no norm follows the last block. A
    block has 4 (D² + D) = 263,168 (attention) + 2·512 D + 512 + D = 262,912 (feed-forward) + 4 D = 1,024
    (norms); six of them 3,162,624, the map in 3 D = 768, the map out 2 D + 2 = 514. Initial weights are not
    printed either; those here are PyTorch's usual ones.
    """

    def __init__(
        self,
        kernel: str,
        *,
        norm: Norm = "post",
        symlog: bool = False,
        seed: int = 0,
        width: int = 256,
        hidden: int = 512,
        blocks: int = 6,
    ) -> None:
        super().__init__()
        if kernel not in KERNELS:
            raise InputError(f"kernel = {kernel!r} is unknown: use {', '.join(KERNELS)}")
        if norm not in get_args(Norm):
            raise InputError(f"norm = {norm!r} is unknown: use post or pre")
        self.symlog = symlog
        self.input = linear(DIMENSION, width)
        self.blocks = nn.Sequential(*(_Block(kernel, norm, width, hidden) for _ in range(blocks)))
        self.output = linear(width, DIMENSION)
        draw_weights(self, seed)

    def forward(self, points: Tensor) -> Tensor:
        """The output ensembles of input ensembles.

        Parameters
        ----------
        points : Tensor, shape (…, N, 2)

        Returns
        -------
        Tensor, shape (…, N, 2)
        """
        x = torch.copysign(torch.log1p(points.abs()), points) if self.symlog else points
        y = self.output(self.blocks(self.input(x))).to(points.dtype)
        return torch.copysign(torch.expm1(y.abs()), y) if self.symlog else y

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(parameter.numel() for parameter in self.parameters())


class _Block(nn.Module):
    """Attention and feed-forward network, each with its residual connection and its norm."""

    def __init__(self, kernel: str, norm: Norm, width: int, hidden: int) -> None:
        super().__init__()
        self.post = norm == "post"
        self.attention = _Attention(kernel, width)
        self.ffn = nn.Sequential(linear(width, hidden), nn.GELU(), linear(hidden, width))
        self.attention_norm, self.ffn_norm = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """Shape (…, N, D) to the same."""
        for sublayer, norm in ((self.attention, self.attention_norm), (self.ffn, self.ffn_norm)):
            x = norm(RESIDUAL_SCALE * x + sublayer(x)) if self.post else x + sublayer(norm(x))
        return x


class _Attention(nn.Module):
    """Self-attention of one head with the kernel g, never an N × N matrix at once."""

    def __init__(self, kernel: str, width: int) -> None:
        super().__init__()
        self.kernel = KERNELS[kernel]
        self.query, self.key, self.value, self.output = (linear(width, width) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        """Shape (…, N, D) to the same."""
        q, k, v = (layer(x)[..., None, :, :] for layer in (self.query, self.key, self.value))
        if isinstance(self.kernel, Exponential):
            mean = functional.scaled_dot_product_attention(q, k, v)
        else:
            with torch.autocast(x.device.type, enabled=False):  # these kernels are summed in full precision
                full = self.query.weight.dtype
                mean = kernel_attention(q.to(full), k.to(full), v.to(full), self.kernel)
        return self.output(mean[..., 0, :, :])
