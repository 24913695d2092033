"""
Your own digits
===============

Two hundred handwritten digits are stored as they are. Half of one is the query: at high temperature it
relaxes to a mean of many digits, then to a mixture of a few, and at low temperature to the stored digit
itself.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

digits = hp.patterns.unit_rows(hp.patterns.digits()[:200])
model = hp.HopfieldModel(digits, alpha=2.0, scale=1.0)
target = digits[7]
query = np.where(np.arange(64) < 32, target, 0.0)  # the lower half is lost

betas = (4.0, 8.0, 16.0, 60.0)
figure, axes = plt.subplots(1, 6, figsize=(7.0, 1.5))
panels = {"stored": target, "query": query}
for beta in betas:
    found = hp.relax(model, query, beta)
    name = f"{len(found.support)} patterns" if len(found.support) > 1 else f"pattern {found.support[0]}"
    panels[rf"$\beta = {beta:.0f}$: {name}"] = found.x
for ax, (name, image) in zip(axes, panels.items(), strict=True):
    ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0)
    ax.set_title(name, fontsize=7)
    ax.set(xticks=[], yticks=[])
    ax.minorticks_off()
plt.show()
