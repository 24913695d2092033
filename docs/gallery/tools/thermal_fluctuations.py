"""
Thermal attention beside softmax
================================

Softmax weights are the thermal averages of a system that is always at one key. A system that may also be
between keys, at any point of the simplex, has averages of its own: exact here for any number of keys, and
flatter at the same temperature.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

scores = np.array([1.0, 0.8, 0.5, 0.0, -0.4])
betas = np.geomspace(0.3, 100.0, 60)
vertices = np.array([hp.weights(scores, 1.0, beta) for beta in betas])
simplex = np.array([hp.thermal_attention(scores, alpha=1.0, beta=beta).weights for beta in betas])

figure, ax = plt.subplots(figsize=(5.0, 3.1))
for key, score in enumerate(scores):
    ax.semilogx(betas, vertices[:, key], "-", color=f"C{key}", label=rf"$z = {score}$")
    ax.semilogx(betas, simplex[:, key], "--", color=f"C{key}")
ax.plot([], [], "k-", label="at a key: softmax")
ax.plot([], [], "k--", label="on the simplex")
ax.set(xlabel=r"inverse temperature $\beta$", ylabel=r"mean weight $\langle p_\mu\rangle$", ylim=(0, 1))
ax.legend(ncols=1)
plt.show()
