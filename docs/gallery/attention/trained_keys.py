"""
Keys of a Transformer as stored patterns
========================================

For a head with keys K, the model with ``scale = 1/sqrt(d)`` has the head's own scores as overlaps, and β = 1
is the temperature at which the head works. Here the keys are made up: a common offset, as trained keys have
it, and a few groups. Left of the dotted line the landscape of softmax has a single minimum.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

generator = np.random.default_rng(4)
d = 32
groups = np.repeat(generator.standard_normal((6, d)), 8, axis=0)
keys = 1.5 * generator.standard_normal(d) + 1.4 * groups + 0.8 * generator.standard_normal((48, d))

figure, ax = plt.subplots(figsize=(4.8, 3.1))
betas = np.geomspace(0.01, 8.0, 80)
for alpha, colour in ((1.0, "C0"), (1.5, "C1"), (2.0, "C2")):
    loop = hp.sweep_beta(hp.HopfieldModel(keys, alpha=alpha), betas)
    for direction, look in (("up", "-"), ("down", "--")):
        ax.loglog(
            betas,
            loop["ipr"].sel(direction=direction),
            look,
            color=colour,
            label=rf"$\alpha = {alpha}$" if direction == "up" else None,
        )
centred = keys - keys.mean(axis=0)
single = d / np.linalg.eigvalsh(centred.T @ centred)[-1]
ax.axvline(single, color="0.3", linestyle=":")
ax.axvline(1.0, color="black", linewidth=0.6)
ax.annotate(r"the head: $\beta = 1$", (1.1, 38), fontsize=8)
ax.set(xlabel=r"inverse temperature $\beta$", ylabel=r"keys in use, $1/\sum p_\mu^2$", ylim=(0.8, 60))
ax.legend(loc="lower left", bbox_to_anchor=(0.18, 0.0), title="up: solid, down: dashed")
plt.show()
