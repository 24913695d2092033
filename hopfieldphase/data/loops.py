r"""The loop expansion over β as one tree, its summary, and that in words.

The root has the effective action and its expansion over beta, `/coefficients` the coefficients of 1/β that
the diagrams give.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data import schema
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.dynamics.loops import LoopExpansion, fitted_order

TITLE = "loop expansion"

_TERMS = {
    "exact": r"effective action $\Gamma[\varphi]$",
    "tree": r"tree term $\beta H(\varphi)$",
    "one_loop": r"$\Gamma[\varphi]$ to one loop",
    "two_loop": r"$\Gamma[\varphi]$ to two loops",
    "fixed_source": r"$J\varphi - W[J]$ at $J = \beta H'(\varphi)$",
}


def loops_tree(found: LoopExpansion, options: Mapping[str, Any]) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    found : LoopExpansion
    options : mapping
        The options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    root = xr.Dataset(
        {name: labelled("beta", getattr(found, name), text) for name, text in _TERMS.items()},
        coords={"beta": labelled("beta", found.betas, schema.COORDINATES["beta"].long_name)},
    )
    coefficients = xr.Dataset(
        {
            "two_loop": labelled((), found.coefficient, r"irreducible two-loop coefficient $\Gamma_2$"),
            "reducible": labelled((), found.reducible, "reducible two-loop coefficient"),
        }
    )
    return measurement("loops", TITLE, {"/": root, "/coefficients": coefficients}, options)


def loops_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What measuring the loop expansion found, as plain JSON values.

    Returns
    -------
    dict
        `cubic`, `quartic`, `field`, `betas` (first and last); `orders`, the exponents a with which what is
        left of Γ after `one_loop` and `two_loop` falls like β^(−a), over the upper half of the grid (None
        where nothing is left); `coefficients` of 1/β in Γ and at the fixed source, `measured` by
        extrapolation and of the `diagrams`; `laplace`, the coefficient of log β in W − β sup; and
        `unconverged`, always empty.
    """
    data, diagrams = tree.to_dataset(), tree["coefficients"].to_dataset()
    upper = data.isel(beta=slice(data.sizes["beta"] // 2, None))
    beta = upper["beta"].values
    orders = {
        name: _order(beta, (upper["exact"] - upper[name]).values, np.abs(upper["exact"].values))
        for name in ("one_loop", "two_loop")
    }
    theory = float(diagrams["two_loop"])
    expected = {"exact": theory, "fixed_source": theory + float(diagrams["reducible"])}
    rest = (upper["tree"] - upper["fixed_source"]).values
    return {
        **{name: tree.attrs[name] for name in ("cubic", "quartic", "field")},
        "betas": [float(data["beta"][0]), float(data["beta"][-1])],
        "orders": orders,
        "coefficients": {
            name: {
                "measured": _limit(beta, beta * (upper[name] - upper["one_loop"]).values),
                "diagrams": value,
            }
            for name, value in expected.items()
        },
        "laplace": float((rest[-1] - rest[-2]) / math.log(beta[-1] / beta[-2])),
        "unconverged": [],
    }


def loops_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    lines = [
        f"field {summary['field']:g}; orders over the upper half of beta, up to {summary['betas'][1]:g}",
        "",
    ]
    for name, text, expected in (("one_loop", "one loop", 1), ("two_loop", "two loops", 2)):
        order = summary["orders"][name]
        found = "nothing but rounding" if order is None else f"falls like beta^-{order:.4f}"
        lines.append(f"what is left of Gamma after {text:<10} {found} (expected {expected})")
    lines += ["", "coefficient of 1/beta                measured      diagrams"]
    for name, text in (("exact", "in Gamma (irreducible)"), ("fixed_source", "at the fixed source beta H'")):
        pair = summary["coefficients"][name]
        lines.append(f"  {text:<32} {pair['measured']:>12.8f}  {pair['diagrams']:>12.8f}")
    lines += ["", f"W - beta sup = {summary['laplace']:.6f} log(beta) + ... (Laplace: -1/2)"]
    return lines


def _order(beta: Any, rest: Any, size: Any) -> float | None:
    """The fitted order of what is well above rounding; None where fewer than two values are."""
    clear = np.abs(rest) > 1e4 * np.finfo(float).eps * np.maximum(size, 1)
    return fitted_order(beta[clear], rest[clear]) if int(clear.sum()) > 1 else None


def _limit(beta: Any, values: Any) -> float:
    """The limit β → ∞ of values with corrections of order 1/β, from the last two."""
    return float((values[-1] * beta[-1] - values[-2] * beta[-2]) / (beta[-1] - beta[-2]))
