"""
Any attention map in the model
==============================

`HopfieldModel(patterns, attention=...)` retrieves with any map. Where it has a free energy, minima are
verified as ever. Where it has none, a state is stable when the spectral radius of the update is below one.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

patterns = hp.patterns.clustered(40, 24, seed=0)
betas = np.geomspace(20.0, 2000.0, 60)
figure, axes = plt.subplots(1, 3, figsize=(7.0, 2.6), sharey=True)
for ax, attention in zip(
    axes, (hp.attention.Entmax(1.5), hp.attention.TopK(5), hp.attention.SquaredElu()), strict=True
):
    model = hp.HopfieldModel(patterns, attention=attention)
    loop = hp.sweep_beta(model, betas)
    for direction, marker, colour in (("up", "^-", "#0072B2"), ("down", "v-", "#D55E00")):
        one = loop.sel(direction=direction)
        ax.semilogx(
            betas, one["overlap_max"], marker, color=colour, markersize=2.5, linewidth=0.8, label=direction
        )
    kind = "free energy" if model.has_free_energy else "no free energy"
    ax.set(title=f"{attention.name}: {kind}", xlabel=r"inverse temperature $\beta$", ylim=(0, None))
axes[0].set_ylabel(r"overlap $z_{\max}$")
axes[0].legend()
plt.show()
