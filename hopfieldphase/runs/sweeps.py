"""Sweeps as labelled results: realizations over threads, one dataset at the end."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from hopfieldphase.continuation.map_sweep import sweep_map
from hopfieldphase.continuation.sweep import Sweep, sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.data.build import sweep_dataset
from hopfieldphase.kernels.attention import weights
from hopfieldphase.model import AttentionModel, HopfieldModel
from hopfieldphase.runs.attention_spec import describe_attention, make_attention
from hopfieldphase.runs.checkpoint import Checkpoint, run_kept
from hopfieldphase.runs.device import sweep_on_device
from hopfieldphase.runs.parallel import Progress, run_tasks
from hopfieldphase.runs.ranges import format_grid, parse_grid
from hopfieldphase.runs.sources import Patterns, make_patterns, resolve, suggest_betas
from hopfieldphase.runs.spec_base import refuse_beside_spec
from hopfieldphase.runs.specs import SweepSpec
from hopfieldphase.runs.sweep_parts import from_part, to_part

Model = HopfieldModel | AttentionModel

_OPTIONS: dict[str, Any] = {
    "start_up": "mean",
    "start_down": "pattern:0",
    "solver": "auto",
    "tol": None,
    "polish": True,
    "keep_states": False,
}


def sweep_beta(
    models: Model | Sequence[Model] | SweepSpec,
    betas: str | float | Iterable[float] | None = None,
    *,
    start_up: str | ArrayLike = "mean",
    start_down: str | ArrayLike = "pattern:0",
    solver: str = "auto",
    tol: float | None = None,
    polish: bool = True,
    keep_states: bool = False,
    device: str = "cpu",
    threads: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Sweep the inverse temperature up and down and return every observable, labelled.

    Each point is relaxed from its neighbour's state to a verified minimum of Γ; the sweep up begins at the
    lowest β, the sweep down at the highest, each from a start state of its own. With any other attention map
    than the Tsallis family, each point is a fixed point of the update whose Jacobian has a spectral radius
    below 1; Γ is given where the map has a conjugate.

    Parameters
    ----------
    models : HopfieldModel or AttentionModel, a sequence of them, or SweepSpec
        One model; several, which are the realizations of one study and agree in M, d, α (or attention) and
        scale; or a spec, which brings all further options with it.
    betas : str or array, shape (n,), optional
        Strictly ascending, positive; `start:stop:step` (stop included when hit) or a comma list as text.
        Without it a range is suggested from the patterns of the first model (`suggest_betas`), unless that
        has another attention map.
    start_up, start_down : str or array, shape (d,)
        "mean", "pattern:k", "best" (the minimum of lowest Γ that a pattern relaxes to), "continue" (where
        the other sweep ended), or a state; see `hopfieldphase.continuation.sweep.sweep`.
    solver : {"auto", "newton", "fixed-point", "gradient-descent"}
        Left at "auto" for attention maps, as `polish` is at True.
    tol : float, optional
        Bound on |x − T(x)| / max(|x|, s·max|ξ|).
    polish : bool
        False runs the solver literally, and returns saddles as such.
    keep_states : bool
        Also keep the states, as the variable `state`.
    device : {"cpu", "cuda"}
        Where to compute: with compiled kernels on the processor, or with CuPy or PyTorch on a GPU, there all
        realizations and both directions at once (`hopfieldphase.continuation.batched_sweep`).
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
        differ in shape, if there is no such device, or if options are given next to a spec.

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
        _refuse_options({"betas": betas, "device": device} | given)
        return sweep_spec(resolve(models), threads, progress)
    rows = [models] if isinstance(models, Model) else list(models)
    first = _common_shape(rows)
    axis = _axis(first, betas)
    sweeps = _sweeps(rows.__getitem__, len(rows), axis, given, device, threads, progress)
    options = {
        **_map(first),
        "M": first.M,
        "d": first.d,
        "scale": first.scale,
        "betas": format_grid(axis),
        "device": device,
    }
    return sweep_dataset(sweeps[0] if isinstance(models, Model) else sweeps, options | given)


def warm_up(spec: SweepSpec) -> None:
    """Load or compile every kernel that the sweep needs, so that its progress can be timed."""
    np.empty((spec.patterns.M or 1, spec.patterns.d or 1))  # no memory for these: say so before compiling
    if spec.device != "cpu":
        return
    if spec.attention is None:
        model = HopfieldModel(np.eye(2), spec.alpha)
        sweep(model, (1.0, 2.0), solver=spec.solver, polish=spec.polish, threads=1)
    elif spec.patterns.M is not None:
        attention = make_attention(spec.attention.model_dump(exclude_none=True))
        weights(attention, np.zeros(spec.patterns.M))


def spec_model(spec: SweepSpec, realization: int, stored: Patterns | None = None) -> Model:
    """The model of one realization of a spec; `stored` are its patterns where they are at hand."""
    if stored is None:
        stored = make_patterns(spec.patterns, realization)
    if spec.attention is None:
        return HopfieldModel(stored, spec.alpha)
    return AttentionModel(stored, make_attention(spec.attention.model_dump(exclude_none=True)))


def spec_sweep(spec: SweepSpec, model: Model, threads: int | None = None) -> Sweep:
    """The sweep of one realization of a resolved spec, given its model."""
    given = {name: getattr(spec, name) for name in _OPTIONS}
    return _sweep(model, spec.betas or (), given, threads)


def _sweeps(
    make: Callable[[int], Model],
    count: int,
    axis: Sequence[float],
    given: dict[str, Any],
    device: str,
    threads: int | None,
    progress: Progress | None,
) -> list[Sweep]:
    """The sweeps of the models make(0) … make(count − 1)."""
    if device != "cpu":
        return sweep_on_device(make, count, axis, given, device, progress)
    return run_tasks(lambda i: _sweep(make(i), axis, given, threads), count, threads, progress)


def _sweep(model: Model, axis: Sequence[float], given: dict[str, Any], threads: int | None) -> Sweep:
    if isinstance(model, HopfieldModel):
        return sweep(model, axis, **given, threads=threads)
    for name, default in (("solver", "auto"), ("polish", True)):
        if given[name] != default:
            raise InputError(
                f"{name} = {given[name]} does not apply to attention maps: leave it at {default}"
            )
    return sweep_map(
        model, axis, **{name: given[name] for name in given if name not in ("solver", "polish")},
        threads=threads,
    )  # fmt: skip


def _axis(model: Model, betas: Any) -> tuple[float, ...]:
    if betas is not None:
        return parse_grid(betas)
    if isinstance(model, HopfieldModel):
        return suggest_betas(model.patterns, model.alpha, model.scale)
    raise InputError("betas is not given: for an attention map no range is known, name one")


def _map(model: Model) -> dict[str, Any]:
    """The attribute that says which weights a model has."""
    if isinstance(model, HopfieldModel):
        return {"alpha": model.alpha}
    return {"attention": describe_attention(model.attention)}


def _refuse_options(options: dict[str, Any]) -> None:
    refuse_beside_spec(options, {"betas": None, "device": "cpu"} | _OPTIONS)


def _common_shape(models: Sequence[Model]) -> Model:
    """The first of the models, with which all others agree in everything but the patterns."""
    if not models:
        raise InputError("no model was given: a sweep needs at least one")
    first = models[0]
    shared = _shape(first)
    for i, model in enumerate(models):
        for name, value in _shape(model).items():
            if value != shared.get(name):
                raise InputError(
                    f"model {i} has {name} = {value}, but model 0 has {shared.get(name)}: "
                    "realizations of one study agree in M, d, alpha or attention, and scale"
                )
    return first


def _shape(model: Model) -> dict[str, Any]:
    return {**_map(model), "M": model.M, "d": model.d, "scale": model.scale}


def sweep_spec(
    spec: SweepSpec,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> xr.Dataset:
    """`sweep_beta` of a resolved spec; realizations that a checkpoint has are not swept again."""
    given = {name: getattr(spec, name) for name in _OPTIONS}
    shape: dict[str, Any] = {}

    def make(realization: int) -> Model:
        model = spec_model(spec, realization)
        shape.update(_map(model), M=model.M, d=model.d)
        return model

    count = spec.realizations or 1
    if spec.device != "cpu":
        sweeps = sweep_on_device(make, count, spec.betas or (), given, spec.device, progress)
    else:
        parts = run_kept(
            lambda i, _: to_part(spec_sweep(spec, make(i), threads)), count, threads, progress, checkpoint
        )
        sweeps = [from_part(part) for part in parts]
    if not shape:  # every realization was kept
        make(0)
    options = spec.model_dump(exclude_none=True, exclude={"patterns", "attention"})
    source = spec.patterns.model_dump(exclude_none=True, exclude={"path"})
    return sweep_dataset(sweeps, options | source | given | shape | {"betas": format_grid(spec.betas or ())})
