"""
The barrier between two memories
================================

The path of least energy between two stored patterns, and the saddle on it, for several β. Free energies are
given in units of the temperature, so that a barrier of one is one :math:`k_B T`.
"""

import matplotlib.pyplot as plt

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

keys = hp.patterns.equicorrelated(2, 8)
model = hp.HopfieldModel(keys, alpha=1.5, scale=1.0)
figure, ax = plt.subplots(figsize=(4.5, 3.0))
for beta, look in ((3.5, ":"), (4.5, "--"), (6.0, "-")):
    found = hp.barrier(model, keys[0], keys[1], beta)
    share = found.arclength / found.arclength[-1]
    ax.plot(share, found.energies - found.energies[0], look, label=rf"$\beta = {beta}$")
    ax.plot(0.5, hp.closed_forms.pair_barrier(beta, 1.5), "kx", markersize=5)
ax.plot([], [], "kx", label="closed form")
ax.set(xlabel="share of the way from one memory to the other", ylabel=r"$\Gamma - \Gamma_{\mathrm{memory}}$")
ax.legend()
ax.margins(y=0.08)
plt.show()
