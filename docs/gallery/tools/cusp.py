"""
A textbook problem: the cusp
============================

The arclength engine takes any problem F(x, p) = 0. Here it is the imperfect pitchfork :math:`h + p x - x^3 =
0`, whose folds are known: :math:`p = 3 (h/2)^{2/3}`.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")


def cusp(h):
    return hp.Problem(
        F=lambda x, p: h + p * x - x**3, F_x=lambda x, p: np.diag(p - 3 * x**2), F_p=lambda x, p: x
    )


figure, ax = plt.subplots(figsize=(4.8, 3.2))
for h, colour in ((0.02, "C0"), (0.1, "C1"), (0.3, "C2")):
    for x0 in (1.6, -1.2):
        curve = hp.continue_curve(
            cusp(h), [x0], 2.0, p_min=-1.0, p_max=2.0, requested=np.linspace(-1.0, 2.0, 151)
        )
        stable = curve.index == 1  # F_x < 0: x' = F is attracted
        x = curve.state[:, 0]
        ax.plot(curve.parameter, x, color=colour, linewidth=0.7, linestyle="--")
        ax.plot(
            np.where(stable, curve.parameter, np.nan),
            x,
            color=colour,
            label=rf"$h = {h}$" if x0 > 0 else None,
        )
        for point in curve.special_points:
            if point.kind == "fold":
                ax.plot(point.parameter, point.state[0], "o", color=colour)
                print(f"h = {h}: fold at {point.parameter:.12f}, exact {3 * (h / 2) ** (2 / 3):.12f}")
ax.set(xlabel="parameter $p$", ylabel="state $x$")
ax.legend()
plt.show()
