"""
How far apart are two samples?
==============================

The energy distance of two ensembles needs no density and no bins. Two independent samples of one law are not
at distance zero: they are at 2δ/N on average, the floor of every comparison.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

law, light = hp.ensembles.MirroredPareto(2.5), hp.ensembles.Gaussian(1.0)
sizes = 2 ** np.arange(4, 12)
same, other = [], []
for n in sizes:
    draws = [law.sample((3, n), seed=k) for k in range(12)]
    same.append(np.mean([hp.energy_distance(a, b) for a, b, _ in draws]))
    other.append(
        np.mean([hp.energy_distance(a, light.sample(n, seed=k)) for k, (a, _, _) in enumerate(draws)])
    )

figure, ax = plt.subplots(figsize=(4.6, 3.1))
ax.loglog(sizes, other, "s-", label="heavy tails against a Gaussian")
ax.loglog(sizes, same, "o-", label="heavy tails against themselves")
ax.loglog(sizes, 2 * law.mean_difference() / sizes, "k--", label=r"floor $2\delta/N$")
ax.set(xlabel="samples in each ensemble $N$", ylabel="energy distance")
ax.margins(0.05)
ax.legend()
plt.show()
