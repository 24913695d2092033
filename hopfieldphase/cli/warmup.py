"""`hopfieldphase warmup`: compile the kernels of the usual commands, once."""

import time
from typing import Any

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console


def warmup(
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Compile the kernels of the usual commands and find the fonts, once per version, so that none waits."""
    from hopfieldphase.kernels.compilation import compilations
    from hopfieldphase.kernels.disk import cache_folder
    from hopfieldphase.runs.warmup import USUAL

    console = Console(quiet=quiet, color=not no_color)
    folder, start = cache_folder(), time.perf_counter()
    console.say(f"compiling kernels into {folder}")
    commands: dict[str, int] = {}
    with console.progress("steps", len(USUAL) + 1) as progress:
        for usual in USUAL:
            with compilations() as names:
                usual.run()
            commands[usual.command] = len(names)
            progress(len(commands), len(USUAL) + 1, f"{usual.command}: {_functions(len(names))}")
        _find_fonts()
        progress(len(USUAL) + 1, len(USUAL) + 1, "fonts")
    seconds = time.perf_counter() - start
    found: dict[str, Any] = {"folder": str(folder), "compiled": commands, "seconds": seconds}
    total = sum(commands.values())
    if json:
        console.data(found)
    elif total:
        console.report(f"{_functions(total)} in {seconds:.1f} s; the usual commands start at once")
    else:
        console.report("nothing to compile: the usual commands start at once")


def _functions(count: int) -> str:
    return f"{count} function{'' if count == 1 else 's'} compiled" if count else "ready"


def _find_fonts() -> None:
    """Let Matplotlib list the fonts of the machine, which it keeps."""
    from hopfieldphase.plotting.style import SINGLE, new_figure

    new_figure(SINGLE, SINGLE).text(0, 0, "hopfieldphase")
