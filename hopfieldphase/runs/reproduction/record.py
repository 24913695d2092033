"""What a claim of the paper is, and what measuring it gives: numbers, a sentence made of them, a verdict."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a measurement says about a claim."""

    HOLDS = "holds"
    SCANNED = "holds in the scanned range only"
    READING = "needs a reading of the text"
    FAILS = "does not hold"


@dataclass(frozen=True)
class Finding:
    """Outcome of measuring a claim.

    Attributes
    ----------
    verdict : Verdict
        Decided by comparing the numbers, never typed.
    sentence : str
        What was measured, with its numbers; Markdown with $…$ formulas.
    numbers : mapping
        The numbers themselves.
    """

    verdict: Verdict
    sentence: str
    numbers: Mapping[str, float]


@dataclass(frozen=True)
class Claim:
    """One statement of the paper next to the measurement that judges it; calling it measures.

    Attributes
    ----------
    name : str
        Short and unique; the claim runs alone under it.
    section : str
        Where the paper says it, like "Section 5.1, Figure 2(a)".
    statement : str
        What it says, in our words; Markdown with $…$ formulas.
    command : str
        The shell command that shows the numbers to a reader.
    measure : callable
        Returns the `Finding`.
    """

    name: str
    section: str
    statement: str
    command: str
    measure: Callable[[], Finding]

    def __call__(self) -> Finding:
        """Measure the claim."""
        return self.measure()


def claim(name: str, section: str, statement: str, command: str) -> Callable[[Callable[[], Finding]], Claim]:
    """Make a claim out of the function that measures it."""
    assert re.fullmatch(r"[a-z0-9-]+", name), f"the name {name!r} of a claim is no lower-case word"

    def made(measure: Callable[[], Finding]) -> Claim:
        return Claim(name, section, statement, command, measure)

    return made


def verdict(holds: bool, otherwise: Verdict = Verdict.FAILS) -> Verdict:
    """`Verdict.HOLDS`, or another verdict."""
    return Verdict.HOLDS if holds else otherwise


def small(value: float) -> str:
    """A small number in words: its order of magnitude, or 0."""
    return f"{value:.0e}" if value else "0"
