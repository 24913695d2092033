"""Progress for whoever calls from Python: one line on stderr that is gone when the work is done."""

import sys
import time

from hopfieldphase.runs.parallel import Progress


def progress_bar(what: str = "done") -> Progress:
    """A `progress` for the functions that take one, for notebooks and terminals.

    Parameters
    ----------
    what : str
        What is counted, for example "realizations".

    Returns
    -------
    callable
        Called as ``progress(done, total, note="")``. It rewrites one line of stderr, with the share that is
        done and the time that is left at the pace so far, and clears it when all is done.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> spec = hp.SweepSpec(alpha=2, betas="100:400:50", realizations=2)
    >>> swept = hp.sweep_beta(spec, progress=hp.progress_bar("realizations"))
    """
    start = time.monotonic()
    width = 0

    def update(done: float, total: float, note: str = "") -> None:
        nonlocal width
        line = ""
        if done < total:
            seconds = time.monotonic() - start
            left = f", about {seconds * (total - done) / done:.0f} s left" if done > 0 else ""
            line = f"{100 * done / total:3.0f} %  {done:.4g} of {total:.4g} {what}{left}"
            line += f", {note}" if note else ""
        # Blanks over what stood there, which every front end understands; codes that clear a line not all do.
        sys.stderr.write(f"\r{line:<{width}}" if line else f"\r{'':<{width}}\r")
        sys.stderr.flush()
        width = len(line)

    return update
