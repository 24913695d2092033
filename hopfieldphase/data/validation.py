"""Critical points of systems of keys, by formula and by numerics, as labelled data and in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.phases.validation.appendix_g4 import CriticalValues

NUMERICS = {
    "coexistence": "inverse temperature of equal free energies",
    "spinodal": r"inverse temperature of a singular Hessian, $\lambda_{\min}(\nabla^2\Gamma) = 0$",
    "differences": r"inverse temperature of a vanishing second difference of $\Gamma$",
}
_CONTROLS = {"two-keys": r"cosine $\epsilon$ of the two keys", "supports": "number $k$ of keys"}
_FORMULAS = {"two-keys": r"$2/((1 - \epsilon)\,s^2)$", "supports": r"$2/\lambda_{\max}(PGP)$"}


def validation_tree(study: str, values: Sequence[CriticalValues], options: Mapping[str, Any]) -> xr.DataTree:
    """One dataset over `system`: `control`, `formula`, and a variable for each numerical value."""
    table = {
        "control": labelled("system", [one.control for one in values], _CONTROLS[study]),
        "formula": labelled(
            "system", [one.formula for one in values], rf"inverse temperature by formula, {_FORMULAS[study]}"
        ),
    }
    for name, long_name in NUMERICS.items():
        found = np.array([getattr(one, name) for one in values])
        if not np.isnan(found).all():
            table[name] = labelled("system", found, long_name)
    system = labelled("system", np.arange(len(values)), "system of keys")
    title = "critical points of systems of keys, by formula and by numerics"
    return measurement(study, title, {"/": xr.Dataset(table, coords={"system": system})}, options)


def errors(tree: xr.DataTree) -> dict[str, xr.DataArray]:
    """|numerics − formula|/formula for each numerical value."""
    table = tree.to_dataset()
    return {
        name: abs(table[name] - table["formula"]) / table["formula"] for name in NUMERICS if name in table
    }


def validation_summary(tree: xr.DataTree) -> dict[str, Any]:
    """Number of systems, and for each numerical value the worst and the median relative error."""
    found = errors(tree)
    missing = {name: int(np.isnan(error).sum()) for name, error in found.items()}
    return {
        "study": tree.attrs["study"],
        "systems": tree.sizes["system"],
        "scale": tree.attrs["scale"],
        "worst_error": {name: float(error.max()) for name, error in found.items()},
        "median_error": {name: float(error.median()) for name, error in found.items()},
        "unconverged": [f"no root for {count} systems: {name}" for name, count in missing.items() if count],
    }


def validation_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words."""
    lines = [
        f"{summary['systems']} systems at scale {summary['scale']:.6g}; relative errors of the formula",
        f"  {'against':<44}{'worst':>12}{'median':>12}",
    ]
    words = {
        "coexistence": "crossing of the free energies",
        "spinodal": "zero of the smallest Hessian eigenvalue",
        "differences": "zero of the second difference, h = 2e-5",
    }
    for name, worst in summary["worst_error"].items():
        lines.append(f"  {words[name]:<44}{worst:>12.2e}{summary['median_error'][name]:>12.2e}")
    return lines
