"""
Long contexts: does attention disperse?
=======================================

One key leads by a fixed gap, all others are random. Under softmax its weight falls to zero with the length
of the context, whatever the gap. Sparsemax keeps all of it here, entmax with α = 1.5 and top-k level off, and
a softmax whose temperature knows the length comes back to it.
"""

import matplotlib.pyplot as plt
import numpy as np

import hopfieldphase as hp

plt.style.use("hopfieldphase.plotting.hopfieldphase")

lengths = np.unique(np.geomspace(8, 100_000, 25).astype(int))
others = np.random.default_rng(0).uniform(-2.0, 0.0, lengths[-1])
maps = {
    "softmax": (hp.attention.Entmax(1.0), "-"),
    "entmax, α = 1.5": (hp.attention.Entmax(1.5), "--"),
    "sparsemax": (hp.attention.Entmax(2.0), "-."),
    "top-8 softmax": (hp.attention.TopK(8), ":"),
    "softmax, β ∝ log n": (
        hp.attention.LengthScaled(hp.attention.Entmax(1.0), hp.attention.Logarithmic(1.0)),
        (0, (6, 1, 1, 1, 1, 1)),
    ),
}
figure, ax = plt.subplots(figsize=(6.6, 3.0))
for name, (attention, look) in maps.items():
    leader = [hp.attention.weights(attention, np.append(1.2, others[: n - 1]))[0] for n in lengths]
    ax.semilogx(lengths, leader, linestyle=look, label=name)
ax.set(xlabel="length of the context $n$", ylabel="weight of the leading key", ylim=(0, 1.03))
figure.legend(loc="outside right center")
plt.show()
