"""`dataset.hp`: the functions of this package that read a sweep, where the sweep is.

The package gives every dataset and tree its `.hp`; this module is loaded when one is first used.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import xarray as xr

from hopfieldphase.data.summary import dataset_hysteresis, sweep_summary
from hopfieldphase.phases.hysteresis import TOLERANCE, Hysteresis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SweepAccessor:
    """What can be asked of a sweep; it holds nothing but the data that it was reached from."""

    def __init__(self, data: xr.Dataset | xr.DataTree) -> None:
        self._dataset = data.to_dataset() if isinstance(data, xr.DataTree) else data

    def summary(self, tolerance: float = TOLERANCE) -> dict[str, Any]:
        """All that the sweep shows, as plain values: see `hopfieldphase.data.summary.sweep_summary`."""
        return sweep_summary(self._dataset, tolerance)

    def hysteresis(self, tolerance: float = TOLERANCE) -> list[Hysteresis]:
        """Loop of each realization: see `hopfieldphase.phases.hysteresis.hysteresis`."""
        return dataset_hysteresis(self._dataset, tolerance)

    def plot(self, axes: "Sequence[Axes] | None" = None) -> "tuple[Axes, Axes]":
        """Hysteresis loop and support sizes: see `hopfieldphase.plotting.sweep.plot_sweep`."""
        # Matplotlib comes with the first figure, not with xarray.
        from hopfieldphase.plotting.sweep import plot_sweep  # noqa: PLC0415

        return plot_sweep(self._dataset, axes)
