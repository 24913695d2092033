r"""Names, types, labels and units of the groups that a tree of branches holds.

One branch is a row of `/branches`, its pieces are rows of `/pieces` and its special points rows of
`/special_points`, each in the order along the branch. `/arcs` holds the points of the pieces through which
they are drawn (and, away from α = 2, from which they are evaluated again), `/curves` the same on one common
grid, `/equilibrium` the Maxwell line and `/patterns` the stored patterns. Lists of patterns end in −1, as
often as the longest list of the variable asks for.
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeGuard

import numpy as np
import xarray as xr

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import schema
from hopfieldphase.data.schema import Quantity

NOTHING = -1
"""Stands for no pattern, no branch, no point."""

PHASES = ("absent", "equilibrium", "metastable", "unstable")
"""Phases of a state: of lowest Γ among all branches, another minimum, no minimum."""

EQUATIONS = ("exact", "motion", "motion_on_support", "weights_on_support")
"""How the states of a piece are given: in closed form, or as solutions of one of three systems."""

_SEEN = schema.OBSERVABLES
_BETA = schema.COORDINATES["beta"]
_SUPPORT = Quantity("i8", "patterns of the support")
_INDEX = Quantity("i8", "number of unstable directions")
_PHASE = Quantity("i1", "phase")
_KIND = Quantity("i1", "what happens here")
_OBSERVED = {
    name: _SEEN[name] for name in ("free_energy", "overlap_max", "ipr", "support_size", "hessian_min")
}

_LISTS = ("support", "patterns", "landing_support")

Layout = Mapping[str, tuple[tuple[str, ...], Quantity]]


def _ends(dim: str) -> dict[str, tuple[tuple[str, ...], Quantity]]:
    """Both ends of an interval of β."""
    return {
        "beta_min": ((dim,), Quantity("f8", r"lower end $\beta_{\min}$")),
        "beta_max": ((dim,), Quantity("f8", r"upper end $\beta_{\max}$")),
    }


GROUPS: Mapping[str, Layout] = {
    "branches": {
        "branch": (("branch",), Quantity("i8", "branch, in the order of rank at the reference")),
        "support": (("branch", "slot"), _SUPPORT),
        **{name: (("branch",), quantity) for name, quantity in _OBSERVED.items()},
        "leading": (("branch",), Quantity("i8", "pattern of the largest weight")),
        "leading_weight": (("branch",), Quantity("f8", r"largest weight $\max_\mu p_\mu$")),
        **_ends("branch"),
        "beta_min_end": (("branch",), Quantity("i1", "what happens at the lower end")),
        "beta_max_end": (("branch",), Quantity("i1", "what happens at the upper end")),
        "beta_min_point": (("branch",), Quantity("i8", "special point at the lower end")),
        "beta_max_point": (("branch",), Quantity("i8", "special point at the upper end")),
        "equal_to": (("branch",), Quantity("i8", "first branch with the same free energy throughout")),
        "status": (("branch",), Quantity("i1", "how the continuation ended")),
    },
    "pieces": {
        "branch": (("piece",), Quantity("i8", "branch")),
        "support": (("piece", "slot"), _SUPPORT),
        "support_size": (("piece",), _SEEN["support_size"]),
        **_ends("piece"),
        "beta_min_event": (("piece",), Quantity("i1", "what happens on leaving the piece downward")),
        "beta_max_event": (("piece",), Quantity("i1", "what happens on leaving the piece upward")),
        "beta_min_point": (("piece",), Quantity("i8", "special point at the lower end")),
        "beta_max_point": (("piece",), Quantity("i8", "special point at the upper end")),
        "index": (("piece",), _INDEX),
        "equations": (("piece",), Quantity("i1", "equations that the states solve")),
    },
    "special_points": {
        "branch": (("point",), Quantity("i8", "branch")),
        "kind": (("point",), _KIND),
        "beta": (("point",), _BETA),
        "patterns": (("point", "acting"), Quantity("i8", "patterns that enter or leave")),
        "multiplicity": (("point",), Quantity("i8", "number of patterns or eigenvalues that act")),
        "goes_on": (("point",), Quantity("b1", "the branch goes on beyond the point")),
        "jump": (("point",), Quantity("b1", "the state has to jump beyond the point")),
        "degenerate": (("point",), Quantity("b1", "several events meet, or energies agree on an interval")),
        "storage_onset": (("point",), Quantity("b1", "a single pattern is stored exactly on one side only")),
        "bracket_min": (("point",), Quantity("f8", r"lower end of the bracket of $\beta$")),
        "bracket_max": (("point",), Quantity("f8", r"upper end of the bracket of $\beta$")),
        "precision": (("point",), Quantity("f8", r"relative uncertainty of $\beta$")),
        "status": (("point",), Quantity("i1", "whether the point was located as asked")),
        **{name: (("point",), quantity) for name, quantity in _OBSERVED.items()},
        "state": (("point", "component"), schema.STATE),
        "landing_branch": (("point",), Quantity("i8", "branch on which the state lands, or that coexists")),
        "landing_beta": (("point",), Quantity("f8", r"inverse temperature $\beta$ of the landing state")),
        "landing_free_energy": (("point",), Quantity("f8", r"free energy $\Gamma$ of the landing state")),
        "landing_overlap_max": (
            ("point",), Quantity("f8", r"maximal overlap $z_{\max}$ of the landing state")
        ),
        "landing_support": (("point", "landing_slot"), Quantity("i8", "support of the landing state")),
        "landing_state": (("point", "component"), Quantity("f8", r"landing state $x$")),
    },
    "arcs": {
        "piece": (("node",), Quantity("i8", "piece")),
        "beta": (("node",), _BETA),
        **{name: (("node",), quantity) for name, quantity in _OBSERVED.items()},
        "excess": (("node",), Quantity("f8", r"free energy above equilibrium $\Gamma - \Gamma_\mathrm{eq}$")),
        "phase": (("node",), _PHASE),
    },
    "curves": {
        "branch": (("branch",), Quantity("i8", "branch, in the order of rank at the reference")),
        "beta": (("beta",), _BETA),
        **{name: (("branch", "beta"), quantity) for name, quantity in _OBSERVED.items()},
        "index": (("branch", "beta"), _INDEX),
        "phase": (("branch", "beta"), _PHASE),
    },
    "equilibrium": {
        "branch": (("interval",), Quantity("i8", "branch of lowest free energy")),
        **_ends("interval"),
        "transition": (("interval",), Quantity("i1", "what ends the interval at its upper end")),
    },
    "patterns": {"pattern": (("index", "component"), Quantity("f8", r"stored patterns $\xi^\mu$"))},
}  # fmt: skip
"""Dimensions and quantities of every variable of every group."""

SOLUTIONS: Layout = {
    "unknown": (("node", "unknown_index"), Quantity("f8", "unknowns of the equations of the piece")),
    "tangent": (("node", "unknown_index"), Quantity("f8", "their part of the unit tangent, in scaled units")),
    "tangent_beta": (("node",), Quantity("f8", r"$\beta$ part of the unit tangent, in scaled units")),
}
"""Further variables of `/arcs` where the pieces are no closed forms."""


COMMENTS: Mapping[str, str] = {
    "branches": "State of each branch at the reference, and how far it reaches: beta_min is 0 and beta_max "
    "inf where it is unbounded.",
    "pieces": "Parts of the branches with one support, one number of unstable directions and monotone beta, "
    "in order along each branch; beta_min is 0 and beta_max inf where unbounded.",
    "special_points": "In order along each branch, with both of its ends; then the points at which two "
    "branches, branch and landing_branch, have equal free energies.",
    "arcs": "Points along the pieces in the direction of the branch, with both ends; a point where the phase "
    "changes within a piece occurs once for each phase.",
    "curves": "Of several states of one branch at one beta the one with fewest unstable directions, then "
    "that of lowest free energy; NaN, support_size 0 and index -1 where the branch does not exist.",
    "equilibrium": "Intervals on which one branch has the lowest free energy of all branches followed.",
    "patterns": "One pattern per row.",
}
"""What a reader of each group has to know."""


def flags(names: Iterable[str | Enum]) -> dict[str, Any]:
    """CF attributes of a variable that holds the positions of words in a list."""
    words = [str(name) for name in names]
    return {"flag_values": list(range(len(words))), "flag_meanings": " ".join(words)}


FLAGS: Mapping[str, Mapping[str, Any]] = {
    "kind": flags(PointKind),
    "beta_min_end": flags(PointKind),
    "beta_max_end": flags(PointKind),
    "beta_min_event": flags(PointKind),
    "beta_max_event": flags(PointKind),
    "transition": flags(PointKind),
    "phase": flags(PHASES),
    "equations": flags(EQUATIONS),
    "status": schema.STATUS_FLAGS,
}
"""Variables, in any group, whose integers stand for words."""


def group(tree: xr.DataTree, name: str) -> xr.Dataset:
    """One group of a tree on its own."""
    return tree.children[name].to_dataset(inherit=False)


def columns(tree: xr.DataTree, name: str) -> dict[str, Any]:
    """The variables of one group of a tree as arrays, with words in place of integers with CF flags.

    Padded lists of patterns become lists of tuples.
    """
    found: dict[str, Any] = {}
    for key, variable in group(tree, name).variables.items():
        values = variable.values
        if "flag_meanings" in variable.attrs:
            words = np.array(str(variable.attrs["flag_meanings"]).split())
            found[str(key)] = words[np.searchsorted(variable.attrs["flag_values"], values)]
        elif key in _LISTS:
            found[str(key)] = [tuple(mu for mu in row if mu != NOTHING) for row in values.tolist()]
        else:
            found[str(key)] = values
    return found


def holds_branches(data: xr.Dataset | xr.DataTree) -> TypeGuard[xr.DataTree]:
    """Whether the data are a tree of branches in β."""
    # Those in the memory load have variables of their own: `load_branch_schema`.
    return (
        isinstance(data, xr.DataTree)
        and "branches" in data.children
        and "M_min" not in data.children["branches"]
    )


def check(tree: xr.DataTree) -> None:
    """Raise `InputError` unless the tree holds branches in this schema.

    Checked are the version, the groups, and the names, dimensions and kinds of type of their variables.
    """
    schema.check_version(tree.attrs)
    for title, layout in GROUPS.items():
        if title not in tree.children:
            raise InputError(f"the group {title} is missing: the tree of branches is incomplete")
        dataset = group(tree, title)
        further = SOLUTIONS if title == "arcs" and "unknown" in dataset else {}
        for name, (dims, quantity) in (dict(layout) | dict(further)).items():
            schema.check_variable(dataset, name, dims, quantity, where=f" of the group {title}")
