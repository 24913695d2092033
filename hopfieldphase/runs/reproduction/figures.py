"""The studies behind the figures of Section 5, each computed once, and the patterns that they share."""

from functools import cache
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.structure import BRANCHES, CONTINUED, SWEEP
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.hysteresis import sweeps_differ
from hopfieldphase.runs.branches import branches
from hopfieldphase.runs.library import study_files
from hopfieldphase.runs.sources import make_patterns
from hopfieldphase.runs.spec_base import read_toml
from hopfieldphase.runs.specs import SweepSpec
from hopfieldphase.runs.structure import structure
from hopfieldphase.runs.structure_spec import LoadStructureSpec, StructureSpec
from hopfieldphase.runs.sweeps import sweep_beta

REALIZATIONS = 10


@cache
def figure_spec(number: int) -> StructureSpec | LoadStructureSpec:
    """The study of Figure 2, 3, 4 or 5."""
    kind = StructureSpec if number in (2, 3) else LoadStructureSpec
    return kind(**read_toml(study_files()[f"figure-{number}"]))


@cache
def _figure(number: int) -> xr.DataTree:
    return structure(figure_spec(number))


def sweep_of(number: int) -> xr.Dataset:
    """The sweep of panels (a) and (b): dimensions (realization, direction, beta or kappa)."""
    return _figure(number).children[SWEEP].to_dataset(inherit=False)


def followed(number: int) -> xr.Dataset:
    """What warm starts find from the top branches at the reference, panels (c) and (d)."""
    return _figure(number).children[CONTINUED].to_dataset(inherit=False)


def branch_table(number: int, group: str) -> xr.Dataset:
    """A table of the exact branches behind panels (c) and (d)."""
    return _figure(number).children[BRANCHES].children[group].to_dataset(inherit=False)


def facts(number: int) -> dict[str, Any]:
    """The attributes of the search for branches: `n_states` and more."""
    return {str(name): value for name, value in _figure(number).children[BRANCHES].attrs.items()}


@cache
def patterns(realization: int = 0) -> np.ndarray:
    """The patterns of Figures 2 and 3, shape (100, 64)."""
    return np.asarray(make_patterns(figure_spec(2).patterns, realization))


@cache
def model(alpha: float = 2.0, realization: int = 0) -> HopfieldModel:
    """Their model."""
    return HopfieldModel(patterns(realization), alpha)


@cache
def sparse_branches(at: float) -> Any:
    """Every minimum that is found at one β, realization 0, α = 2, followed exactly through the range."""
    return branches(model(), at, (20.0, 400.0))


@cache
def softmax_loop() -> xr.Dataset:
    """The softmax sweep far above the range of Figure 3."""
    return sweep_beta(SweepSpec(**read_toml(study_files()["softmax-loop"])))


def differing(sweep: xr.Dataset) -> np.ndarray:
    """Where the two directions hold different states, shape (realization, n)."""
    return sweeps_differ(sweep["free_energy"].values, sweep["overlap_max"].values)[0]


def mean_curves(sweep: xr.Dataset, name: str) -> np.ndarray:
    """Mean over the realizations, shape (2, n): up and down."""
    return sweep[name].mean("realization").values


def spreads(sweep: xr.Dataset, name: str) -> np.ndarray:
    """Standard deviation over the realizations, shape (2, n): up and down."""
    return sweep[name].std("realization").values


def backward(curve: np.ndarray) -> float:
    """Share of the total variation of a curve that goes against its net direction: 0 if it is monotone."""
    steps = np.diff(curve) * np.sign(curve[-1] - curve[0])
    return float(-steps[steps < 0].sum() / np.abs(steps).sum())
