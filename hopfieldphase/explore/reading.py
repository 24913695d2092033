"""From a result folder, a file or labelled data to the view of what is in it."""

from pathlib import Path

import xarray as xr

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.branch_schema import holds_branches
from hopfieldphase.data.diagram import holds_diagram
from hopfieldphase.data.load_branch_schema import holds_load_branches
from hopfieldphase.data.measurement import holds_measurement
from hopfieldphase.data.structure import BRANCHES, holds_structure
from hopfieldphase.explore.branches import branches_view, load_branches_view
from hopfieldphase.explore.diagram import diagram_view
from hopfieldphase.explore.states import made_by
from hopfieldphase.explore.sweeps import sweep_view
from hopfieldphase.explore.view import View
from hopfieldphase.runs.folder import DATA, SPEC

SHOWN = "explore shows sweeps, grids, branches and phase diagrams"


def read(path: Path) -> tuple[store.Labelled, Path | None]:
    """The data of a result folder, a .zarr folder or a .nc file, and the spec file beside them.

    Raises
    ------
    InputError
        If there is nothing, something else, or nothing finished yet.
    """
    if path.is_dir() and path.suffix != ".zarr":
        if not (path / DATA).exists():
            raise InputError(
                f"{path} holds no {DATA}: nothing of this run is finished yet, or it is no result folder; "
                "give a folder that hopfieldphase wrote, or a .zarr or .nc file"
            )
        return store.open(path / DATA), path / SPEC
    return store.open(path), path.parent / SPEC if path.name == DATA else None


def view_of(data: store.Labelled, spec_file: Path | None = None) -> View:
    """The view of the data of a study.

    Parameters
    ----------
    data : xarray.Dataset or xarray.DataTree
    spec_file : Path, optional
        What they were made from, where it lies in a file.

    Raises
    ------
    InputError
        For data of a study that has no such view.
    """
    if isinstance(data, xr.DataTree) and holds_structure(data):
        data = data.children[BRANCHES].copy()
        data.name = None
    spec = made_by(data.attrs, spec_file)
    if holds_branches(data):
        return branches_view(data, spec)
    if holds_load_branches(data):
        return load_branches_view(data, spec)
    if isinstance(data, xr.DataTree) and holds_diagram(data) and not holds_measurement(data):
        return diagram_view(data, spec)
    dataset = data.to_dataset() if isinstance(data, xr.DataTree) else data
    if "direction" not in dataset.dims or "overlap_max" not in dataset:
        study = data.attrs.get("study") or data.attrs.get("title") or "these data"
        raise InputError(f"{study} has no page: {SHOWN}; see its figure, or hopfieldphase info")
    return sweep_view(dataset, spec)
