r"""Names, types, labels and units of the groups that a tree of branches in the memory load holds.

As in `branch_schema`, lists of patterns end in −1. M_min and M_max are the first and the last number of
patterns on a branch or piece, kappa_min and kappa_max are log(M)/d of these.
"""

from collections.abc import Mapping
from typing import TypeGuard

import xarray as xr

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import branch_schema, schema
from hopfieldphase.data.branch_schema import Layout
from hopfieldphase.data.schema import Quantity

TITLE = "branches in kappa"

OBSERVED = ("free_energy", "overlap_max", "ipr", "support_size", "hessian_min")

_KAPPA = schema.COORDINATES["kappa"]
_COUNT = Quantity("i8", r"number of stored patterns $M$")
_SUPPORT = Quantity("i8", "patterns of the support")
_SEEN = {name: schema.OBSERVABLES[name] for name in OBSERVED}


def _ends(dim: str) -> dict[str, tuple[tuple[str, ...], Quantity]]:
    return {
        "M_min": ((dim,), Quantity("i8", r"first number of patterns $M_{\min}$")),
        "M_max": ((dim,), Quantity("i8", r"last number of patterns $M_{\max}$")),
        "kappa_min": ((dim,), Quantity("f8", r"lower end $\log(M_{\min})/d$")),
        "kappa_max": ((dim,), Quantity("f8", r"upper end $\log(M_{\max})/d$")),
        "kappa_min_point": ((dim,), Quantity("i8", "special point at the lower end")),
        "kappa_max_point": ((dim,), Quantity("i8", "special point at the upper end")),
    }


GROUPS: Mapping[str, Layout] = {
    "branches": {
        "branch": (("branch",), Quantity("i8", "branch, in the order of rank at the reference")),
        "support": (("branch", "slot"), _SUPPORT),
        **{name: (("branch",), quantity) for name, quantity in _SEEN.items()},
        "leading": (("branch",), Quantity("i8", "pattern of the largest weight")),
        "leading_weight": (("branch",), Quantity("f8", r"largest weight $\max_\mu p_\mu$")),
        **_ends("branch"),
        "status": (("branch",), Quantity("i1", "how the worst of its states was found")),
    },
    "pieces": {
        "branch": (("piece",), Quantity("i8", "branch")),
        "support": (("piece", "slot"), _SUPPORT),
        **_ends("piece"),
        **{name: (("piece",), quantity) for name, quantity in _SEEN.items()},
        "state": (("piece", "component"), schema.STATE),
    },
    "special_points": {
        "branch": (("point",), Quantity("i8", "branch")),
        "kind": (("point",), Quantity("i1", "what happens here")),
        "M": (("point",), Quantity("i8", r"number of patterns $M$ at the point")),
        "kappa": (("point",), _KAPPA),
        "patterns": (("point", "acting"), Quantity("i8", "pattern that enters or leaves")),
        "goes_on": (("point",), Quantity("b1", "the branch goes on beyond the point")),
        "jump": (("point",), Quantity("b1", "the state has to jump beyond the point")),
        "status": (("point",), Quantity("i1", "how the states at the point were found")),
        **{name: (("point",), quantity) for name, quantity in _SEEN.items()},
        "landing_branch": (("point",), Quantity("i8", "branch on which the state lands")),
        "landing_free_energy": (("point",), Quantity("f8", r"free energy $\Gamma$ of the landing state")),
        "landing_overlap_max": (
            ("point",), Quantity("f8", r"maximal overlap $z_{\max}$ of the landing state")
        ),
        "landing_support": (("point", "landing_slot"), Quantity("i8", "support of the landing state")),
        "landing_state": (("point", "component"), Quantity("f8", r"landing state $x$")),
    },
    "curves": {
        "branch": (("branch",), Quantity("i8", "branch, in the order of rank at the reference")),
        "kappa": (("kappa",), _KAPPA),
        "M": (("kappa",), _COUNT),
        **{name: (("branch", "kappa"), quantity) for name, quantity in _SEEN.items()},
    },
    "coexistence": {
        "branches": (("swap", "pair"), Quantity("i8", "both branches")),
        "M": (("swap",), Quantity("i8", r"first number of patterns $M$ with the new order")),
        "M_before": (("swap",), Quantity("i8", r"last number of patterns $M$ with the old order")),
        "kappa": (("swap",), _KAPPA),
        "free_energy": (("swap", "pair"), Quantity("f8", r"free energy $\Gamma$ at $M$")),
        "free_energy_before": (("swap", "pair"), Quantity("f8", r"free energy $\Gamma$ before")),
        "overlap_max": (("swap", "pair"), Quantity("f8", r"maximal overlap $z_{\max}$ at $M$")),
    },
}  # fmt: skip
"""Dimensions and quantities of every variable of every group."""

COMMENTS: Mapping[str, str] = {
    "branches": "State of each branch at the reference, and how far it reaches.",
    "pieces": "Above alpha = 1 stretches of M on which state and support are constant, in order along each "
    "branch; otherwise whole branches. The state and what is measured of it are those at M_min.",
    "special_points": "In order along each branch, with both of its ends, as met with rising kappa except at "
    "the lower end. M is the first one beyond; a jump has the state of the last M on the branch, and the "
    "landing state at M.",
    "curves": "The branches on the grid; NaN and support_size 0 where a branch does not exist.",
    "coexistence": "Where two branches swap the order of their free energies.",
}
"""What a reader of each group has to know."""

FLAGS = {"kind": branch_schema.flags(PointKind), "status": schema.STATUS_FLAGS}


def holds_load_branches(data: xr.Dataset | xr.DataTree) -> TypeGuard[xr.DataTree]:
    """Whether the data are a tree of branches in the memory load."""
    return isinstance(data, xr.DataTree) and data.attrs.get("title") == TITLE


def check(tree: xr.DataTree) -> None:
    """Raise `InputError` unless the tree holds branches in the memory load in this schema."""
    schema.check_version(tree.attrs)
    for title, layout in GROUPS.items():
        if title not in tree.children:
            raise InputError(f"the group {title} is missing: the tree of branches is incomplete")
        dataset = branch_schema.group(tree, title)
        for name, (dims, quantity) in layout.items():
            schema.check_variable(dataset, name, dims, quantity, where=f" of the group {title}")
