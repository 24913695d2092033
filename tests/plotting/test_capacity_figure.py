"""Accuracy and support of trained Transformers: every panel shows what differs."""

import numpy as np
import pytest

from hopfieldphase.data import store
from hopfieldphase.plotting.capacity import plot_capacity
from hopfieldphase.plotting.trained import COLUMNS
from hopfieldphase.runs.library import shipped_results

SHARE = 0.8  # of the height of a panel, that its curves reach over


@pytest.mark.parametrize("name", ["figure-12", "figure-13"])
def test_curves_fill_their_panels(name):
    tree = store.open(shipped_results()[name])
    (task,) = tree.attrs["tasks"]
    for ax, (observable, _) in zip(plot_capacity(tree), COLUMNS[task], strict=True):
        values = tree[task][observable].mean("seed").values
        low, high = ax.transAxes.inverted().transform(
            ax.transData.transform([(8, values.min()), (8, values.max())])
        )[:, 1]
        assert np.all(np.isfinite(values))
        assert SHARE < high - low < 1
