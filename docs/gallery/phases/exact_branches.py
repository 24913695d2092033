"""
Coexisting states and their ends, exactly
=========================================

At the reference β₀ many minima coexist. The four with the largest overlaps are followed to where they end;
the second panel shows which of them has the lowest free energy. Diamonds are coexistence, circles are ends.
"""

import matplotlib.pyplot as plt

import hopfieldphase as hp

model = hp.HopfieldModel(hp.patterns.clustered(24, 16, clusters=4, delta=0.04, seed=1), alpha=2.0)
found = hp.branches(model, at=80.0, betas="20:300:1", top=4)
tree = found.to_datatree()
tree.hp.plot()
plt.show()

# %%
# Branches are objects: the state of one at any β, and what ends it.

best = found[0]
print("support", best.at(80.0).support, "ends in a", best.ends[1].label, "at", round(best.upper, 6))
