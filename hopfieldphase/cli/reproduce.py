"""`hopfieldphase reproduce`: the claims of the paper, each measured."""

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.cli.study import tell_compilation

if TYPE_CHECKING:
    from hopfieldphase.runs.reproduction.report import Result

WIDTH = 80
_NAME, _SECTION = 30, 18


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME...]", help="Measure these claims alone, and show what was found."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the results to a JSON file.", rich_help_panel=options.OUTPUT
        ),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Measure every claim of "On the Statistical Mechanics of Attention", and say which ones hold.

    The verdicts are: holds; holds in the scanned range only; needs a reading of the text; does not hold. None
    of them is a failure of the program: the exit code is 0.
    """
    console = Console(quiet=quiet, color=not no_color)
    console.say("measuring the claims of the paper")
    tell_compilation(console)
    from hopfieldphase.runs.reproduction.report import (
        claims,
        counted,
        run_claims,
        to_json,
        write_report,
    )

    with console.progress("claims", len(names or claims())) as progress:
        results = run_claims(names or None, progress)
    if json:
        console.data(to_json(results))
    elif names:
        console.report("\n".join(line for result in results for line in _details(result)))
    else:
        counts = [f"{number:>4} {verdict}" for verdict, number in counted(results).items()]
        console.report("\n".join([*_table(results), "", *counts]))
        console.say(f"what was found, for one claim: hopfieldphase reproduce {results[0].name}")
    if out is not None:
        write_report(results, out)
        console.say(f"wrote {out}")


def _table(results: "tuple[Result, ...]") -> list[str]:
    lines = [f"{'claim':<{_NAME}}{'section':<{_SECTION}}verdict"]
    for result in results:
        part, _, place = result.section.partition(", ")
        where = _short(place or part)
        lines.append(f"{result.name:<{_NAME}}{where:<{_SECTION}}{result.verdict}")
    return lines


def _short(place: str) -> str:
    for word, shorter in (("Proposition", "Prop."), ("Definition", "Def."), ("Appendix", "App.")):
        place = place.replace(word, shorter)
    return place if len(place) < _SECTION else place[: _SECTION - 3] + ".."


def _details(result: "Result") -> list[str]:
    lines = [f"{result.name}: {result.verdict}"]
    facts = {"where": result.section, "claim": plain(result.statement), "measured": plain(result.sentence)}
    for name, text in (facts | {"command": result.command}).items():
        wrapped = textwrap.wrap(text, WIDTH - 12, break_long_words=False, break_on_hyphens=False)
        lines += [f"  {name if k == 0 else '':<10}{line}" for k, line in enumerate(wrapped)]
    lines += [f"  {'numbers' if k == 0 else '':<10}{name} = {value:g}"
              for k, (name, value) in enumerate(result.numbers.items())]  # fmt: skip
    return lines


def plain(text: str) -> str:
    """Formulas in words that a terminal knows: no dollar signs, no backslashes."""

    def formula(match: re.Match[str]) -> str:
        inner = re.sub(
            r"\\[dt]?frac\s*(\{[^{}]*\}|\\[A-Za-z]+|\w)\s*(\{[^{}]*\}|\\[A-Za-z]+|\w)", r"\1/\2", match[1]
        )
        inner = re.sub(r"\\sqrt\s*(\{[^{}]*\}|\w)", r"sqrt(\1)", inner)
        inner = re.sub(r"\\(?:mathrm|text|operatorname|mathcal|left|right|tilde|hat|bar)\b", "", inner)
        inner = (
            inner.replace(r"\cdot", "*").replace(r"\times", "x").replace(r"\le", "<=").replace(r"\ge", ">=")
        )
        inner = re.sub(r"\\[,;!| ]", " ", inner).replace("\\", "")
        return re.sub(r"[{}]", "", inner)

    return re.sub(r"\$([^$]*)\$", formula, text).replace("`", "")
