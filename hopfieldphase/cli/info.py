"""`hopfieldphase info FILE`: what a result folder, a dataset or a pattern file holds."""

import json as json_format
import re
import textwrap
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.core.errors import HopfieldPhaseError, InputError, one_line

if TYPE_CHECKING:
    import xarray as xr

PATTERN_FILES = (".npy", ".npz", ".csv")

LISTED = 24
"""Variables that are listed; of more, the number in each group is given."""

# Attributes that are shown elsewhere, or say nothing about the study.
_HIDDEN = ("title", "kind", "schema_version", "package_version", "git_revision")


def info(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A result folder, a .zarr or .nc dataset, or patterns."),
    ],
    cite: Annotated[
        bool, typer.Option("--cite", help="Print BibTeX for the methods and papers behind a result.")
    ] = False,
    json: options.Json = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Show what a result folder or a file holds: options, dimensions, variables, summary.

    Of a run that is not finished, how far it is.
    """
    from hopfieldphase.cli.info_grid import unfinished

    console = Console(color=not no_color)
    try:
        found = unfinished(file) or _describe(file)
        text = "" if json and not cite else _text(found, cite)
    except (HopfieldPhaseError, ImportError, OSError):
        raise
    # A damaged summary or provenance surfaces as almost any exception of who shows it.
    except Exception as error:
        reason = one_line(f"{type(error).__name__}: {error}", 200)
        raise InputError(
            f"cannot show {file}: what describes it is damaged or not of hopfieldphase ({reason}); "
            "compute it again"
        ) from error
    if text:
        console.report(text)
    else:
        console.data(found)


def _text(found: dict[str, Any], cite: bool) -> str:
    from hopfieldphase.cli.info_grid import citations_of, progress_lines

    if cite:
        return citations_of(found)
    return "\n".join(progress_lines(found) if "state" in found else _lines(found))


def _describe(file: Path) -> dict[str, Any]:
    if file.suffix in PATTERN_FILES:
        return _patterns(file)
    try:
        return _dataset(file)
    except InputError:
        # netCDF holds either; what is neither is reported as the dataset it is not.
        with suppress(InputError):
            if file.suffix == ".nc":
                return _patterns(file)
        raise


def _patterns(file: Path) -> dict[str, Any]:
    from hopfieldphase.core.patterns import duplicate_rows, norm_range
    from hopfieldphase.data.patterns_io import load

    stored = load(file)
    low, high = norm_range(stored)
    return {
        "path": str(file),
        "kind": "patterns",
        "dims": {"pattern": stored.shape[0], "component": stored.shape[1]},
        "norms": {"min": low, "max": high},
        "duplicates": len(duplicate_rows(stored)),
    }


def _dataset(file: Path) -> dict[str, Any]:
    import xarray as xr

    from hopfieldphase.cli.info_grid import finished_grid
    from hopfieldphase.data import store
    from hopfieldphase.data.branch_schema import GROUPS, group, holds_branches
    from hopfieldphase.data.branch_summary import branches_summary
    from hopfieldphase.data.diagram import diagram_summary, holds_diagram
    from hopfieldphase.data.load_branch_schema import holds_load_branches
    from hopfieldphase.data.load_branch_summary import load_branches_summary
    from hopfieldphase.data.measurement import holds_measurement
    from hopfieldphase.data.structure import holds_structure
    from hopfieldphase.data.sweep_report import sweep_report
    from hopfieldphase.runs.folder import DATA, MARKER, SUMMARY, read_marker

    if file.is_dir() and not (file / DATA).exists() and file.suffix != ".zarr":
        raise InputError(
            f"{file} holds no finished result: give a folder that hopfieldphase wrote, or a file"
        )
    folder, data = (file, file / DATA) if (file / DATA).exists() else (file.parent, file)
    grid = finished_grid(folder) if data.name == DATA else None
    if grid is not None:
        return {"path": str(file), **grid}
    tree = store.open(data)
    dataset = tree.to_dataset() if isinstance(tree, xr.DataTree) else tree
    provenance = None
    if data.name == DATA and read_marker(folder) is not None:
        provenance = json_format.loads((folder / MARKER).read_text(encoding="utf-8"))
    if holds_measurement(tree) or holds_structure(tree):
        groups = _groups(tree)
        summary = json_format.loads((folder / SUMMARY).read_text(encoding="utf-8")) if provenance else {}
    elif holds_branches(tree):
        groups = {f"{name}/": group(tree, name) for name in GROUPS}
        summary = branches_summary(tree)
    elif holds_load_branches(tree):
        groups = {f"{name}/": group(tree, name) for name in tree.children}
        summary = load_branches_summary(tree)
    elif isinstance(tree, xr.DataTree) and holds_diagram(tree):
        groups, summary = {"": dataset}, diagram_summary(tree)
    else:
        groups, summary = {"": dataset}, sweep_report(tree)
    return {
        "path": str(file),
        "kind": dataset.attrs.get("title", "dataset"),
        "options": {name: value for name, value in dataset.attrs.items() if name not in _HIDDEN},
        "dims": {str(name): size for group in groups.values() for name, size in group.sizes.items()},
        "variables": {
            f"{prefix}{name}": {
                "dims": list(variable.dims),
                "dtype": str(variable.dtype),
                "long_name": variable.attrs.get("long_name", ""),
            }
            for prefix, group in groups.items()
            for name, variable in group.data_vars.items()
        },
        "package_version": dataset.attrs.get("package_version"),
        "git_revision": dataset.attrs.get("git_revision"),
        "provenance": provenance,
        "summary": summary,
    }


def _groups(tree: "xr.Dataset | xr.DataTree") -> "dict[str, xr.Dataset]":
    """Every group that holds variables, by its path."""
    if not hasattr(tree, "subtree"):
        return {"": tree}  # pyright: ignore[reportReturnType]  # a dataset
    parts = {node.path.strip("/"): node.to_dataset(inherit=False) for node in tree.subtree}
    return {f"{path}/" if path else "": part for path, part in parts.items() if part.data_vars}


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [f"{found['path']}: {_words(found['kind'])}"]
    sizes = ", ".join(f"{name} {size}" for name, size in found["dims"].items())
    lines += textwrap.wrap(f"dimensions  {sizes}", 80, subsequent_indent=" " * 12)
    if "norms" in found:
        return [
            *lines,
            f"norms       {found['norms']['min']:.6g} to {found['norms']['max']:.6g}",
            f"duplicates  {found['duplicates']}",
        ]
    from hopfieldphase.data.summary import summary_lines

    made = found["provenance"]
    if made is not None:
        lines.append(f"computed    {made['created']} on {made['host']} in {made['wall_time_seconds']:.3g} s")
    elif found["package_version"]:
        lines.append(f"version     {found['package_version']}")
    lines += ["", "options"]
    lines += [f"  {name:<20}{_value(value)}" for name, value in found["options"].items() if value is not None]
    study = _study(found)
    if study is not None:
        lines += _variables(found) if len(found["variables"]) <= LISTED else _counts(found)
        return [*lines, *(["", *study(found["summary"])] if found["summary"] else [])]
    if "branches" in found["summary"]:
        from hopfieldphase.data.branch_summary import branches_lines
        from hopfieldphase.data.load_branch_summary import load_branches_lines

        lines += _counts(found)
        in_words = load_branches_lines if found["summary"]["parameter"] == "kappa" else branches_lines
        return [*lines, "", *in_words(found["summary"])]
    lines += _variables(found)
    if "closed_forms" in found["summary"]:
        from hopfieldphase.data import diagram

        return [*lines, "", *diagram.diagram_lines(found["summary"])]
    return [*lines, "", *summary_lines(found["summary"])]


def _variables(found: dict[str, Any]) -> list[str]:
    rows = [
        f"  {name:<19} {variable['dtype']:<9}{_words(variable['long_name'])}"
        for name, variable in sorted(found["variables"].items())
    ]
    return ["", "variables", *rows]


def _counts(found: dict[str, Any]) -> list[str]:
    """How many variables each group has, where listing them would say less."""
    groups = Counter(name.rpartition("/")[0] for name in found["variables"])
    counts = ", ".join(f"{name} ({count})" for name, count in groups.items())
    return ["", *textwrap.wrap(f"groups      {counts}", 80, subsequent_indent=" " * 12)]


def _study(found: dict[str, Any]) -> "Callable[[dict[str, Any]], list[str]] | None":
    """What puts the summary of a study of the common kind in words; None for the others."""
    from hopfieldphase.cli.studies import RUNNERS
    from hopfieldphase.runs.studies import STUDIES, load

    name = str(found["options"].get("study"))
    common = name in STUDIES and (name == "grid" or name not in RUNNERS)
    return load(STUDIES[name].lines) if common else None


def _words(label: str) -> str:
    """A label without its formulas."""
    return re.sub(r",?\s*\$[^$]*\$", "", label).strip()


def _value(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 56 else text[:53] + "..."
