"""
Attention maps side by side
===========================

The same scores under six maps, with a causal mask: −∞ marks a key that is not there. White cells are exact
zeros.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

n = 14
generator = np.random.default_rng(5)
keys = np.cumsum(generator.standard_normal((n, 6)), axis=0)
keys /= np.linalg.norm(keys, axis=1, keepdims=True)
scores = np.where(np.tri(n, dtype=bool), 4.0 * keys @ keys.T, -np.inf)

maps = {
    "softmax": hp.attention.Entmax(1.0),
    "entmax, α = 1.5": hp.attention.Entmax(1.5),
    "sparsemax": hp.attention.Entmax(2.0),
    "top-3 softmax": hp.attention.TopK(3),
    "top-p, p = 0.8": hp.attention.TopP(0.8),
    "normmax, γ = 4": hp.attention.Normmax(4.0),
}
figure, axes = plt.subplots(2, 3, figsize=(6.6, 4.5), sharex=True, sharey=True)
for ax, (name, attention) in zip(axes.flat, maps.items(), strict=True):
    weights = attention.weights(scores)
    image = ax.imshow(np.ma.masked_equal(weights, 0.0), vmin=0, vmax=1)
    ax.set_title(f"{name}: {np.count_nonzero(weights)} weights")
    ax.tick_params(which="both", top=False, right=False)
figure.colorbar(image, ax=axes, label="weight", shrink=0.8)
figure.supxlabel("key", fontsize=9)
figure.supylabel("query", fontsize=9)
plt.show()

# %%
# A mask is not the only constraint: no key may take more than a share, say.

print(hp.attention.ConstrainedSoftmax(0.3).weights(scores[-1]).max())
