"""
Spinodal and coexistence against closed forms
=============================================

Equidistant patterns for every α between softmax and sparsemax: the retrieval branch of one pattern is
followed by pseudo-arclength, and where it folds is compared with the formula that knows nothing of the
solver.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")
forms = hp.closed_forms

M = 10
patterns = hp.patterns.equicorrelated(M, M)
alphas = np.linspace(1.0, 2.0, 81)
figure, ax = plt.subplots(figsize=(5.0, 3.2))
for function, name, look in (
    (forms.potts_instability, "mean loses stability", "--"),
    (forms.potts_coexistence, "coexistence", "-"),
    (forms.potts_spinodal, "retrieval ends (spinodal)", "-."),
):
    ax.plot(alphas, [function(M, alpha) for alpha in alphas], look, label=name)
ax.plot(
    alphas[8:],
    [forms.potts_vertex(alpha) for alpha in alphas[8:]],
    ":",
    color="0.3",
    label="stored exactly",
)

for alpha in (1.0, 1.25, 1.5, 1.75):
    model = hp.HopfieldModel(patterns, alpha=alpha, scale=1.0)
    start = 1.2 * forms.potts_instability(M, alpha)
    branch = hp.follow(model, patterns[0], start, betas=(2.0, start))
    ax.plot(alpha, branch.lower, "o", color="black", markerfacecolor="white", zorder=3, clip_on=False)
    print(f"alpha = {alpha}: measured {branch.lower:.10f}, formula {forms.potts_spinodal(M, alpha):.10f}")

ax.plot([], [], "o", color="black", markerfacecolor="white", label="followed numerically")
ax.set(xlabel=r"Tsallis index $\alpha$", ylabel=r"coupling $K = \beta s^2(1-c)$", ylim=(1.8, 11))
ax.legend()
plt.show()
