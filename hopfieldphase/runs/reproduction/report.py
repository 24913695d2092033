"""All claims, measured: run together or one by one, kept as JSON, and laid out as a page."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import hopfieldphase
from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.reproduction.record import Claim, Verdict
from hopfieldphase.runs.spec_base import nearest

PARTS = (
    "section_2",
    "section_3",
    "section_4",
    "temperature",
    "temperature_dense",
    "memory_load",
    "memory_load_dense",
    "conclusion",
    "appendix_b",
    "proofs",
    "appendix_d1",
    "appendix_d",
    "appendix_e",
    "appendix_e2",
    "appendix_f",
    "appendix_g1",
    "appendix_g2",
    "appendix_g3",
    "appendix_g4",
)
"""The modules with claims, in the order of the report."""

Progress = Callable[[int, int], object]
"""Called with the number of finished claims and that of all."""


@dataclass(frozen=True)
class Result:
    """A claim and what was found.

    Attributes
    ----------
    name, section, statement, command
        As in `Claim`.
    verdict, sentence, numbers
        As in `Finding`; numbers with six digits.
    """

    name: str
    section: str
    statement: str
    command: str
    verdict: Verdict
    sentence: str
    numbers: dict[str, float]


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, in the order of the report.

    Returns
    -------
    tuple of Claim
        Each is called without arguments and takes at most a few seconds; nothing it draws depends on anything
        but fixed seeds.

    Notes
    -----
    The statements are those of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    modules = (import_module(f"hopfieldphase.runs.reproduction.{part}") for part in PARTS)
    return tuple(claim for module in modules for claim in module.CLAIMS)


def run_claims(names: Iterable[str] | None = None, progress: Progress | None = None) -> tuple[Result, ...]:
    """Measure all claims, or those of these names.

    Parameters
    ----------
    names : iterable of str, optional
        See `claims`.
    progress : callable, optional
        Called as ``progress(done, total)`` after each claim; without it nothing is shown.

    Returns
    -------
    tuple of Result
        In the order of the names, or of `claims`.

    Raises
    ------
    InputError
        If there is no claim of one of the names.
    """
    chosen = claims() if names is None else tuple(_find(name) for name in names)
    results: list[Result] = []
    for claim in chosen:
        results.append(measured(claim))
        if progress is not None:
            progress(len(results), len(chosen))
    return tuple(results)


def measured(claim: Claim) -> Result:
    """Measure one claim."""
    finding = claim()
    numbers = {name: float(f"{float(value):.6g}") for name, value in finding.numbers.items()}
    return Result(
        claim.name, claim.section, claim.statement, claim.command, finding.verdict, finding.sentence, numbers
    )


def counted(results: Sequence[Result]) -> dict[Verdict, int]:
    """How often each verdict occurs, in the order of `Verdict`."""
    count = Counter(result.verdict for result in results)
    return {verdict: count[verdict] for verdict in Verdict}


def to_json(results: Sequence[Result]) -> dict[str, Any]:
    """The results as JSON values, with the version that measured them."""
    return {"version": hopfieldphase.__version__, "claims": [asdict(result) for result in results]}


def write_report(results: Sequence[Result], path: Path) -> None:
    """Write the results to a JSON file."""
    text = json.dumps(to_json(results), indent=2, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def read_report(path: Path) -> tuple[Result, ...]:
    """Read the results back from a JSON file."""
    rows = json.loads(path.read_text(encoding="utf-8"))["claims"]
    return tuple(Result(**{**row, "verdict": Verdict(row["verdict"])}) for row in rows)


def to_markdown(results: Sequence[Result]) -> str:
    """The results as a MyST page: the count of verdicts, then one table per part of the paper."""
    lines = [f"{len(results)} claims:", ""]
    lines += _table(("verdict", "claims"), (70, 30), [(str(v), str(n)) for v, n in counted(results).items()])
    part = None
    for number, result in enumerate(results):
        if _part(result) == part:
            continue
        part = _part(result)
        rows = []
        for other in results[number:]:
            if _part(other) != part:
                break
            place = other.section.removeprefix(part).lstrip(", ")
            where = f"*{place}*: " if place else ""
            rows.append((
                f"{where}{other.statement}", f"{other.sentence}\n\n    `{other.command}`",
                f"**{other.verdict}**\n\n    `{other.name}`",
            ))  # fmt: skip
        lines += ["", f"## {part}", ""]
        lines += _table(("claim", "measured", "verdict"), (30, 50, 20), rows)
    return "\n".join(lines) + "\n"


def _part(result: Result) -> str:
    """The part of the paper: what stands before the first comma of the section."""
    return result.section.partition(",")[0]


def _table(head: Sequence[str], widths: Sequence[int], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["```{list-table}", ":header-rows: 1", f":widths: {' '.join(map(str, widths))}", ""]
    for row in (head, *rows):
        lines += [f"{'* -' if k == 0 else '  -'} {cell}" for k, cell in enumerate(row)]
    return [*lines, "```"]


def _find(name: str) -> Claim:
    known = {claim.name: claim for claim in claims()}
    if name not in known:
        hint = nearest(name, tuple(known)) or f"; the first is {next(iter(known))!r}"
        raise InputError(
            f"there is no claim {name!r}{hint}; run hopfieldphase reproduce without a name for all "
            f"{len(known)}"
        )
    return known[name]
