"""
Two keys: the order of the transition depends on α
==================================================

Between the equal mixture of two keys and a single one there is a continuous transition for α < 2, a
degenerate one at α = 2, and a transition of first order for 2 < α < 3. Symbols are sweeps, lines the closed
forms for both ends.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")
forms = hp.closed_forms

epsilon = 0.3
keys = hp.patterns.two_keys(epsilon, d=4)
figure, axes = plt.subplots(1, 3, figsize=(7.0, 2.5), sharey=True)
for ax, alpha in zip(axes, (1.5, 2.0, 2.5), strict=True):
    model = hp.HopfieldModel(keys, alpha=alpha, scale=1.0)
    mixed, single = (
        forms.two_keys_instability(epsilon, alpha),
        forms.two_keys_vertex(epsilon, alpha),
    )
    span = np.array([0.85 * min(mixed, single), 1.1 * max(mixed, single)])
    loop = hp.sweep_beta(model, np.linspace(*span, 61))
    for direction, marker, colour in (("up", "^", "#0072B2"), ("down", "v", "#D55E00")):
        ax.plot(
            "beta",
            "overlap_max",
            marker,
            data=loop.sel(direction=direction),
            color=colour,
            markersize=3,
            label=direction,
        )
    ax.axvline(mixed, linestyle="--", color="0.5", label="mixture ends")
    ax.axvline(single, linestyle=":", color="black", label="single key ends")
    if 2 < alpha < 3:
        ax.axvline(forms.two_keys_coexistence(epsilon, alpha), color="#009E73", label="coexistence")
    ax.set(title=rf"$\alpha = {alpha}$", xlabel=r"$b = \beta s^2$", xlim=span)
axes[0].set_ylabel(r"overlap $z_{\max}$")
figure.legend(*axes[2].get_legend_handles_labels(), loc="outside lower center", ncols=5)
plt.show()
