"""
Fluctuating queries in a double well
====================================

States drawn from :math:`\\exp(-\\Gamma/T)` by a Metropolis-adjusted Langevin sampler, over the landscape that
they are drawn from. Effective sample size and :math:`\\hat R` come with the sample: they say whether it can
be trusted.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

keys = np.array([[1.0, 0.0], [-0.6, 0.8]])
model = hp.HopfieldModel(keys, alpha=1.0, scale=1.0)
beta, temperature = 6.0, 1.0
drawn = hp.sample(model, beta, temperature, draws=2000, thin=5, seed=1)
print("effective samples:", drawn.ess.round(), " R-hat:", drawn.r_hat.round(4))

axis = np.linspace(-2.0, 2.2, 161)
plane = np.stack(np.meshgrid(axis, axis), axis=-1)
density = np.exp(-model.free_energy(plane, beta) / temperature)

figure, ax = plt.subplots(figsize=(3.8, 3.4))
states = drawn.states.reshape(-1, 2)
ax.plot(*states[::4].T, ".", color="0.6", markersize=1.5)
ax.contour(axis, axis, density / density.max(), levels=[0.05, 0.2, 0.5, 0.8])
ax.plot(*keys.T, "x", color="black", markersize=6)
ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-1.9, 2.1), ylim=(-1.5, 2.1), aspect="equal")
plt.show()
