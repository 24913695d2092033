"""What a check is and what it finds: cases, the worst of them, a verdict."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

RELATIVE, STANDARD_ERRORS = "relative error", "standard errors"


class Case(NamedTuple):
    """One comparison: what was compared, in words, and how far the two values are apart."""

    words: str
    error: float


@dataclass(frozen=True)
class CheckResult:
    """Outcome of one check.

    Attributes
    ----------
    name : str
        The name under which the check runs alone.
    quantity : str
        What was checked, in words.
    numerics : str
        Against what.
    source : str
        Where the closed form comes from.
    cases : int
        Number of comparisons.
    worst_error : float
        The largest of them, in the unit `measure`; inf where a value is missing or of the wrong kind.
    tolerance : float
        What is allowed.
    passed : bool
        Whether `worst_error` is within the tolerance.
    worst_case : str
        The case that has it, or what stopped the check.
    measure : str
        ``"relative error"`` or ``"standard errors"``.
    published : float or None
        The worst error that the source reports for the same comparison.
    """

    name: str
    quantity: str
    numerics: str
    source: str
    cases: int
    worst_error: float
    tolerance: float
    passed: bool
    worst_case: str
    measure: str = RELATIVE
    published: float | None = None


@dataclass(frozen=True)
class Check:
    """A closed form next to the numerics that test it; calling it gives a `CheckResult`.

    Attributes
    ----------
    name, quantity, numerics, source, tolerance, measure, published
        As in `CheckResult`.
    cases : callable
        Yields the comparisons.
    """

    name: str
    quantity: str
    numerics: str
    source: str
    tolerance: float
    cases: Callable[[], Iterator[Case]]
    measure: str = RELATIVE
    published: float | None = None

    def __call__(self) -> CheckResult:
        """Run every case; a check that stops has failed, and says why."""
        count, worst = 0, Case("", -1.0)
        try:
            for case in self.cases():
                count += 1
                if not case.error <= worst.error:  # NaN is worse than everything
                    worst = case if case.error >= 0 else Case(case.words, math.inf)
        except Exception as error:  # whatever a wrong formula leads to: the other checks must still run
            worst = Case(f"stopped by {type(error).__name__}: {error}", math.inf)
        passed = count > 0 and worst.error <= self.tolerance
        return CheckResult(
            self.name, self.quantity, self.numerics, self.source, count, max(worst.error, 0.0),
            self.tolerance, passed, worst.words or "no case was found", self.measure, self.published,
        )  # fmt: skip


def check(
    name: str,
    quantity: str,
    numerics: str,
    source: str,
    tolerance: float,
    *,
    measure: str = RELATIVE,
    published: float | None = None,
) -> Callable[[Callable[[], Iterator[Case]]], Check]:
    """Make a check of a function that yields its cases."""

    def made(cases: Callable[[], Iterator[Case]]) -> Check:
        return Check(name, quantity, numerics, source, tolerance, cases, measure, published)

    return made


def relative_error(found: float, formula: float, size: float | None = None) -> float:
    """|found − formula| in units of the formula, or of `size`.

    Zero where both are the same infinity or neither exists (NaN), inf where only one is so.
    """
    if math.isnan(found) or math.isnan(formula):
        return 0.0 if math.isnan(found) and math.isnan(formula) else math.inf
    if math.isinf(found) or math.isinf(formula):
        return 0.0 if found == formula else math.inf
    if found == formula:
        return 0.0
    unit = abs(formula) if size is None else size
    return abs(found - formula) / unit if unit > 0 else math.inf


def agreement(found: object, formula: object) -> float:
    """Error of an answer that is not a number: 0 where the two agree, else inf."""
    return 0.0 if found == formula else math.inf
