"""The summary of a sweep in words: lines of plain ASCII text for any terminal."""

import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

WIDTH = 80
"""Longest line, in characters."""

_UNIT_NORM = 1e-12
"""Norms within this of 1 are unit norms: rows divided by their norm are off by a few rounding errors."""

_SATURATED = 1e-9
"""A state with z_max this close to the overlap of a stored pattern with itself, relatively, is that one."""

_SHOWN_JUMPS = 6

_INDENT = 12


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary of a sweep in words.

    Parameters
    ----------
    summary : mapping
        As made by `summary.sweep_summary`.

    Returns
    -------
    list of str
        Lines of at most `WIDTH` characters, ASCII only.
    """
    parts = {
        "sweep": _sweep(summary),
        "hysteresis": _hysteresis(summary),
        "jumps": _jumps(summary),
        "events": _events(summary),
        "saturation": _saturation(summary),
        "minima": _minima(summary),
        "patterns": _patterns(summary["patterns"]),
    }
    return section_lines(parts)


def section_lines(parts: Mapping[str, Sequence[str]]) -> list[str]:
    """Sentences under their labels, wrapped to `WIDTH` characters."""
    lines: list[str] = []
    for label, sentences in parts.items():
        for index, sentence in enumerate(sentences):
            # A value stays on one line with its name: only blanks outside of " = ", " to " and " +/- " break.
            kept = re.sub(
                r" (=|to|\+/-|and|%) (?=[-+\d])", "\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", sentence
            )
            wrapped = textwrap.wrap(
                kept,
                WIDTH,
                initial_indent=f"{label if index == 0 else '':<{_INDENT}}",
                subsequent_indent=" " * (_INDENT + 2),
                break_on_hyphens=False,
            )
            lines += [line.replace("\N{NO-BREAK SPACE}", " ") for line in wrapped]
    return lines


def _sweep(summary: Mapping[str, Any]) -> list[str]:
    grid, model, name = summary["grid"], summary["model"], summary["parameter"]
    sizes = [attention_text(model["attention"])] if "attention" in model else []
    sizes += [
        f"{key} = {_text(model[key])}" for key in ("alpha", "beta", "M", "d") if model.get(key) is not None
    ]
    sizes.append(_count(summary["realizations"], "realization"))
    walk = f"{name} = {_range(grid['first'], grid['last'])}, {_count(grid['points'], 'value')}"
    starts = [
        f"{way} from {model[key]}" for way, key in (("up", "start_up"), ("down", "start_down")) if model[key]
    ]
    return [", ".join(sizes), "; ".join([walk, ", ".join(starts)] if starts else [walk])]


def _hysteresis(summary: Mapping[str, Any]) -> list[str]:
    found, name, total = summary["hysteresis"], summary["parameter"], summary["realizations"]
    measured = "Gamma or z_max" if summary.get("stability", {}).get("free_energy", True) else "z_max"
    criterion = f"in {measured} by more than {found['tolerance']:g}"
    if not found["any"]:
        return [f"none: up and down nowhere differ {criterion}"]
    where = _intervals(found["any"])
    if total == 1:
        sentences = [f"{name} = {where}, where up and down differ {criterion}"]
    else:
        everywhere = f"{name} = {_intervals(found['all'])}" if found["all"] else "nowhere"
        sentences = [
            f"in {found['realizations']} of {total} realizations: up and down differ {criterion}",
            f"in any realization: {name} = {where}; in all of them: {everywhere}",
            f"begins at {name} = {_spread(found['lower_edge'])}, ends at {_spread(found['upper_edge'])} "
            "(mean +/- s.d.)",
        ]
    for key, end in (("reach_first", "first"), ("reach_last", "last")):
        if found[key]:
            who = f"in {found[key]} of {total} it" if total > 1 else "it"
            sentences.append(f"{who} reaches the {end} {name} of the grid and may go on beyond")
    sentences.append(f"area between the loops: {_spread(found['area'])}")
    return sentences


def _jumps(summary: Mapping[str, Any]) -> list[str]:
    sentences = []
    for way in ("up", "down"):
        rows = summary["jumps"][way]
        counts = [len(row) for row in rows]
        if not any(counts):
            sentences.append(f"{way}: none")
            continue
        number = _from_to(counts)
        largest = [max(row, key=lambda jump: abs(jump["size"] or 0.0)) for row in rows if row]
        place = _mean_spread([0.5 * (jump["before"] + jump["after"]) for jump in largest])
        size = _mean_spread([jump["size"] or 0.0 for jump in largest])
        per, of_each = (" in each realization", " of each") if len(rows) > 1 else ("", "")
        sentences.append(
            f"{way}: {number}{per}; the largest{of_each} at {summary['parameter']} = {place}, "
            f"change of z_max {size}"
        )
    return sentences


def _events(summary: Mapping[str, Any]) -> list[str]:
    """Of a sweep in the memory load: patterns that act on the state as they come or go, and its jumps."""
    sentences, alpha = [], summary["model"].get("alpha")
    dense = isinstance(alpha, float) and alpha <= 1
    for way, verb in (("up", "enter"), ("down", "leave")):
        rows = summary.get("events", {}).get(way, [])
        jumps = [[jump["M"] for jump in row["jumps"]] for row in rows]
        if len(rows) == 1 and 0 < len(jumps[0]) <= _SHOWN_JUMPS:
            last = f"it jumps at M = {', '.join(map(str, jumps[0]))}"
        elif any(jumps):
            last = f"{_from_to([len(row) for row in jumps])} make it jump"
        elif rows:
            last = "none makes it jump"
        else:
            continue
        each = " in each realization" if len(rows) > 1 else ""
        number = "all" if dense else _from_to([row["events"] for row in rows])
        sentences.append(f"{way}: {number} patterns{each} act on the state as they {verb}; {last}")
    return sentences


def _saturation(summary: Mapping[str, Any]) -> list[str]:
    found, name = summary["saturation"], summary["parameter"]
    gap = found["relative_gap"]
    if gap is None:
        verdict = "z_max is not finite"
    elif gap <= _SATURATED:
        verdict = "every sweep ends in one, exactly"
    else:
        verdict = f"up to {100 * gap:.3g} % away"
    return [
        f"z_max at {name} = {summary['grid']['last']:g}: {_spread(found['up'])} up, "
        f"{_spread(found['down'])} down",
        f"a stored pattern has s^2 |xi|^2 = {_spread(found['stored'])}: {verdict}",
    ]


def _minima(summary: Mapping[str, Any]) -> list[str]:
    points, minima, worst, name = (
        summary[key] for key in ("points", "verified_minima", "worst_residual", "parameter")
    )
    stability = summary.get("stability")
    kind = "minima of the free energy"
    if stability is not None and not stability["free_energy"]:
        kind = "attracting fixed points of the update, which has no free energy"
    sentences = [f"{minima} of {points} points are verified {kind}"]
    if stability is not None and stability["spectral_radius"] is not None:
        radius = (
            f"largest spectral radius: {stability['spectral_radius']:.6g} at {name} = {stability[name]:g}"
        )
        pairs = f", a complex leading pair at {_count(stability['complex'], 'point')}"
        sentences.append(radius + (pairs if stability["complex"] else ""))
    others = [
        f"{count} {status.replace('_', ' ')}"
        for status, count in summary["statuses"].items()
        if status != "converged"
    ]
    if others:
        sentences.append("the others: " + ", ".join(others))
    where = f"{name} = {worst[name]:g} {worst['direction']}"
    if summary["realizations"] > 1:
        where += f" in realization {worst['realization']}"
    size = "not a number" if worst["value"] is None else f"{worst['value']:.1e}"
    sentences.append(f"worst relative residual |x - T(x)|: {size} at {where}")
    return sentences


def _patterns(patterns: Mapping[str, Any]) -> list[str]:
    low, high, duplicates = patterns["norm_min"], patterns["norm_max"], patterns["duplicates"]
    if max(abs(low - 1), abs(high - 1)) <= _UNIT_NORM:
        sentences = ["all of unit norm"]
    else:
        sentences = [f"not of unit norm: |xi| = {_range(low, high)}; beta acts as beta |xi|^2"]
    if duplicates:
        sentences.append(f"duplicates: {duplicates}; equal patterns share their weight")
    return sentences


def _intervals(pairs: list[list[float]]) -> str:
    return ", ".join(_range(low, high) for low, high in pairs)


def _range(low: float, high: float, between: str = " to ") -> str:
    return f"{low:.6g}" if low == high else f"{low:.6g}{between}{high:.6g}"


def _spread(value: Mapping[str, float | None]) -> str:
    mean, std = value["mean"], value["std"]
    if mean is None or std is None:
        return "not finite"
    # A spread of the size of rounding is none; else the mean ends with the second digit of the spread.
    if std <= _SATURATED * abs(mean):
        return f"{mean:.6g}"
    decimals = max(0, 1 - math.floor(math.log10(std)))
    return f"{mean:.{decimals}f} +/- {std:.2g}" if std < 99.5 else f"{mean:.0f} +/- {std:.0f}"


def _mean_spread(values: list[float]) -> str:
    mean = sum(values) / len(values)
    variance = sum((value - mean) ** 2 for value in values) / len(values)
    return _spread({"mean": mean, "std": math.sqrt(variance)})


def _from_to(counts: Sequence[int]) -> str:
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def attention_text(described: Mapping[str, Any]) -> str:
    """An attention map, as its attribute describes it, in words: ``top-k (k = 8)``."""
    numbers = [f"{key} = {value:.6g}" for key, value in described.items() if isinstance(value, int | float)]
    return str(described["name"]) + (f" ({', '.join(numbers)})" if numbers else "")


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
