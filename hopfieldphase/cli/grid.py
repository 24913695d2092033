"""Grids of sweeps on the command line: which executor, and what is said when a run is cut short."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopfieldphase.cli.console import Console
from hopfieldphase.cli.failures import Interrupted

if TYPE_CHECKING:
    from hopfieldphase.runs.grid_spec import GridSpec


def run_spec(
    spec: "GridSpec",
    out: Path | None,
    console: Console,
    *,
    force: bool,
    plot: bool,
    as_json: bool,
    executor: str | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
) -> None:
    """Compute a grid, or what is missing of it; leave with exit code 3 if some point did not converge."""
    from functools import partial

    from hopfieldphase.cli.studies import draw, finish
    from hopfieldphase.kernels.threads import thread_count
    from hopfieldphase.runs.executors import make_executor

    thread_count()  # a wrong environment is reported before anything starts
    chosen = make_executor(executor, workers, scheduler)
    if not spec.is_resolved:
        from hopfieldphase.runs.grid_plan import resolve_grid

        spec = resolve_grid(spec)

    def compute(path: Path) -> dict[str, Any]:
        from hopfieldphase.kernels.compilation import on_first_compilation
        from hopfieldphase.runs.grid import compute_grid
        from hopfieldphase.runs.ledger import Ledger
        from hopfieldphase.runs.sweep_results import warm_up

        on_first_compilation(lambda: console.say("compiling kernels, once per version"))
        warm_up(spec.cell(0))  # compiled once here, read by the workers
        if force:
            Ledger(path).discard()
        drawn = None
        if plot:
            from hopfieldphase.plotting.grid import plot_grid

            drawn = partial(draw, plot_grid)
        with console.progress("sweeps", spec.tasks) as progress, _kept(path, spec.tasks):
            return compute_grid(spec, path, executor=chosen, draw=drawn, progress=progress)

    from hopfieldphase.data.grid import grid_lines

    finish(spec, out, console, compute=compute, lines=grid_lines, force=force, plot=plot, as_json=as_json)


@contextmanager
def _kept(path: Path, tasks: int) -> Iterator[None]:
    """Say what an interrupted run has kept."""
    try:
        yield
    except KeyboardInterrupt:
        from hopfieldphase.runs.progress import run_progress

        found = run_progress(path)
        if found is None:  # nothing yet, or whole
            raise
        raise Interrupted(
            f"interrupted; {found['done']} of {tasks} sweeps are kept in {path}: "
            "the same command computes the rest"
        ) from None
