"""Sweeps as labelled results: realizations over threads, one dataset at the end."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from hopfieldphase.continuation.sweep import Sweep, sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.data.build import sweep_dataset
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.parallel import Progress, run_tasks
from hopfieldphase.runs.ranges import format_grid, parse_grid
from hopfieldphase.runs.sources import make_patterns, resolve, suggest_betas
from hopfieldphase.runs.specs import SweepSpec

_OPTIONS: dict[str, Any] = {
    "start_up": "mean",
    "start_down": "pattern:0",
    "solver": "auto",
    "tol": None,
    "polish": True,
    "keep_states": False,
}


def sweep_beta(
    models: HopfieldModel | Sequence[HopfieldModel] | SweepSpec,
    betas: str | float | Iterable[float] | None = None,
    *,
    start_up: str | ArrayLike = "mean",
    start_down: str | ArrayLike = "pattern:0",
    solver: str = "auto",
    tol: float | None = None,
    polish: bool = True,
    keep_states: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Sweep the inverse temperature up and down and return every observable, labelled.

    Each point is relaxed from its neighbour's state to a verified minimum of Γ; the sweep up begins at the
    lowest β, the sweep down at the highest, each from a start state of its own.

    Parameters
    ----------
    models : HopfieldModel, sequence of HopfieldModel, or SweepSpec
        One model; several, which are the realizations of one study and agree in M, d, α and scale; or a
        spec, which brings all further options with it.
    betas : str or array, shape (n,), optional
        Strictly ascending, positive; `start:stop:step` (stop included when hit) or a comma list as text.
        Without it a range is suggested from the patterns of the first model (`suggest_betas`).
    start_up, start_down : str or array, shape (d,)
        "mean", "pattern:k", "best" (the minimum of lowest Γ that a pattern relaxes to), "continue" (where
        the other sweep ended), or a state; see `hopfieldphase.continuation.sweep.sweep`.
    solver : {"auto", "newton", "fixed-point", "gradient-descent"}
    tol : float, optional
        Bound on |x − T(x)| / max(|x|, s·max|ξ|).
    polish : bool
        False runs the solver literally, and returns saddles as such.
    keep_states : bool
        Also keep the states, as the variable `state`.
    threads : int, optional
        By default every core that this process may use; results do not depend on it.
    progress : callable, optional
        Called as ``progress(done, total)`` after each realization; without it nothing is shown.

    Returns
    -------
    xarray.Dataset
        Dimensions (realization, direction, beta); without `realization` for a single model. Memory is
        bounded by the observables: patterns of a spec live only while their realization is swept.

    Raises
    ------
    InputError
        If the grid, a start, an option or a number of threads lies outside its domain, if the models
        differ in shape, or if options are given next to a spec.

    Notes
    -----
    Source: Section 5.1 and Appendix F.2 of "On the Statistical Mechanics of Attention"
    (arXiv:2610.17347).

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> from hopfieldphase.runs.specs import SweepSpec
    >>> spec = SweepSpec(alpha=2, betas="100:400:50", realizations=2)
    >>> hp.sweep_beta(spec)["overlap_max"].sel(beta=400).round(6).values.tolist()
    [[0.015625, 0.015625], [0.015625, 0.015625]]
    """
    given = {"start_up": start_up, "start_down": start_down, "solver": solver, "tol": tol, "polish": polish,
             "keep_states": keep_states}  # fmt: skip
    if isinstance(models, SweepSpec):
        _refuse_options({"betas": betas} | given)
        return _sweep_spec(resolve(models), threads, progress)
    rows = [models] if isinstance(models, HopfieldModel) else list(models)
    first = _common_shape(rows)
    axis = parse_grid(betas) if betas is not None else suggest_betas(first.patterns, first.alpha, first.scale)
    sweeps = run_tasks(lambda i: sweep(rows[i], axis, **given, threads=threads), len(rows), threads, progress)
    options = {
        "alpha": first.alpha,
        "M": first.M,
        "d": first.d,
        "scale": first.scale,
        "betas": format_grid(axis),
    }
    return sweep_dataset(sweeps[0] if isinstance(models, HopfieldModel) else sweeps, options | given)


def warm_up(spec: SweepSpec) -> None:
    """Load or compile every kernel that the sweep needs, so that its progress can be timed."""
    np.empty((spec.patterns.M or 1, spec.patterns.d or 1))  # no memory for these: say so before compiling
    sweep(HopfieldModel(np.eye(2), spec.alpha), (1.0, 2.0), solver=spec.solver, polish=spec.polish, threads=1)


def _refuse_options(options: dict[str, Any]) -> None:
    defaults = {"betas": None} | _OPTIONS
    for name, value in options.items():
        if not (isinstance(value, type(defaults[name])) and value == defaults[name]):
            raise InputError(
                f"{name} is given next to a spec, which holds all options: change it in the spec"
            )


def _common_shape(models: Sequence[HopfieldModel]) -> HopfieldModel:
    """The first of the models, with which all others agree in everything but the patterns."""
    if not models:
        raise InputError("no model was given: a sweep needs at least one")
    first = models[0]
    for i, model in enumerate(models):
        for name in ("alpha", "M", "d", "scale"):
            if getattr(model, name) != getattr(first, name):
                raise InputError(
                    f"model {i} has {name} = {getattr(model, name)}, but model 0 has {getattr(first, name)}: "
                    "realizations of one study agree in M, d, alpha and scale"
                )
    return first


def _sweep_spec(spec: SweepSpec, threads: int | None, progress: Progress | None) -> xr.Dataset:
    given = {name: getattr(spec, name) for name in _OPTIONS}
    shape: dict[str, int] = {}

    def one(realization: int) -> Sweep:
        model = HopfieldModel(make_patterns(spec.patterns, realization), spec.alpha)
        shape.update(M=model.M, d=model.d)
        return sweep(model, spec.betas, **given, threads=threads)

    sweeps = run_tasks(one, spec.realizations or 1, threads, progress)
    options = spec.model_dump(exclude_none=True, exclude={"patterns"})
    source = spec.patterns.model_dump(exclude_none=True, exclude={"path"})
    return sweep_dataset(sweeps, options | source | given | shape | {"betas": format_grid(spec.betas or ())})
