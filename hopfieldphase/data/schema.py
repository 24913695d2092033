r"""Names, types, labels and units of everything that a dataset holds.

The version changes when a name, a dimension, a type or a meaning does; a file of the same version opens with
any version of the package. Labels are mathtext, so that every figure and every other tool that reads
`long_name` and `units` shows the same symbols.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status

SCHEMA_VERSION = 1

REALIZATION = "realization"
DIRECTION = "direction"
COMPONENT = "component"
DIRECTIONS = ("up", "down")
PARAMETERS = ("beta", "kappa")

_KINDS = {"f": "floating point numbers", "i": "integers", "b": "booleans", "U": "text"}


@dataclass(frozen=True)
class Quantity:
    """Type, label and unit of one variable or coordinate."""

    dtype: str
    long_name: str
    units: str = "1"

    @property
    def attrs(self) -> dict[str, str]:
        """The attributes that every reader of labelled data looks for."""
        return {"long_name": self.long_name, "units": self.units}


COORDINATES: Mapping[str, Quantity] = {
    "beta": Quantity("f8", r"inverse temperature $\beta$"),
    "kappa": Quantity("f8", r"memory load $\log(M)/d$"),
    REALIZATION: Quantity("i8", "realization of the patterns"),
    DIRECTION: Quantity("U4", "direction of the sweep"),
    COMPONENT: Quantity("i8", "component of the state"),
}

OBSERVABLES: Mapping[str, Quantity] = {
    "overlap_max": Quantity("f8", r"maximal overlap $z_{\max}$"),
    "support_size": Quantity("i8", r"exact support size $|\mathrm{supp}\,p|$"),
    "ipr": Quantity("f8", r"inverse participation ratio $\mathrm{IPR} = 1/\Sigma_\mu\,p_\mu^2$"),
    "threshold_count": Quantity("i8", r"threshold count $K_\Delta$, $\Delta = 0.01$"),
    "free_energy": Quantity("f8", r"free energy $\Gamma$"),
    "hessian_min": Quantity("f8", r"smallest Hessian eigenvalue $\lambda_{\min}(\nabla^2\Gamma)/\beta$"),
    "residual": Quantity("f8", r"residual $|x - T(x)| / \max(|x|, s \max_\mu |\xi^\mu|)$"),
    "status": Quantity("i1", "how the relaxation ended"),
    "jumped": Quantity("b1", "reached by a jump"),
    "n_steps": Quantity("i8", "number of steps"),
}
"""Measured at every point of a sweep; dimensions (realization, direction, parameter)."""

ENERGY = ("free_energy", "hessian_min")
"""Those that an attention map without a free energy does not have."""

STABILITY: Mapping[str, Quantity] = {
    "spectral_radius": Quantity("f8", r"spectral radius of the update $|\mu_1(DT)|$"),
    "eigenvalue_real": Quantity("f8", r"leading eigenvalue of the update $\mathrm{Re}\,\mu_1(DT)$"),
    "eigenvalue_imag": Quantity("f8", r"leading eigenvalue of the update $\mathrm{Im}\,\mu_1(DT)$"),
}
"""Measured beside them with any other attention map than the Tsallis family."""

STATE = Quantity("f8", r"state $x$")

PATTERNS: Mapping[str, Quantity] = {
    "saturation": Quantity(
        "f8", r"overlap of a stored pattern with itself $s^2\,\mathrm{max}_\mu |\xi^\mu|^2$"
    ),
    "pattern_norm_min": Quantity("f8", r"smallest pattern norm $\min_\mu |\xi^\mu|$"),
    "pattern_norm_max": Quantity("f8", r"largest pattern norm $\max_\mu |\xi^\mu|$"),
    "duplicates": Quantity("i8", "patterns that equal an earlier one"),
}
"""Known of the patterns of each realization; dimension (realization)."""

STATUS_FLAGS: Mapping[str, object] = {
    "flag_values": [int(member) for member in Status],
    "flag_meanings": " ".join(member.name.lower() for member in Status),
}
"""CF attributes that tell any reader what the integers of `status` mean."""


def parameter_of(dataset: xr.Dataset) -> str:
    """Name of the swept parameter, "beta" or "kappa"; `InputError` where there is none or both."""
    found = [name for name in PARAMETERS if name in dataset.dims]
    if len(found) != 1:
        raise InputError(
            f"a dataset with the dimensions {_listed(dataset.dims)} is not a sweep: "
            "it needs exactly one of beta and kappa, as hopfieldphase writes it"
        )
    return found[0]


def check(dataset: xr.Dataset) -> None:
    """Raise `InputError` unless the dataset is a sweep of this schema, or of an older one.

    Checked are the version, the names, dimensions and kinds of type of all variables, and that the parameter
    ascends strictly.
    """
    check_version(dataset.attrs)
    parameter = parameter_of(dataset)
    outer = (REALIZATION,) if REALIZATION in dataset.dims else ()
    observables = dict(OBSERVABLES)
    if any(name in dataset for name in STABILITY):
        observables |= STABILITY
        if not any(name in dataset for name in ENERGY):
            observables = {name: observables[name] for name in observables if name not in ENERGY}
    expected = {name: ((*outer, DIRECTION, parameter), quantity) for name, quantity in observables.items()}
    expected |= {name: (outer, quantity) for name, quantity in PATTERNS.items()}
    expected |= {name: ((name,), COORDINATES[name]) for name in (*outer, DIRECTION, parameter)}
    if "state" in dataset:
        expected["state"] = ((*outer, DIRECTION, parameter, COMPONENT), STATE)
    for name, (dims, quantity) in expected.items():
        check_variable(dataset, name, dims, quantity)
    values = dataset[parameter].values
    if values.size == 0 or not (np.diff(values) > 0).all():
        raise InputError(f"the coordinate {parameter} must ascend and not be empty")
    if tuple(dataset[DIRECTION].values.tolist()) != DIRECTIONS:
        raise InputError(f"the coordinate {DIRECTION} must be {_listed(DIRECTIONS)}")


def check_version(attrs: Mapping[Any, Any]) -> None:
    """Raise `InputError` unless the attributes are those of a file of this schema, or of an older one."""
    version = attrs.get("schema_version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise InputError("no schema_version among the attributes: not a dataset that hopfieldphase wrote")
    if version > SCHEMA_VERSION:
        raise InputError(
            f"schema version {version} is newer than {SCHEMA_VERSION}, the newest that this version of "
            "hopfieldphase reads: update hopfieldphase"
        )


def check_variable(
    dataset: xr.Dataset, name: str, dims: tuple[str, ...], quantity: Quantity, where: str = ""
) -> None:
    """Raise `InputError` unless the dataset has a variable with these dimensions and this kind of type."""
    kind = quantity.dtype[0]
    if name not in dataset.variables:
        raise InputError(f"the variable {name}{where} is missing: the dataset is incomplete")
    found = dataset.variables[name]
    if found.dims != dims or found.dtype.kind != kind:
        raise InputError(
            f"the variable {name}{where} holds {found.dtype} over {_listed(found.dims)}: "
            f"it must hold {_KINDS[kind]} over {_listed(dims)}"
        )


def _listed(names: object) -> str:
    """The names of some dimensions, as written in an error message."""
    return "(" + ", ".join(map(str, names)) + ")"  # type: ignore[call-overload]
