r"""Descents near a minimum as one tree, its summary, and that in words.

The root has the paths over (factor, iteration), where `factor` is the step size in units of η_crit; a path
that ended is NaN from there on, as is an onset that never came. `/modes` has the Hessian spectrum and the
rates over (factor, mode), and the minimum with its soft direction over `component`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.data import schema
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.dynamics.minimum import Forecast, Minimum
from hopfieldphase.dynamics.stability import Descent, Outcome

TITLE = "update stability"
RELATIVE_FROM = 0.01
"""Smallest |1 − ηλ_i| whose relative deviation is reported: near zero only the absolute one has a meaning."""

_UNIT = r"$\eta/\eta_{\mathrm{crit}}$"
_NUMBERS = {
    "onset": "measured onset of growth (iteration)",
    "onset_predicted": "onset of growth to second order in $A$ (iteration)",
    "onset_linear": "onset of growth to first order in $A$ (iteration)",
    "floor": r"distance $\|x - x^*\|$ at the onset",
    "floor_predicted": r"distance $\|x - x^*\|$ at the onset to second order in $A$",
    "seed": "what the cubic terms leave in the unstable modes",
    "seed_linear": "what the start has in the unstable modes",
}
_PATHS = {
    "distance": r"distance to the fixed point $\|x(t) - x^*\|$",
    "overlap_max": r"maximal overlap $\max_\mu z_\mu(x(t))$",
    "unstable_distance": r"distance $\|x(t) - x^*\|$ within the unstable modes",
    "distance_predicted": r"distance $\|x(t) - x^*\|$ to second order in $A$",
}


def stability_tree(
    point: Minimum,
    factors: Sequence[float],
    descents: Sequence[Descent],
    rates: Sequence[NDArray[np.float64]],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    point : Minimum
    factors : sequence of float
        Step sizes in units of η_crit.
    descents : sequence of Descent
        One for each of them.
    rates : sequence of ndarray, shape (d,)
        Measured contraction of every mode, for each of them.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    count = max(path.distance.size for path in descents)
    along, each = ("factor", "iteration"), "factor"
    paths = {
        name: labelled(along, [_padded(getattr(path, name), count) for path in descents], long_name)
        for name, long_name in _PATHS.items()
    }
    numbers = {
        name: labelled(
            each, [math.nan if (v := getattr(path, name)) is None else v for path in descents], text
        )
        for name, text in _NUMBERS.items()
    }
    found = point.model.weights(point.x, point.beta)
    root = xr.Dataset(
        {
            **paths,
            **numbers,
            "step": labelled(each, [path.step for path in descents], r"step size $\eta$"),
            "n_steps": labelled(each, [path.distance.size - 1 for path in descents], "number of steps"),
            "forecast": _flags(each, [path.forecast for path in descents], Forecast, "linear forecast"),
            "outcome": _flags(each, [path.outcome for path in descents], Outcome, "how the descent ended"),
            "critical_step": labelled(
                (), point.critical_step, r"critical step size $\eta_{\mathrm{crit}} = 2/\lambda_{\max}$"
            ),
            "fixed_overlap_max": labelled(
                (), point.model.overlaps(point.x).max(), r"maximal overlap $z_{\max}(x^*)$"
            ),
            "support_kept": labelled(
                (), all(path.support_kept for path in descents), "both sides of $x^*$ have its support"
            ),
            "relative_amplitude": labelled(
                (), options["amplitude"] / point.length, "amplitude over the quadratic length"
            ),
            "n_patterns": labelled((), point.model.M, "number of patterns $M$"),
            "support_size": labelled(
                (), int((found > 0).sum()), schema.OBSERVABLES["support_size"].long_name
            ),
            "ipr": labelled((), 1 / float((found**2).sum()), schema.OBSERVABLES["ipr"].long_name),
        },
        coords={
            "factor": labelled(each, factors, f"step size {_UNIT}"),
            "iteration": labelled("iteration", np.arange(count), "iteration $t$"),
        },
    )
    modes = xr.Dataset(
        {
            "eigenvalue": labelled("mode", point.eigenvalues / point.beta, r"eigenvalue $\lambda_i/\beta$"),
            "rate_predicted": labelled(
                ("factor", "mode"), [point.rates(path.step) for path in descents], r"rate $1 - \eta\lambda_i$"
            ),
            "rate_measured": labelled(("factor", "mode"), rates, "measured rate"),
            "fixed_point": labelled("component", point.x, "fixed point $x^*$"),
            "soft_direction": labelled("component", point.soft, r"soft direction $u_{\mathrm{soft}}$"),
            "soft_dimension": labelled((), point.soft_dimension, "dimension of the lowest eigenspace"),
        },
        coords={"mode": labelled("mode", np.arange(point.model.d), "mode, by rising eigenvalue")},
    )
    return measurement("stability", TITLE, {"/": root, "/modes": modes}, options)


def stability_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What a study of the update stability found, as plain JSON values.

    Returns
    -------
    dict
        `alpha`, `beta`, `M`, `d`, `start`, `amplitude`; `fixed_point` (`overlap_max`, `support_size`, `ipr`,
        and `curvature`, the ends of the Hessian spectrum in units of β); `soft_dimension`; `critical_step`;
        `support_kept` and `relative_amplitude`, which say whether the predicted onsets are to be trusted;
        `steps`, one entry for each step size; `rate_deviation` and `rate_deviation_relative`, the largest of
        all; and `unconverged`, the stable step sizes for which the iteration limit came first.
    """
    root, modes, attrs = tree.to_dataset(), tree["modes"].to_dataset(), tree.attrs
    steps = [_step(root.isel(factor=k), modes.isel(factor=k)) for k in range(root.sizes["factor"])]
    spectrum = modes["eigenvalue"].values
    failed = [
        f"eta/eta_crit = {step['factor']:g} had not converged after {step['iterations']} iterations: "
        "give more with --iterations"
        for step in steps
        if (step["forecast"], step["outcome"]) == (Forecast.STABLE, Outcome.PERSISTS)
    ]
    return {
        "alpha": "inf" if math.isinf(attrs["alpha"]) else attrs["alpha"],
        "beta": attrs["beta"],
        "M": int(root["n_patterns"]),
        "d": modes.sizes["mode"],
        "start": attrs["start"],
        "amplitude": attrs["amplitude"],
        "fixed_point": {
            "overlap_max": float(root["fixed_overlap_max"]),
            "support_size": int(root["support_size"]),
            "ipr": float(root["ipr"]),
            "curvature": [float(spectrum[0]), float(spectrum[-1])],
        },
        "soft_dimension": int(modes["soft_dimension"]),
        "critical_step": float(root["critical_step"]),
        "support_kept": bool(root["support_kept"]),
        "relative_amplitude": float(root["relative_amplitude"]),
        "steps": steps,
        "rate_deviation": max(step["rate_deviation"] for step in steps),
        "rate_deviation_relative": max(
            (step["rate_deviation_relative"] or 0.0 for step in steps), default=0.0
        ),
        "unconverged": failed,
    }


def stability_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    point, size = summary["fixed_point"], summary["soft_dimension"]
    low, high = point["curvature"]
    critical, beta = summary["critical_step"], summary["beta"]
    direction = "the lowest mode" if size == 1 else f"next to x* among the {size} lowest modes, all equal"
    lines = [
        f"x* from {summary['start']}: support {point['support_size']}, IPR {point['ipr']:.4g}, "
        f"z_max {point['overlap_max']:.6g}",
        f"Hessian/beta from {low:.6g} to {high:.6g}",
        f"eta_crit = 2/lambda_max = {critical:.8g} = {critical * beta:.8g}/beta",
        f"start: x* + {summary['amplitude']:g} u_soft, {summary['relative_amplitude']:.2g} of the length "
        "over which Gamma is quadratic",
        f"u_soft: {direction}",
        "",
        "eta/      largest |1 - eta lambda|                                     onset",
        "eta_crit  predicted  measured   forecast outcome             steps pred. meas.",
    ]
    for step in summary["steps"]:
        onsets = "".join(_cell(step[name]) for name in ("onset_predicted", "onset"))
        lines.append(
            f"{step['factor']:<9.6g} {step['rate_predicted']:<10.6g} {step['rate_measured']:<10.6g} "
            f"{step['forecast']:<8} {step['outcome']:<16}{step['iterations']:>9}{onsets}"
        )
    if not summary["support_kept"]:
        lines += [
            "Beside x* at this amplitude other patterns have weight: onsets are not predicted;",
            "a smaller --amplitude keeps the support.",
        ]
    lines += [
        "",
        f"rates of all {summary['d']} modes: largest deviation {summary['rate_deviation']:.2g}, relative "
        f"{summary['rate_deviation_relative']:.2g}",
    ]
    for step in summary["steps"]:
        if step["onset"] and step["floor_predicted"]:
            first = "none" if step["onset_linear"] is None else step["onset_linear"]
            lines += [
                f"at {step['factor']:g}: {step['floor']:.3g} from x* at the onset, predicted "
                f"{step['floor_predicted']:.3g}",
                f"  seeds: cubic terms of Gamma {step['seed']:.2g}; start {step['seed_linear']:.2g}, which "
                f"alone gives onset {first}",
            ]
    return lines


def _step(path: xr.Dataset, modes: xr.Dataset) -> dict[str, Any]:
    """One step size."""
    predicted, measured = np.abs(modes["rate_predicted"].values), np.abs(modes["rate_measured"].values)
    deviation = np.abs(modes["rate_measured"].values - modes["rate_predicted"].values)
    resolved = predicted >= RELATIVE_FROM
    n = int(path["n_steps"])
    numbers = {name: float(path[name]) for name in _NUMBERS}
    whole = ("onset", "onset_predicted", "onset_linear")
    return {
        "factor": float(path["factor"]),
        "step": float(path["step"]),
        "forecast": str(list(Forecast)[int(path["forecast"])]),
        "outcome": str(list(Outcome)[int(path["outcome"])]),
        "iterations": n,
        "distance": float(path["distance"].values[n]),
        "overlap_max": float(path["overlap_max"].values[n]),
        "rate_predicted": float(predicted.max()),
        "rate_measured": float(measured.max()),
        "rate_deviation": float(deviation.max()),
        "rate_deviation_relative": (
            float((deviation[resolved] / predicted[resolved]).max()) if resolved.any() else None
        ),
        **{
            name: None if math.isnan(value) else int(value) if name in whole else value
            for name, value in numbers.items()
        },
    }


def _cell(value: float | None) -> str:
    return f"{'-' if value is None else value:>6}"


def _padded(values: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    return np.concatenate([values, np.full(count - values.size, np.nan)])


def _flags(dims: str, values: Sequence[Any], kind: type[Forecast] | type[Outcome], text: str) -> xr.Variable:
    members = list(kind)
    return labelled(
        dims,
        np.array([members.index(value) for value in values], dtype=np.int8),
        text,
        flag_values=list(range(len(members))),
        flag_meanings=" ".join(member.replace(" ", "_") for member in members),
    )
