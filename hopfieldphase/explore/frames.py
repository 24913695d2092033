"""Headings, choices, words and legends around the figures of a page."""

from typing import Any

import numpy as np

from hopfieldphase.explore import figures as drawn
from hopfieldphase.explore.view import Link, View
from hopfieldphase.plotting.colours import BRANCHES, DOWN, UP

OTHER = "#8a8a8a"
"""Grey of branches without a colour of their own."""

SIGNS = ("triangle", "inverted_triangle", "square", "star", "plus", "x", "asterisk")
"""Markers of the curves."""

PHASE_COLOURS = (UP, "#56B4E9", "#E69F00")
"""Equilibrium, metastable and unstable states on the map of all branches."""


_ALT = "The chosen state is told in words and numbers on this page."


def coloured(view: View) -> list[int]:
    """The branches with a colour of their own."""
    ranked = view.leading or tuple(range(len(view.curves.values)))
    return sorted(ranked[: len(BRANCHES)])


def frame(view: View, name: str, *, branches: bool) -> dict[str, Any]:
    """Heading, choices, words and legend around one figure."""
    quantities = list(view.labels.items())
    strokes = [
        (_stroke(dash, width), view.phases[phase])
        for phase, (_, dash, width) in enumerate(drawn.STROKES[:4])
        if (view.nodes["phase"] == phase).any()
    ]
    if (view.nodes["link"] == Link.JUMP).any():
        strokes.append((_stroke("dotted", 1.0), "jump"))
    points = [
        (_marker(marker, filled), words)
        for kind, (marker, words, filled) in drawn.MARKERS.items()
        if (view.marks.get("kind", np.empty(0)) == kind).any()
    ]
    common = {"name": name, "choices": [], "legend": [], "verticals": []}
    if name == "map" and branches:
        phases = [(_box(colour), view.phases[k]) for k, colour in enumerate(PHASE_COLOURS, 1)
                  if (view.nodes["phase"] == k).any()]  # fmt: skip
        return common | {
            "title": "Phases of all branches",
            "caption": f"Where each branch exists along {view.parameter_label}; click to choose a state.",
            "alt": f"Bars: the phase of every branch against the parameter. {_ALT}",
            "legend": phases,
        }
    if name == "map":
        choices = [(key, cells.label) for key, cells in view.cells.items()]
        verticals = [(k, axis.label) for k, axis in enumerate(view.outer) if len(axis.values) > 1]
        lines = {line["text"]: line["kind"] for line in view.lines}
        return common | {
            "title": "Phase map",
            "caption": "One cell for each pair of values; grey ones are not there. Click to choose a state.",
            "verticals": sorted(verticals, key=lambda item: view.outer[item[0]].name != view.vertical)
            if len(verticals) > 1
            else [],
            "alt": f"Colour map over {view.parameter_label} and {view.vertical.replace('_', ' ')}.",
            "choices": [*choices, ("quantity", "what the diagram shows, of the chosen direction")],
            "legend": [
                (_stroke(drawn.LINES[kind][1], 2.2, drawn.LINES[kind][0]), text)
                for text, kind in lines.items()
            ],
        }
    if name == "diagram":
        return common | {
            "title": "Branch diagram" if branches else "Hysteresis diagram",
            "caption": "The chosen curve is yellow; the ring is the chosen state. Click to choose another.",
            "alt": f"States against the parameter: stable solid, unstable dashed. {_ALT}",
            "choices": [item for item in quantities if item[0] != "excess"],
            "legend": [*_curve_legend(view, branches=branches), *strokes, *points],
        }
    if name == "energy":
        energies = [item for item in quantities if item[0] in ("excess", "free_energy")]
        return common | {
            "title": "Free energies",
            "caption": "Of all branches: the lowest minimum is in equilibrium."
            if branches
            else "Of the states of both sweeps; there may be states of still lower Γ.",
            "alt": f"Free energies against the parameter. {_ALT}",
            "choices": sorted(energies) or quantities[:1],
        }
    return common | {
        "title": "Weights of the chosen state",
        "caption": "",
        "alt": "Bars: the largest weights of the chosen state. The text below names them.",
    }


def _curve_legend(view: View, *, branches: bool) -> list[tuple[str, str]]:
    if not branches:
        return [(_marker("triangle", True, UP), "up"), (_marker("inverted_triangle", True, DOWN), "down")]
    own = coloured(view)
    others = len(view.curves.values) - len(own)
    named = [
        (_marker(sign, True, colour), f"branch {view.curves.words[curve]}")
        for curve, sign, colour in zip(own, SIGNS, BRANCHES, strict=False)
    ]
    return [*named, *([(_stroke("solid", 1.2, OTHER), f"{others} others")] if others else [])]


_DASHES = {"solid": "", "dashed": "6,3", "dotted": "1.5,3", "dotdash": "2,3,6,3"}
_SHAPES = {
    "circle": '<circle cx="8" cy="8" r="4.5"/>',
    "diamond": '<path d="M8 2L12.5 8L8 14L3.5 8Z"/>',
    "square": '<rect x="3.5" y="3.5" width="9" height="9"/>',
    "dash": '<path d="M8 2V14"/>',
    "triangle": '<path d="M8 3L13 13H3Z"/>',
    "inverted_triangle": '<path d="M8 13L13 3H3Z"/>',
    "star": '<path d="M8 1.5L9.8 6H14.5L10.8 9L12.2 14L8 11L3.8 14L5.2 9L1.5 6H6.2Z"/>',
    "plus": '<path d="M8 2V14M2 8H14" stroke-width="2.5"/>',
    "x": '<path d="M3 3L13 13M13 3L3 13" stroke-width="2.5"/>',
    "asterisk": '<path d="M8 2V14M2 8H14M4 4L12 12M12 4L4 12"/>',
}


def _stroke(dash: str, width: float, colour: str = "#1a1a1a") -> str:
    line = f'<path d="M1 8H31" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{_DASHES[dash]}"/>'
    return f'<svg width="32" height="16" aria-hidden="true">{line}</svg>'


def _marker(marker: str, filled: bool, colour: str = "#1a1a1a") -> str:
    face = colour if filled else "#ffffff"
    return (
        f'<svg width="16" height="16" aria-hidden="true" fill="{face}" stroke="{colour}" stroke-width="1.2">'
        f"{_SHAPES[marker]}</svg>"
    )


def _box(colour: str) -> str:
    return (
        f'<svg width="16" height="16" aria-hidden="true"><rect width="16" height="16" fill="{colour}"/></svg>'
    )
