"""
A phase diagram whose lines are not contoured
=============================================

Ten equidistant patterns, β against the Tsallis index: softmax at the bottom, sparsemax at the top. Maps come
from sweeps in every cell; the lines (both spinodals and coexistence) are followed by continuation in two
parameters and lie on their closed forms.
"""

import matplotlib.pyplot as plt

import hopfieldphase as hp
from hopfieldphase.plotting.diagram import plot_regions
from hopfieldphase.runs.diagram_spec import DiagramSpec

spec = DiagramSpec(
    y="alpha",
    betas="20:170:10",
    y_values="1:2:0.125",
    queries=4,
    patterns={"generator": "equicorrelated", "M": 10, "d": 16, "cosine": 0.0},
)
diagram = hp.study(spec)
plot_regions(diagram)
plt.show()
