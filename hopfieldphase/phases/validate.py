"""Every closed form against numerics that do not know it: the list of checks, run together or one by one."""

from collections.abc import Callable
from difflib import get_close_matches

from hopfieldphase.core.errors import InputError
from hopfieldphase.phases.validation import (
    appendix_g4,
    attention,
    one_pattern,
    potts,
    random_patterns,
    storage,
    two_keys,
    uniform,
)
from hopfieldphase.phases.validation.record import Check, CheckResult

__all__ = ["Check", "CheckResult", "checks", "find_check", "validate"]

Progress = Callable[[int, int], object]
"""Called with the number of finished checks and that of all."""


def checks() -> tuple[Check, ...]:
    """All checks, those of Appendix G.4 first.

    Returns
    -------
    tuple of Check
        Each is called without arguments, takes at most a few seconds and returns a `CheckResult`; nothing it
        draws depends on anything but fixed seeds.

    Notes
    -----
    A check compares a function of `hopfieldphase.core.closed_forms` with the continuation engine, direct
    minimisation, eigenvalues of the Hessian, bisection of vanishing weights, quadrature or enumeration. It
    contains Appendix G.4 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347) in full.
    """
    modules = (appendix_g4, uniform, storage, two_keys, potts, random_patterns, one_pattern, attention)
    return tuple(check for module in modules for check in module.CHECKS)


def find_check(name: str) -> Check:
    """The check of this name.

    Raises
    ------
    InputError
        If there is none; the message names those that sound alike.
    """
    known = {check.name: check for check in checks()}
    if name not in known:
        nearest = get_close_matches(name, known, n=3, cutoff=0.4)
        hint = f"the nearest is {nearest[0]}" if nearest else f"the first is {next(iter(known))}"
        raise InputError(
            f"there is no check {name!r}: {hint}; run hopfieldphase validate without a name for all "
            f"{len(known)}"
        )
    return known[name]


def validate(name: str | None = None, *, progress: Progress | None = None) -> tuple[CheckResult, ...]:
    """Run all checks, or the one of this name.

    Parameters
    ----------
    name : str, optional
        See `checks`.
    progress : callable, optional
        Called as ``progress(done, total)`` after each check; without it nothing is shown.

    Returns
    -------
    tuple of CheckResult
        In the order of `checks`. A check that stops with an error has failed, and its `worst_case` says why.

    Raises
    ------
    InputError
        If there is no check of this name.
    """
    chosen = checks() if name is None else (find_check(name),)
    results: list[CheckResult] = []
    for check in chosen:
        results.append(check())
        if progress is not None:
            progress(len(results), len(chosen))
    return tuple(results)
