r"""Critical couplings of equidistant patterns over α, and where they were measured, as one labelled tree.

`/lines` holds the closed forms over (M, alpha) and, for the supports of k patterns, over (M, alpha, k); what
does not exist is NaN. `/checks` has one entry for each measured value, next to its closed form.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.phases.order import OrderCheck, OrderLines

STUDY = "order"

TOLERANCE = 1e-8
"""Relative deviation of a measured coupling from its closed form beyond which the two disagree."""

_LINES = {
    "instability": r"loss of stability of the state on all, $K_{\mathrm{inst}}$",
    "vertex": r"onset of exact storage, $K_{\mathrm{vertex}}$",
    "spinodal": r"end of the state on one pattern, $K_{\mathrm{spin}}$",
    "coexistence": r"equal free energies, $K_{\mathrm{coex}}$",
}
_SIZES = {
    "lower": r"lower end of the uniform state on $k$ patterns",
    "upper": r"upper end of the uniform state on $k$ patterns",
    "exchange": r"equal free energies of $k$ and $k - 1$ patterns",
}


def order_tree(
    lines: Sequence[OrderLines], checks: Sequence[OrderCheck], options: Mapping[str, Any]
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    lines : sequence of OrderLines
        One for each M, over the same α.
    checks : sequence of OrderCheck
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    largest = max(line.M for line in lines)
    variables = {
        name: labelled(("M", "alpha"), [getattr(line, name) for line in lines], label)
        for name, label in _LINES.items()
    }

    def padded(table: Any, M: int) -> Any:
        return np.pad(table, ((0, 0), (0, largest - M)), constant_values=math.nan)

    for name, label in _SIZES.items():
        values = [padded(getattr(line, name), line.M) for line in lines]
        variables[name] = labelled(("M", "alpha", "k"), values, label)
    for side, name in enumerate(("first_order_lower", "first_order_upper")):
        values = [padded(line.first_order[side], line.M) for line in lines]
        label = f"{('lower', 'upper')[side]} end of the first-order window"
        variables[name] = labelled(("M", "alpha", "k"), values, label)
    coords = {
        "M": labelled("M", [line.M for line in lines], "number of patterns $M$"),
        "alpha": labelled("alpha", lines[0].alpha, r"Tsallis index $\alpha$"),
        "k": labelled("k", np.arange(1, largest + 1), "patterns in the support $k$"),
    }
    measured = xr.Dataset(
        {
            "M": labelled("check", [check.M for check in checks], "number of patterns $M$"),
            "alpha": labelled("check", [check.alpha for check in checks], r"Tsallis index $\alpha$"),
            "name": labelled("check", [check.name for check in checks], "what was measured"),
            "measured": labelled("check", [check.measured for check in checks], "measured coupling $K$"),
            "formula": labelled("check", [check.formula for check in checks], "closed form of $K$"),
            "deviation": labelled("check", [check.deviation for check in checks], "relative deviation"),
        }
    )
    groups = {"/lines": xr.Dataset(variables, coords), "/checks": measured}
    listed = {name: list(item) if isinstance(item, tuple) else item for name, item in options.items()}
    return measurement(STUDY, "order of the transition of equidistant patterns", groups, listed)


def order_summary(tree: xr.DataTree) -> dict[str, Any]:
    """Where the transition is first order, and how the measured couplings compare, as JSON values.

    Returns
    -------
    dict
        `sizes` (for each M the ranges of α with a first-order window, on the grid, and the widest window as
        [α, lower K, upper K]), `checks` (number, worst relative deviation and where, median deviation, for
        each name the worst), and `unconverged`, the measurements that contradict their closed form, in words.
    """
    lines, checks = tree["lines"].to_dataset(), tree["checks"].to_dataset()
    deviations = checks["deviation"].values
    failed = np.flatnonzero(~(deviations <= TOLERANCE))
    worst = int(np.argmax(deviations))
    names = checks["name"].values.astype(str)
    kinds = np.array([name.split(",")[0] for name in names])
    return {
        "study": STUDY,
        "sizes": [_size(lines, M) for M in lines["M"].values.tolist()],
        "checks": {
            "count": int(deviations.size),
            "worst": _finite(deviations[worst]),
            "worst_case": _words(checks, worst),
            "median": _finite(np.median(deviations)),
            "by_name": {str(kind): _finite(deviations[kinds == kind].max()) for kind in np.unique(kinds)},
        },
        "unconverged": [
            f"{_words(checks, i)}: measured K = {float(checks['measured'][i]):.10g}, closed form "
            f"{float(checks['formula'][i]):.10g}"
            for i in failed.tolist()
        ],
    }


def order_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, on lines of at most 80 columns."""
    lines: list[str] = []
    for size in summary["sizes"]:
        ranges = ", ".join(f"{low:g} to {high:g}" for low, high in size["first_order"]) or "none of the grid"
        lines.append(f"M = {size['M']}: first order for alpha = {ranges}")
        if size["widest"] is not None:
            alpha, low, high = size["widest"]
            lines.append(f"  widest at alpha = {alpha:g}: K = {low:.6g} to {high:.6g}")
    checks = summary["checks"]
    worst = "inf" if checks["worst"] is None else f"{checks['worst']:.1e}"
    return [
        *lines,
        f"{checks['count']} couplings measured: worst relative deviation {worst}",
        f"  at {checks['worst_case']}",
    ]


def _size(lines: xr.Dataset, M: int) -> dict[str, Any]:
    one = lines.sel(M=M)
    alpha = one["alpha"].values
    low, high = one["first_order_lower"].values, one["first_order_upper"].values
    ratio = np.where(np.isfinite(low), high / low, 1.0)
    open_at = np.flatnonzero((ratio > 1).any(axis=1))
    runs = np.split(open_at, np.flatnonzero(np.diff(open_at) > 1) + 1) if open_at.size else []
    i, k = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
    return {
        "M": M,
        "first_order": [[float(alpha[run[0]]), float(alpha[run[-1]])] for run in runs],
        "widest": [float(alpha[i]), float(low[i, k]), float(high[i, k])] if open_at.size else None,
    }


def _words(checks: xr.Dataset, i: int) -> str:
    one = checks.isel(check=i)
    return f"M = {int(one['M'])}, alpha = {float(one['alpha']):g}, {one['name'].item()}"


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(float(value)) else None
