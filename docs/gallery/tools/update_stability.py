"""
How large may a gradient step be?
=================================

Descent with a fixed step η converges to a minimum if η stays below :math:`2/\\lambda_{\\max}` of the Hessian
there. The attention update itself is the step η = 1/β, which is always safe, because no eigenvalue exceeds β.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

patterns = hp.patterns.clustered(30, 16, seed=1)
model = hp.HopfieldModel(patterns, alpha=1.0)
beta = 150.0
minimum = hp.relax(model, patterns[0], beta)
critical = 2 / np.linalg.eigvalsh(model.hessian(minimum.x, beta))[-1]

figure, ax = plt.subplots(figsize=(4.8, 3.1))
kick = 1e-3 * np.random.default_rng(0).standard_normal(16)
for factor, look in ((0.5, "-"), (0.95, "--"), (1.02, "-."), (1.1, ":")):
    x, distance = minimum.x + kick, []
    for _ in range(160):
        distance.append(np.linalg.norm(x - minimum.x))
        x = x - factor * critical * model.gradient(x, beta)
    ax.semilogy(distance, look, label=rf"$\eta = {factor}\,\eta_{{\mathrm{{crit}}}}$")
ax.set(xlabel="step", ylabel=r"$|x - x^*|$", ylim=(1e-12, 10))
ax.legend(ncols=2)
plt.show()
