"""A summary that shows as words in a terminal and as a table in a notebook."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

_SHOWN = 6
"""Items of a list that a cell shows."""


class Summary(dict[str, Any]):
    """A dictionary of plain values, equal to any other with the same; only how it shows is its own.

    Parameters
    ----------
    values : mapping
        What a study shows, as JSON values.
    lines : callable
        Puts the values in words, in lines for a terminal.
    """

    def __init__(
        self, values: Mapping[str, Any], lines: Callable[[Mapping[str, Any]], Sequence[str]]
    ) -> None:
        super().__init__(values)
        self._lines = lines

    def __repr__(self) -> str:
        return "\n".join(self._lines(self))

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th style="text-align: left">{escape(name)}</th>'
            f'<td style="text-align: left">{escape(text)}</td></tr>'
            for name, text in _cells(self)
        )
        return f"<table>{rows}</table>"


def _cells(values: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Name and text of every value; one of a mapping inside is named after both."""
    for key, value in values.items():
        name = f"{above}{key}".replace("_", " ")
        if isinstance(value, Mapping) and value:
            yield from _cells(value, f"{name}, ")
        else:
            yield name, _text(value)


def _text(value: Any) -> str:
    if value is None or value in ([], {}):
        return "\N{EN DASH}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        shown = [_text(item) for item in value[:_SHOWN]]
        rest = [f"\N{HORIZONTAL ELLIPSIS} {len(value)} in all"] if len(value) > _SHOWN else []
        return f"[{', '.join(shown + rest)}]"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    return str(value)
