"""
Where does this memory jump, and why?
=====================================

One memory is heated from low temperature. Its branch is followed to where it ends, the state falls into
another one, that one is followed, and so on. At sparsemax (α = 2) this is exact: between two events the state
is a rational function of β, and no step can be too long.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

patterns = hp.patterns.clustered(60, 24, seed=3)
model = hp.HopfieldModel(patterns, alpha=2.0)
ladder = [hp.follow(model, patterns[7], beta=400.0)]
while (end := ladder[-1].ends[0]).is_jump:
    size = len(end.landing.support)
    print(f"{end.label:12} at beta = {end.parameter:9.4f}, the state jumps to {size} patterns")
    ladder.append(hp.follow(model, end.landing.x, end.parameter * (1 - 1e-6)))

# %%
# An event is named by what happens: `enters:11` means that the overlap of pattern 11 has reached the
# threshold, and that the minimum does not survive this. Events that it survives are kinks, small dots in the
# picture. The curvature says how close a state is to a spinodal, where it would reach zero.

figure, axes = plt.subplots(2, 1, figsize=(5.8, 4.2), sharex=True)
top = 400.0
for number, branch in enumerate(ladder):
    for piece in branch.pieces:
        if piece.lower < top:
            betas = np.linspace(max(piece.lower, 4.0), min(piece.upper, top), 40)
            states = [piece.at(beta) for beta in betas]
            axes[0].semilogx(betas, [state.overlap_max for state in states], color=f"C{number}")
            axes[1].semilogx(betas, [state.hessian_min for state in states], color=f"C{number}")
    for point in branch.special_points:
        if point.goes_on and point.parameter < top:
            axes[0].plot(point.parameter, point.state.overlap_max, ".", color="black", markersize=3)
    end, top = branch.ends[0], branch.lower
    if end.is_jump:
        heights = [end.state.overlap_max, end.landing.overlap_max]
        axes[0].plot([end.parameter] * 2, heights, ":", color="0.4")
        axes[0].plot(end.parameter, end.state.overlap_max, "o", color=f"C{number}")
axes[0].set(ylabel=r"overlap $z_{\max}$", title="heated from the right: supports grow, memories merge")
axes[1].set(
    xlabel=r"inverse temperature $\beta$", ylabel=r"$\lambda_{\min}/\beta$", ylim=(0, 1.05), xlim=(4, 400)
)
axes[0].margins(y=0.08)
plt.show()
