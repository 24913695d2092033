"""`hopfieldphase validate`: every closed form against numerics that do not know it."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.cli.failures import CHECK_FAILED
from hopfieldphase.cli.study import tell_compilation

if TYPE_CHECKING:
    from hopfieldphase.phases.validation.record import CheckResult


def validate(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Run this check alone, and show its worst case."),
    ] = None,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Check every closed form against independent numerics; exit code 1 when one fails.

    The numerics are continuation, direct minimisation, eigenvalues of the Hessian, vanishing weights,
    quadrature and sampling. Appendix G.4 of "On the Statistical Mechanics of Attention" is contained in full:
    the checks g4-..., with the worst errors that it prints beside them.
    """
    console = Console(quiet=quiet, color=not no_color)
    console.say("checking closed forms against independent numerics")
    tell_compilation(console)
    from hopfieldphase import __version__
    from hopfieldphase.phases.validate import checks
    from hopfieldphase.phases.validate import validate as run

    total = len(checks()) if name is None else 1
    with console.progress("checks", total) as progress:
        results = run(name, progress=progress)
    failed = [result for result in results if not result.passed]
    if json:
        found = [asdict(result) for result in results]
        console.data({"version": __version__, "passed": not failed, "checks": found})
    elif name is None:
        console.report("\n".join(_table(results)))
    else:
        console.report("\n".join(_details(results[0])))
    if failed:
        console.warn(f"{len(failed)} of {total} checks failed:")
        for result in failed:
            console.warn(f"  {result.name}: {_error(result)} at {_cut(result.worst_case, 70)}")
        raise typer.Exit(CHECK_FAILED)
    if name is None:
        console.say(f"all {total} checks passed; see hopfieldphase validate {results[0].name}")


def _table(results: "tuple[CheckResult, ...]") -> list[str]:
    lines = [f"{'quantity':<25}{'cases':>6}{'worst error':>13}{'tolerance':>11}  {'verdict':<9}published"]
    for result in results:
        published = "" if result.published is None else f"{result.published:.2e}"
        line = (
            f"{result.name:<25}{result.cases:>6}{_error(result):>13}{_tolerance(result):>11}  "
            f"{_verdict(result):<9}{published}"
        )
        lines.append(line.rstrip())
    return lines


def _details(result: "CheckResult") -> list[str]:
    facts = {
        "quantity": result.quantity,
        "numerics": result.numerics,
        "source": result.source,
        "cases": str(result.cases),
        "worst error": _error(result),
        "worst case": result.worst_case,
        "tolerance": _tolerance(result),
    }
    if result.published is not None:
        facts["published"] = f"{result.published:.2e}"
    return [f"{result.name}: {_verdict(result)}"] + [f"  {name:<13}{text}" for name, text in facts.items()]


def _error(result: "CheckResult") -> str:
    if result.measure != "relative error":
        return f"{result.worst_error:.2f} s.e."
    return f"{result.worst_error:.1e}" if result.worst_error else "0"


def _tolerance(result: "CheckResult") -> str:
    if result.measure != "relative error":
        return f"{result.tolerance:g} s.e."
    return f"{result.tolerance:g}"


def _verdict(result: "CheckResult") -> str:
    return "passed" if result.passed else "FAILED"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."
