"""From a result folder, a file or labelled data to the view of what is in it."""

from dataclasses import replace
from pathlib import Path

import xarray as xr

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import attributes, grid_store, store
from hopfieldphase.data.branch_schema import holds_branches
from hopfieldphase.data.diagram import holds_diagram
from hopfieldphase.data.limits import check_memory
from hopfieldphase.data.load_branch_schema import holds_load_branches
from hopfieldphase.data.measurement import holds_measurement
from hopfieldphase.data.structure import holds_structure, structure_parts
from hopfieldphase.explore.branches import branches_view, load_branches_view
from hopfieldphase.explore.diagram import diagram_view
from hopfieldphase.explore.states import made_by
from hopfieldphase.explore.sweeps import sweep_view
from hopfieldphase.explore.view import View
from hopfieldphase.runs.folder import DATA, SPEC
from hopfieldphase.runs.progress import run_progress

SHOWN = "explore shows sweeps, grids, branches and phase diagrams"


def read(path: Path) -> tuple[store.Labelled, Path | None, tuple[str, ...]]:
    """The data of a result folder, a .zarr folder or a .nc file, the spec file beside them, and notes.

    Of a run that is not finished, what is there.

    Raises
    ------
    InputError
        If there is nothing, something else, or nothing finished yet.
    """
    folder = path.parent if path.name == DATA else path
    begun = run_progress(folder) if (folder / DATA).is_dir() else None
    if begun is not None:
        note = f"this run is not finished: {begun['done']} of {begun['tasks']} sweeps are there"
        return _unfinished(folder / DATA), None, (note,)
    if path.is_dir() and not (path / "zarr.json").exists():
        if not (path / DATA).exists():
            raise InputError(
                f"{path} holds no {DATA}: nothing of this run is finished yet, or it is no result folder; "
                "give a folder that hopfieldphase wrote, or a .zarr or .nc file"
            )
        return store.open(path / DATA), path / SPEC, ()
    return store.open(path), path.parent / SPEC if path.name == DATA else None, ()


def _unfinished(path: Path) -> xr.Dataset:
    """A store that is still being written, as plain xarray shows it: NaN where nothing is yet."""
    with grid_store.reading(path) as data:
        check_memory(data.nbytes)
        return data.load().assign_attrs(attributes.decode(data.attrs))


def view_of(data: store.Labelled, spec_file: Path | None = None, notes: tuple[str, ...] = ()) -> View:
    """The view of the data of a study.

    Parameters
    ----------
    data : xarray.Dataset or xarray.DataTree
    spec_file : Path, optional
        What they were made from, where it lies in a file.
    notes : tuple of str
        What a reader has to know beside what the view says itself.

    Raises
    ------
    InputError
        For data of a study that has no such view.
    """
    view = _view(data, spec_file)
    return replace(view, notes=(*notes, *view.notes))


def _view(data: store.Labelled, spec_file: Path | None) -> View:
    if isinstance(data, xr.DataTree) and holds_structure(data):
        return _structure_view(data)
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


def _structure_view(tree: xr.DataTree) -> View:
    """The branches of a tree that holds a sweep as well."""
    _, branches, _ = structure_parts(tree)
    view = _view(branches, None)
    return replace(
        view,
        notes=(
            *view.notes,
            "shown are the branches; for the sweep beside them give its group, data.zarr/sweep",
        ),
    )
