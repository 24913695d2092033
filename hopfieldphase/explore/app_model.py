"""What the app computes from its fields: the spec of a sweep, the sweep, exact branches, the landscape."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import hopfieldphase
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.data.branch_schema import group
from hopfieldphase.explore.branches import branches_view
from hopfieldphase.explore.sweeps import sweep_view
from hopfieldphase.explore.view import Array, View
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.landscape import (
    Landscape,
    Plane,
    RetrievalPaths,
    landscape,
    pattern_plane,
    retrieval_paths,
)
from hopfieldphase.runs.branch_spec import BranchSpec
from hopfieldphase.runs.branches import branches_tree
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.sources import make_patterns, suggest_betas, with_digest
from hopfieldphase.runs.specs import SOURCES, PatternSpec, SweepSpec
from hopfieldphase.runs.sweeps import spec_model, sweep_beta

FILE = "file"

DEFAULTS: dict[str, str] = {
    "path": "", "M": "12", "d": "12", "seed": "0", "clusters": "4", "delta": "0.04", "noise": "gaussian",
    "cosine": "0.2", "epsilon": "0.3", "degrees_of_freedom": "3",
}  # fmt: skip
"""What the fields of the patterns hold at first: small sets, so that every change is answered at once."""

MOST = {"patterns": 200, "dimensions": 200, "values of beta": 500}
"""Larger than this the app would not answer while one waits."""

FOLLOWED = 12
"""Branches that are followed at most, the ones of largest z_max first."""

SIDE = 6
"""Retrieval paths start from a grid of this many points on each side of the landscape."""


@dataclass(frozen=True, eq=False)
class Solved:
    """A sweep with its model.

    Attributes
    ----------
    spec : SweepSpec
        One realization, with every option; what is exported.
    model : HopfieldModel
    view : View
        Of the sweep.
    states : array, shape (2, n, d)
        Of the sweeps up and down.
    widest : int
        The index of β at which both sweeps differ most; the middle where they never differ.
    """

    spec: SweepSpec
    model: HopfieldModel
    view: View
    states: Array
    widest: int


@dataclass(frozen=True, eq=False)
class Scene:
    """The landscape at one β, with retrieval paths and the states of the sweeps."""

    beta: float
    plane: Plane
    land: Landscape
    paths: RetrievalPaths
    states: Array


def taken(source: str) -> tuple[str, ...]:
    """The fields that a source of patterns has."""
    return tuple(name for name in SOURCES[source] if name in DEFAULTS)


def sweep_spec(source: str, fields: Mapping[str, str], alpha: str, betas: str) -> SweepSpec:
    """The spec of the sweep that the fields describe.

    Parameters
    ----------
    source : str
        A generator, or `FILE`.
    fields : mapping of str to str
        What stands in the fields of the patterns; those that the source does not take are ignored.
    alpha : str
    betas : str
        Empty: the range is suggested from the patterns.

    Raises
    ------
    InputError
        For what the spec refuses, and for sizes above `MOST`.
    """
    if source == FILE and not fields["path"].strip():
        raise InputError("no pattern file is named: give the path of a .npy, .npz, .csv, .nc or .zarr file")
    options = {name: _value(fields[name]) for name in taken(source)}
    if source == FILE:
        options["path"] = str(Path(fields["path"].strip()).expanduser().absolute())
    else:
        options["generator"] = source
    patterns = PatternSpec(**options)
    _check_size("patterns", patterns.M or 0)
    _check_size("dimensions", patterns.d or 0)
    grid = parse_grid(betas.strip() or "1")
    spec = SweepSpec(patterns=patterns, alpha=_value(alpha), betas=grid, realizations=1)
    stored = make_patterns(patterns)
    _check_size("patterns", len(stored))
    _check_size("dimensions", stored.shape[1])
    if not betas.strip():
        spec = spec.model_copy(update={"betas": suggest_betas(stored, spec.alpha)})
    _check_size("values of beta", len(spec.grid))
    if len(spec.grid) == 1:
        raise InputError(f"betas has one value, {spec.grid[0]:g}: give a range, like 10:200:2")
    return with_digest(spec)


def solve_sweep(spec: SweepSpec) -> Solved:
    """Sweep up and down, with the states."""
    dataset = sweep_beta(spec.model_copy(update={"keep_states": True})).isel(realization=0)
    states = dataset["state"].transpose("direction", "beta", ...).values
    view = sweep_view(dataset.drop_vars("state"), None)
    gap = np.abs(np.diff(dataset["overlap_max"].transpose("direction", "beta").values, axis=0))[0]
    differ = gap.max() > 1e-6 * np.abs(view.nodes["overlap_max"]).max()
    widest = int(np.argmax(gap)) if differ else gap.size // 2
    return Solved(spec, _model(spec), replace(view, notes=()), states, widest)


def branch_spec(solved: Solved) -> BranchSpec:
    """The exact branches in the range of a sweep, found where its two directions differ most.

    Raises
    ------
    InputError
        At α = ∞, where states do not depend on β.
    """
    spec = solved.spec
    at = spec.grid[solved.widest]
    return BranchSpec(patterns=spec.patterns, alpha=spec.alpha, betas=spec.betas, at=at, top=FOLLOWED)


def solve_branches(solved: Solved) -> tuple[View, View]:
    """The exact branches, and the sweep with its free energies above the lowest of both.

    Raises
    ------
    InputError
        See `branch_spec`.
    """
    tree = branches_tree(branch_spec(solved))
    view = branches_view(tree, None, weights=False)
    notes = list(view.notes)
    found = int(tree.attrs["n_states"])
    if found > FOLLOWED:
        notes.append(f"{FOLLOWED} of {found} minima are followed, those of largest z_max")
    if tree.attrs["n_undecided"]:
        notes.append(f"of {tree.attrs['n_undecided']} searches the end is not verified")
    energies = group(tree, "curves")["free_energy"].transpose("branch", "beta").values
    own = solved.view.nodes["free_energy"].reshape(2, -1)
    lowest = np.fmin.reduce(np.vstack([energies, own]), axis=0)
    nodes = solved.view.nodes | {"excess": (own - lowest).reshape(-1)}
    labels = solved.view.labels | {"excess": view.labels["excess"]}
    return replace(view, notes=tuple(notes)), replace(solved.view, nodes=nodes, labels=labels)


def chosen_patterns(text: str) -> tuple[int, ...]:
    """The patterns in a field like "0, 1, 4"."""
    try:
        return tuple(int(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise InputError(f"patterns {text!r}: give two or three numbers, like 0, 1, 2") from None


def default_patterns(solved: Solved) -> str:
    """Three patterns that span a plane: the leading ones of both sweeps where these differ most."""
    model, beta = solved.model, solved.spec.grid[solved.widest]
    weights = model.weights(solved.states[::-1, solved.widest], beta)
    ranked = [*np.argsort(-weights[0])[:2].tolist(), *np.argsort(-weights[1])[:3].tolist(), *range(model.M)]
    ranked = list(dict.fromkeys(ranked))
    for third in range(2, len(ranked)):
        with suppress(InputError):
            chosen = sorted((ranked[0], ranked[1], ranked[third]))
            pattern_plane(model, chosen)
            return ", ".join(map(str, chosen))
    return ", ".join(map(str, sorted(ranked[:2])))


def scene(solved: Solved, index: int, patterns: str, own: tuple[tuple[float, float], ...] = ()) -> Scene:
    """The landscape on the plane of the chosen patterns at the β of an index of the grid.

    Parameters
    ----------
    solved : Solved
    index : int
    patterns : str
        Two or three numbers.
    own : tuple of pairs
        In-plane coordinates from which further paths start, before those of the grid.

    Raises
    ------
    InputError
        If the patterns span no plane.
    """
    model, beta = solved.model, solved.spec.grid[index]
    plane = pattern_plane(model, chosen_patterns(patterns))
    land = landscape(model, beta, plane)
    inner = [np.linspace(axis[0], axis[-1], SIDE + 2)[1:-1] for axis in (land.u, land.v)]
    grid = np.stack(np.meshgrid(*inner), axis=-1).reshape(-1, 2)
    starts = plane.states(np.vstack([np.array(own, dtype=float).reshape(-1, 2), grid]))
    return Scene(beta, plane, land, retrieval_paths(model, beta, starts), solved.states[:, index])


def export(solved: Solved) -> str:
    """The sweep as a study file."""
    return (
        f"# Sweep in beta, made with the app of hopfieldphase {hopfieldphase.__version__}; "
        f"run it with `hopfieldphase run FILE`.\n{solved.spec.to_toml()}"
    )


def state_words(model: HopfieldModel, x: Array, beta: float, most: int = 3) -> str:
    """The patterns of a state with their weights, like "pattern 0 (0.62), 4 (0.38)"."""
    p = np.asarray(model.weights(x, beta))
    order = [int(i) for i in np.argsort(-p, kind="stable")[: most + 1] if p[i] > 1e-3]
    told = ", ".join(f"{i} ({p[i]:.2f})" for i in order[:most])
    return f"pattern {told}" + (", …" if len(order) > most else "")


def minima_words(solved: Solved, scene: Scene) -> list[str]:
    """What is to be said of each minimum that the paths reach."""
    far = scene.plane.distance(np.array([one.x for one in scene.paths.minima])) / solved.model.state_scale
    share = np.bincount(scene.paths.basin, minlength=len(scene.paths.minima))
    return [
        f"Γ = {one.free_energy:.8g}; {state_words(solved.model, one.x, scene.beta)}; "
        f"{count} of {share.sum()} paths; {distance:.2f} s|ξ| off the plane"
        + ("" if one.status is Status.CONVERGED else f"; {one.status.name.lower().replace('_', ' ')}")
        for one, distance, count in zip(scene.paths.minima, far, share, strict=True)
    ]


def _model(spec: SweepSpec) -> HopfieldModel:
    model = spec_model(spec, 0)
    assert isinstance(model, HopfieldModel)  # no attention map is given
    return model


def _check_size(what: str, count: int) -> None:
    if count > MOST[what]:
        raise InputError(
            f"{count} {what}: the app solves live up to {MOST[what]}; use `hopfieldphase sweep beta` for more"
        )


def _value(text: str) -> Any:
    """A whole number, a number, or the text itself, which a spec then refuses by name."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text.strip()
