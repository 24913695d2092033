"""
The free-energy landscape through three memories
================================================

Three memories span a plane. Its landscape has one basin at high temperature, one for each memory at low
temperature, and in a window between them both (middle). White paths are attention updates x ← T(x), along
which the free energy never rises; dots are where they end.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

angles = np.deg2rad([90.0, 210.0, 330.0])
memories = np.column_stack([np.cos(angles), np.sin(angles)])
model = hp.HopfieldModel(memories, alpha=1.5, scale=1.0)

axis = np.linspace(-1.4, 1.4, 201)
plane = np.stack(np.meshgrid(axis, axis), axis=-1)
starts = np.stack(np.meshgrid(*[np.linspace(-1.25, 1.25, 6)] * 2), axis=-1).reshape(-1, 2)

figure, axes = plt.subplots(1, 3, figsize=(7.0, 2.6), sharey=True)
for ax, beta in zip(axes, (1.2, 1.68, 4.0), strict=True):
    energy = model.free_energy(plane, beta)  # one call for the whole plane
    ax.contourf(axis, axis, energy - energy.min(), levels=24, cmap="viridis")
    x = starts
    path = [x]
    for _ in range(400):
        x = model.retrieve(x, beta)
        path.append(x)
    path = np.array(path)
    ax.plot(path[:, :, 0], path[:, :, 1], color="white", linewidth=0.6, alpha=0.8)
    ax.plot(path[-1, :, 0], path[-1, :, 1], "o", color="#D55E00", markersize=4)
    ax.plot(*memories.T, "x", color="black", markersize=5)
    ax.set(title=rf"$\beta = {beta}$", xlabel="$x_1$", aspect="equal")
axes[0].set_ylabel("$x_2$")
plt.show()
