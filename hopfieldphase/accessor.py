"""`data.hp`: the functions of this package that read a sweep or branches, where the data are.

The package gives every dataset and tree its `.hp`; this module is loaded when one is first used.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import xarray as xr

from hopfieldphase.data.branch_schema import holds_branches
from hopfieldphase.data.load_branch_schema import holds_load_branches
from hopfieldphase.data.measurement import holds_measurement
from hopfieldphase.data.summaries import Summary
from hopfieldphase.data.summary import dataset_hysteresis, summary_lines, sweep_summary
from hopfieldphase.phases.hysteresis import TOLERANCE, Hysteresis
from hopfieldphase.runs.studies import STUDIES, Study, load

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hopfieldphase.continuation.branch import SpecialPoint
    from hopfieldphase.data.branches import LabelledBranchSet
    from hopfieldphase.phases.equilibrium import Equilibrium
    from hopfieldphase.phases.spinodals import Spinodal


class SweepAccessor:
    """What can be asked of a sweep; it holds nothing but the data that it was reached from."""

    def __init__(self, data: xr.Dataset | xr.DataTree) -> None:
        self._dataset = data.to_dataset() if isinstance(data, xr.DataTree) else data

    def summary(self, tolerance: float = TOLERANCE) -> Summary:
        """All that the sweep shows, as plain values: see `hopfieldphase.data.summary.sweep_summary`."""
        return Summary(sweep_summary(self._dataset, tolerance), summary_lines)

    def hysteresis(self, tolerance: float = TOLERANCE) -> list[Hysteresis]:
        """Loop of each realization: see `hopfieldphase.phases.hysteresis.hysteresis`."""
        return dataset_hysteresis(self._dataset, tolerance)

    def plot(self, axes: "Sequence[Axes] | None" = None) -> "tuple[Axes, Axes]":
        """Hysteresis loop and support sizes: see `hopfieldphase.plotting.sweep.plot_sweep`."""
        # Matplotlib comes with the first figure, not with xarray.
        from hopfieldphase.plotting.sweep import plot_sweep  # noqa: PLC0415

        return plot_sweep(self._dataset, axes)


class BranchAccessor:
    """What can be asked of a tree of branches; it holds nothing but the tree that it was reached from."""

    def __init__(self, tree: xr.DataTree) -> None:
        self._tree = tree

    def branches(self) -> "LabelledBranchSet":
        """`Branch` objects again: see `hopfieldphase.data.branches.from_datatree`."""
        # The solvers come with the first branch, not with xarray.
        from hopfieldphase.data.branches import from_datatree  # noqa: PLC0415

        return from_datatree(self._tree)

    def summary(self) -> Summary:
        """All that the branches show, as plain values: see `hopfieldphase.data.branch_summary`."""
        from hopfieldphase.data.branch_summary import branches_lines, branches_summary  # noqa: PLC0415

        return Summary(branches_summary(self._tree), branches_lines)

    def spinodals(self) -> "list[tuple[Spinodal, ...]]":
        """Losses of stability of each branch: see `hopfieldphase.phases.spinodals.spinodals`."""
        from hopfieldphase.phases.spinodals import spinodals  # noqa: PLC0415

        return [spinodals(branch) for branch in self.branches()]

    def coexistence(self) -> "tuple[tuple[int, int, SpecialPoint], ...]":
        """Equal free energies of all pairs: see `hopfieldphase.phases.coexistence.all_coexistence`."""
        from hopfieldphase.phases.coexistence import all_coexistence  # noqa: PLC0415

        return all_coexistence(self.branches())

    def equilibrium(self) -> "tuple[Equilibrium, ...]":
        """The Maxwell line: see `hopfieldphase.phases.equilibrium.equilibrium`."""
        from hopfieldphase.phases.equilibrium import equilibrium  # noqa: PLC0415

        return equilibrium(self.branches())

    def plot(self, axes: "Sequence[Axes] | None" = None) -> "tuple[Axes, Axes, Axes]":
        """Order parameter and free energies: see `hopfieldphase.plotting.branches.plot_branches`."""
        from hopfieldphase.plotting.branches import plot_branches  # noqa: PLC0415

        return plot_branches(self._tree, axes)


class LoadBranchAccessor:
    """What can be asked of a tree of branches in the memory load."""

    def __init__(self, tree: xr.DataTree) -> None:
        self._tree = tree

    def summary(self) -> Summary:
        """All that the branches show, as plain values: see `hopfieldphase.data.load_branch_summary`."""
        from hopfieldphase.data.load_branch_summary import (  # noqa: PLC0415
            load_branches_lines,
            load_branches_summary,
        )

        return Summary(load_branches_summary(self._tree), load_branches_lines)

    def plot(self, axes: "Sequence[Axes] | None" = None) -> "tuple[Axes, Axes]":
        """Both panels: see `hopfieldphase.plotting.load_branches.plot_load_branches`."""
        from hopfieldphase.plotting.load_branches import plot_load_branches  # noqa: PLC0415

        return plot_load_branches(self._tree, axes)


class StudyAccessor:
    """What can be asked of the data of any other study."""

    def __init__(self, data: xr.Dataset | xr.DataTree, study: Study) -> None:
        self._data, self._study = data, study

    def summary(self) -> Summary:
        """All that the study shows, as plain values."""
        return Summary(load(self._study.summary)(self._data), load(self._study.lines))

    def plot(self, axes: "Sequence[Axes] | None" = None) -> Any:
        """The figure of the study; returns its axes."""
        return load(self._study.plot)(self._data, axes)


def accessor(
    data: xr.Dataset | xr.DataTree,
) -> SweepAccessor | BranchAccessor | LoadBranchAccessor | StudyAccessor:
    """The accessor for what the data are."""
    study = STUDIES.get(str(data.attrs.get("study")))
    if study is not None and (not study.own or holds_measurement(data)):
        return StudyAccessor(data, study)
    if holds_load_branches(data):
        return LoadBranchAccessor(data)
    return BranchAccessor(data) if holds_branches(data) else SweepAccessor(data)
