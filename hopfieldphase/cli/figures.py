"""`hopfieldphase figures NAME…`: the figures of the paper, and those that go beyond, regenerated."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.cli.studies import run as run_spec
from hopfieldphase.cli.study import draw
from hopfieldphase.core.errors import InputError

ALL = "all"

SCHEMATICS = {f"figure-{number}": f"plotting.schematics:plot_figure_{number}" for number in (1, 6, 7, 8, 9)}
"""Figures that need no study: they show functions of the package as they are."""


def figures(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="Names, or numbers of the paper's figures, or all."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Where the figures go.  [default: figures]",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = Path("figures"),
    reduced: options.Reduced = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Regenerate figures of "On the Statistical Mechanics of Attention", and those that go beyond it.

    Every figure comes from a study file, whose result stays under runs/ and is found there the next time, or
    (the schematic ones) straight from the functions that it shows. Results of long trainings come with the
    package; --force computes them again. Written are PNG and SVG files.
    """
    from hopfieldphase.data import store
    from hopfieldphase.plotting.style import figure_of, save
    from hopfieldphase.runs.folder import FIGURE
    from hopfieldphase.runs.library import shipped_results, study_files
    from hopfieldphase.runs.studies import STUDIES, load, read_spec

    files, shipped = study_files(), {} if reduced or force else shipped_results()
    wanted = _chosen(names, tuple(sorted({*files, *SCHEMATICS}, key=_order)))
    console = Console(quiet=quiet, color=not no_color)
    out.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        target = out / f"{name}.png"
        if name in SCHEMATICS:
            save(figure_of(load(SCHEMATICS[name])()), target)
        elif name in shipped:
            data = store.open(shipped[name])
            draw(STUDIES[data.attrs["study"]].plot, data, target)
        else:
            spec = read_spec(files[name], reduced=reduced)
            run_spec(spec, None, Console(quiet=True), force=force, plot=True, as_json=False)
            for suffix in (".png", ".svg"):
                shutil.copyfile(
                    (spec.default_folder / FIGURE).with_suffix(suffix), target.with_suffix(suffix)
                )
        console.report(f"{name}: {target}")
    console.say(f"wrote {len(wanted)} figures to {out}")


def _chosen(names: list[str], known: tuple[str, ...]) -> list[str]:
    """The figures that the arguments name; `InputError` for one that is unknown."""
    from hopfieldphase.runs.spec_base import nearest

    if ALL in names:
        return list(known)
    found = []
    for name in names:
        full = f"figure-{name}" if name.isdecimal() else name
        if full not in known:
            raise InputError(
                f"figure {name!r} is unknown{nearest(full, known)}: known are {', '.join(known)}"
            )
        found.append(full)
    return found


def _order(name: str) -> tuple[bool, int, str]:
    """The paper's figures by their number, then the others."""
    number = name.removeprefix("figure-")
    return (not number.isdecimal(), int(number) if number.isdecimal() else 0, name)
