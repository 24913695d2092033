"""
When is a memory stored exactly?
================================

Above a certain β a sparse map gives a stored pattern all the weight. For random patterns the probability of
that is known in closed form, at any dimension; dots are measured on random sets.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")
forms = hp.closed_forms

M, alpha = 50, 1.5
figure, ax = plt.subplots(figsize=(4.6, 3.1))
for d, look, marker in ((8, ":", "^"), (16, "--", "s"), (32, "-", "o")):
    onsets = []
    for k in range(40):
        patterns = hp.patterns.spherical(M, d, seed=0, realization=k)
        onsets.append(forms.exact_storage_onset(patterns @ patterns.T, alpha))
    b = np.linspace(3.0, 40.0, 300)
    (line,) = ax.plot(
        b,
        [forms.exact_storage_probability(M, d, value, alpha) for value in b],
        look,
        label=f"$d = {d}$",
    )
    shown = b[::25]
    ax.plot(shown, [np.mean(np.ravel(onsets) <= value) for value in shown], marker, color=line.get_color())
ax.set(xlabel=r"$b = \beta s^2$", ylabel="probability of exact storage", ylim=(0, 1.03))
ax.legend(loc="lower right")
plt.show()
