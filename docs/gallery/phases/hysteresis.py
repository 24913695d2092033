"""
Hysteresis of your own patterns
===============================

Stored patterns are the rows of an array. Here they are noisy copies of three templates. The inverse
temperature is swept up from the mean of all patterns, and down from the first one; where the two directions
are in different states, retrieval depends on the past.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

generator = np.random.default_rng(0)
templates = np.repeat(generator.standard_normal((3, 32)), 8, axis=0)
patterns = hp.patterns.unit_rows(templates + 1.2 * generator.standard_normal((24, 32)))

model = hp.HopfieldModel(patterns, alpha=2.0)
loop = hp.sweep_beta(model)  # without betas, a range is suggested from the patterns
loop.hp.plot()
plt.show()

# %%
# The result is an ordinary `xarray.Dataset`; its accessor reads the loop off it. A step that goes back where
# it came from when the sweep turns around is no jump: at α = 2 a pair of patterns becomes a single one that
# way.

(found,) = loop.hp.hysteresis()
print("the directions differ between", [round(edge, 1) for edge in found.edges])
print("jumps on the way down:", [round(jump.after, 1) for jump in found.jumps_down])
print("jumps on the way up:", [round(jump.after, 1) for jump in found.jumps_up])
