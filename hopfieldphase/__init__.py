"""Statistical mechanics of modern Hopfield models and attention: phase diagrams one can trust.

The public names stand below and are loaded on first use, so that importing the package costs next to
nothing: Numba, xarray and SciPy come with the first function that needs them.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from wrapt import register_post_import_hook

if TYPE_CHECKING:
    from hopfieldphase import attention, closed_forms, ensembles, patterns
    from hopfieldphase.continuation.arclength import continue_curve
    from hopfieldphase.continuation.branch import Branch, Piece, SpecialPoint
    from hopfieldphase.continuation.branches import BranchSet, follow
    from hopfieldphase.continuation.equations import Problem
    from hopfieldphase.continuation.map_branches import follow_map, map_branches
    from hopfieldphase.continuation.map_curve import MapCurve, MapProblem, continue_map
    from hopfieldphase.core.errors import HopfieldPhaseError, InputError
    from hopfieldphase.core.status import Status
    from hopfieldphase.core.tsallis import tsallis_entropy
    from hopfieldphase.data.branches import open
    from hopfieldphase.dynamics.deformed import DeformedEnsemble
    from hopfieldphase.dynamics.escape import escape_times, kramers_time
    from hopfieldphase.dynamics.joint import joint_gibbs
    from hopfieldphase.dynamics.sampling import Samples, sample
    from hopfieldphase.dynamics.thermal import thermal_attention, vertex_attention
    from hopfieldphase.explore.page import explorer
    from hopfieldphase.kernels.distances import energy_distance
    from hopfieldphase.kernels.maps import conjugate, entmax, weights
    from hopfieldphase.model import AttentionModel, HopfieldModel
    from hopfieldphase.phases.barriers import Barrier, barrier
    from hopfieldphase.phases.coexistence import coexistence
    from hopfieldphase.phases.equilibrium import equilibrium
    from hopfieldphase.phases.load_coexistence import coexistence_kappa
    from hopfieldphase.phases.map_coexistence import map_coexistence
    from hopfieldphase.phases.spinodals import spinodals
    from hopfieldphase.runs.branches import branches
    from hopfieldphase.runs.kappa import sweep_kappa, sweep_kappa_tree
    from hopfieldphase.runs.kappa_spec import KappaSpec
    from hopfieldphase.runs.load_branches import branches_kappa
    from hopfieldphase.runs.progress_bar import progress_bar
    from hopfieldphase.runs.specs import SweepSpec
    from hopfieldphase.runs.studies import study
    from hopfieldphase.runs.sweeps import sweep_beta
    from hopfieldphase.solvers.fixed_points import FixedPoint, find_fixed_point
    from hopfieldphase.solvers.relaxation import Solution, relax

__version__ = "0.1.0"

__all__ = [
    "AttentionModel",
    "Barrier",
    "Branch",
    "BranchSet",
    "DeformedEnsemble",
    "FixedPoint",
    "HopfieldModel",
    "HopfieldPhaseError",
    "InputError",
    "KappaSpec",
    "MapCurve",
    "MapProblem",
    "Piece",
    "Problem",
    "Samples",
    "Solution",
    "SpecialPoint",
    "Status",
    "SweepSpec",
    "attention",
    "barrier",
    "branches",
    "branches_kappa",
    "closed_forms",
    "coexistence",
    "coexistence_kappa",
    "conjugate",
    "continue_curve",
    "continue_map",
    "energy_distance",
    "ensembles",
    "entmax",
    "equilibrium",
    "escape_times",
    "explorer",
    "find_fixed_point",
    "follow",
    "follow_map",
    "joint_gibbs",
    "kramers_time",
    "map_branches",
    "map_coexistence",
    "open",
    "patterns",
    "progress_bar",
    "relax",
    "sample",
    "spinodals",
    "study",
    "sweep_beta",
    "sweep_kappa",
    "sweep_kappa_tree",
    "thermal_attention",
    "tsallis_entropy",
    "vertex_attention",
    "weights",
]

_HOMES = {
    "AttentionModel": "hopfieldphase.model",
    "Barrier": "hopfieldphase.phases.barriers",
    "Branch": "hopfieldphase.continuation.branch",
    "BranchSet": "hopfieldphase.continuation.branches",
    "DeformedEnsemble": "hopfieldphase.dynamics.deformed",
    "FixedPoint": "hopfieldphase.solvers.fixed_points",
    "HopfieldModel": "hopfieldphase.model",
    "HopfieldPhaseError": "hopfieldphase.core.errors",
    "InputError": "hopfieldphase.core.errors",
    "KappaSpec": "hopfieldphase.runs.kappa_spec",
    "MapCurve": "hopfieldphase.continuation.map_curve",
    "MapProblem": "hopfieldphase.continuation.map_curve",
    "Piece": "hopfieldphase.continuation.branch",
    "Problem": "hopfieldphase.continuation.equations",
    "Samples": "hopfieldphase.dynamics.sampling",
    "Solution": "hopfieldphase.solvers.relaxation",
    "SpecialPoint": "hopfieldphase.continuation.branch",
    "Status": "hopfieldphase.core.status",
    "SweepSpec": "hopfieldphase.runs.specs",
    "barrier": "hopfieldphase.phases.barriers",
    "branches": "hopfieldphase.runs.branches",
    "branches_kappa": "hopfieldphase.runs.load_branches",
    "coexistence": "hopfieldphase.phases.coexistence",
    "coexistence_kappa": "hopfieldphase.phases.load_coexistence",
    "conjugate": "hopfieldphase.kernels.maps",
    "continue_curve": "hopfieldphase.continuation.arclength",
    "continue_map": "hopfieldphase.continuation.map_curve",
    "energy_distance": "hopfieldphase.kernels.distances",
    "entmax": "hopfieldphase.kernels.maps",
    "equilibrium": "hopfieldphase.phases.equilibrium",
    "escape_times": "hopfieldphase.dynamics.escape",
    "explorer": "hopfieldphase.explore.page",
    "find_fixed_point": "hopfieldphase.solvers.fixed_points",
    "follow": "hopfieldphase.continuation.branches",
    "follow_map": "hopfieldphase.continuation.map_branches",
    "joint_gibbs": "hopfieldphase.dynamics.joint",
    "kramers_time": "hopfieldphase.dynamics.escape",
    "map_branches": "hopfieldphase.continuation.map_branches",
    "map_coexistence": "hopfieldphase.phases.map_coexistence",
    "open": "hopfieldphase.data.branches",
    "progress_bar": "hopfieldphase.runs.progress_bar",
    "relax": "hopfieldphase.solvers.relaxation",
    "sample": "hopfieldphase.dynamics.sampling",
    "spinodals": "hopfieldphase.phases.spinodals",
    "study": "hopfieldphase.runs.studies",
    "sweep_beta": "hopfieldphase.runs.sweeps",
    "sweep_kappa": "hopfieldphase.runs.kappa",
    "sweep_kappa_tree": "hopfieldphase.runs.kappa",
    "thermal_attention": "hopfieldphase.dynamics.thermal",
    "tsallis_entropy": "hopfieldphase.core.tsallis",
    "vertex_attention": "hopfieldphase.dynamics.thermal",
    "weights": "hopfieldphase.kernels.maps",
}
_MODULES = {
    "attention": "hopfieldphase.attention",
    "closed_forms": "hopfieldphase.closed_forms",
    "ensembles": "hopfieldphase.ensembles",
    "patterns": "hopfieldphase.patterns",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _MODULES:
        value = import_module(_MODULES[name])
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _attach_accessor(xarray: ModuleType) -> None:
    """Give datasets and trees their `.hp`, whose module is loaded when it is first used."""

    def hp(data: Any) -> Any:
        return import_module("hopfieldphase.accessor").accessor(data)

    xarray.register_dataset_accessor("hp")(hp)
    xarray.register_datatree_accessor("hp")(hp)


register_post_import_hook(_attach_accessor, "xarray")
