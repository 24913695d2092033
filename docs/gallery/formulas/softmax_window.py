"""
Softmax does jump: the window of equidistant patterns
=====================================================

Ten orthogonal patterns, ordinary softmax. Swept up, the state stays at the mean until that loses its
stability at :math:`K = M`; swept down, a retrieved pattern survives to a spinodal at less than half of that.
Both ends, and the coexistence between them, are known in closed form: this is the mean-field Potts model.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")
forms = hp.closed_forms

M = 10
model = hp.HopfieldModel(hp.patterns.equicorrelated(M, M), alpha=1.0, scale=1.0)
loop = hp.sweep_beta(model, np.arange(3.0, 11.0, 0.1))

figure, ax = plt.subplots(figsize=(5.0, 3.2))
weight = np.linspace(1 / M + 1e-3, 0.9999, 400)
ax.plot(
    [forms.potts_coupling(p, M, 1.0) for p in weight],
    weight,
    color="0.6",
    linestyle="--",
    label="closed form",
)
for direction, marker, colour in (("up", "^", "#0072B2"), ("down", "v", "#D55E00")):
    ax.plot(
        "beta",
        "overlap_max",
        marker + "-",
        data=loop.sel(direction=direction),
        color=colour,
        label=f"sweep {direction}",
        markersize=3,
        linewidth=0.8,
    )
for value, name in (
    (forms.potts_spinodal(M, 1.0), "spinodal"),
    (forms.potts_coexistence(M, 1.0), "coexistence"),
    (forms.potts_instability(M, 1.0), "instability"),
):
    ax.axvline(value, color="black", linewidth=0.6, linestyle=":")
    ax.annotate(
        name,
        (value, 1.02),
        xycoords=("data", "axes fraction"),
        fontsize=8,
        ha="right" if name == "spinodal" else "left",
    )
ax.set(xlabel=r"coupling $K = \beta s^2 (1 - c)$", ylabel=r"overlap $z_{\max}$", xlim=(3, 11), ylim=(0, 1.03))
ax.legend(loc="center")
plt.show()
