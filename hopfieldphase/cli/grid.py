"""Grids of sweeps on the command line: which executor, and what is said when a run is cut short."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopfieldphase.cli.console import Console
from hopfieldphase.cli.failures import Interrupted
from hopfieldphase.cli.study import draw, run_study

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
    from hopfieldphase.data.grid import grid_lines
    from hopfieldphase.runs.executors import make_executor

    chosen = make_executor(executor, workers, scheduler)
    if not spec.is_resolved:
        from hopfieldphase.runs.grid_plan import resolve_grid

        spec = resolve_grid(spec)

    def compute(path: Path) -> dict[str, Any]:
        from hopfieldphase.runs.grid import compute_grid
        from hopfieldphase.runs.ledger import Ledger
        from hopfieldphase.runs.sweep_results import warm_up

        warm_up(spec.cell(0))  # compiled once here, read by the workers
        if force:
            Ledger(path).discard()
        drawn = partial(draw, "plotting.grid:plot_grid") if plot else None
        with console.progress("sweeps", spec.tasks) as progress, _kept(path, spec.tasks):
            return compute_grid(spec, path, executor=chosen, draw=drawn, progress=progress)

    run_study(
        spec, out, console, headline=spec.headline, compute=compute, lines=grid_lines, force=force, plot=plot,
        as_json=as_json,
    )  # fmt: skip


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
