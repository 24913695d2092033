"""
Adding memories: a sweep in the memory load
===========================================

At fixed β, patterns join and leave one by one, M = exp(κ d) of them. For α > 1 only few of them act on the
state, so that the sweep is exact to the single pattern.
"""

import matplotlib.pyplot as plt

import hopfieldphase as hp

sequences = [hp.patterns.sequence("clustered", d=48, realization=k) for k in range(3)]
load = hp.sweep_kappa(sequences, "0.06:0.19:0.005", beta=180.0, alpha=2.0)
load.hp.plot()
plt.show()
