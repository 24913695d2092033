"""
Free energies in one call
=========================

Model functions broadcast over the leading axes: all states between two memories at once, here for three α,
and with any array library that follows the array API (NumPy, PyTorch, CuPy).
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

patterns = hp.patterns.spherical(20, 32, seed=2)
way = np.linspace(-0.25, 1.25, 301)
states = (1 - way[:, None]) * patterns[0] + way[:, None] * patterns[1]

figure, axes = plt.subplots(1, 3, figsize=(7.0, 2.6), sharex=True)
for ax, alpha in zip(axes, (1.0, 1.5, 2.0), strict=True):
    model = hp.HopfieldModel(patterns, alpha=alpha, scale=1.0)
    for beta, look in ((2.0, ":"), (5.0, "--"), (10.0, "-")):
        energy = model.free_energy(states, beta) / beta
        ax.plot(way, energy - energy.min(), look, label=rf"$\beta = {beta:.0f}$")
    ax.set(title=rf"$\alpha = {alpha}$", xlabel="from memory 0 to memory 1")
axes[0].set_ylabel(r"$(\Gamma - \Gamma_{\min})/\beta$")
axes[0].legend(loc="upper center")
plt.show()
