"""`hopfieldphase doctor`: what this installation has, and what it lacks."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.cli.failures import CHECK_FAILED

WIDTH, INDENT = 80, 12


def doctor(
    extras: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXTRA]...",
            help="Look at these optional extras only; exit code 1 where one is missing.",
            show_default=False,
        ),
    ] = None,
    json: options.Json = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Show versions, compiled kernels, caches, threads, device, and what each optional extra would give."""
    from hopfieldphase.runs.doctor import diagnosis

    console = Console(color=not no_color)
    found = diagnosis(extras or ())
    if json:
        console.data(found)
    else:
        console.report("\n".join(_extras(found["extras"]) if extras else _lines(found)))
    if extras and not all(extra["installed"] for extra in found["extras"].values()):
        raise typer.Exit(CHECK_FAILED)


def _lines(found: Mapping[str, Any]) -> list[str]:
    compiled = [command for command, ready in found["kernels"].items() if ready]
    waiting = [command for command, ready in found["kernels"].items() if not ready]
    kernels = [f"compiled: {'; '.join(compiled)}"] if compiled else []
    if waiting:
        kernels += [f"not yet: {'; '.join(waiting)}", "hopfieldphase warmup compiles them, once per version"]
    parts = {
        "version": [f"{found['version']} in {found['folder']}"],
        "Python": [f"{found['python']} on {found['platform']}, {found['executable']}"],
        "packages": _packages(found["packages"]),
        "kernels": kernels,
        "cache": _cache(found["cache"]),
        "threads": [f"{found['threads']} (HOPFIELDPHASE_THREADS sets another number)"],
        "device": [found["device"]],
    }
    lines = [line for label, sentences in parts.items() for line in _section(label, sentences)]
    return [*lines, "", "extras", *(f"  {line}" for line in _extras(found["extras"]))]


def _section(label: str, sentences: Sequence[str]) -> list[str]:
    """Sentences beside their label; a path that is too long for a line is broken."""
    rest = " " * INDENT
    lines: list[str] = []
    for sentence in sentences:
        first = rest if lines else f"{label:<{INDENT}}"
        lines += textwrap.wrap(
            sentence, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
        )
    return lines


def _packages(packages: Mapping[str, Mapping[str, Any]]) -> list[str]:
    there = [f"{name} {package['installed']}" for name, package in packages.items() if package["fits"]]
    wrong = [
        f"{name} {package['installed'] or 'is missing'}: {package['needed']} is needed"
        for name, package in packages.items()
        if not package["fits"]
    ]
    return [", ".join(there), *wrong]


def _cache(cache: Mapping[str, Any]) -> list[str]:
    if cache["folder"] is None:
        return [cache["problem"]]
    stale = f", {cache['stale']} of other sources" if cache["stale"] else ""
    megabytes = cache["bytes"] / 1e6
    return [f"{cache['functions']} compiled functions{stale}, {megabytes:.1f} MB in {cache['folder']}"]


def _extras(extras: Mapping[str, Mapping[str, Any]]) -> list[str]:
    lines: list[str] = []
    for name, extra in extras.items():
        lines.append(f"{name:<9}{'installed' if extra['installed'] else 'missing':<11}{extra['gives']}")
        if not extra["installed"]:
            lines.append(f"{'':20}{extra['install']}")
    return lines
