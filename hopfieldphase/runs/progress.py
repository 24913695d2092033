"""How far a run is whose store is not whole yet: under way, interrupted, or not to be told."""

import time
from pathlib import Path
from typing import Any

from hopfieldphase.runs.folder import MARKER, RUN, read_holder
from hopfieldphase.runs.ledger import Ledger


def run_progress(folder: Path) -> dict[str, Any] | None:
    """What is known of an unfinished run, from the files that it leaves; None where there is none.

    Parameters
    ----------
    folder : Path
        Of a result.

    Returns
    -------
    dict or None
        `tasks` and `done` (numbers of sweeps), `state` ("running", "interrupted" or "unknown": on another
        host), `holder` (process and host, or None), `sessions` (runs of the command so far), `executor`,
        `started` and `last` (seconds since the epoch; `last` None before the first batch), `seconds_left`
        (at the pace of this session; None where it cannot be told).
    """
    ledger = Ledger(folder)
    plan = ledger.plan() if (folder / RUN).exists() and not (folder / MARKER).exists() else None
    if plan is None:
        return None
    marks, sessions, holder = ledger.marks().values(), ledger.sessions(), read_holder(folder)
    done = sum(len(mark.seconds) for mark in marks)
    last = max((mark.finished for mark in marks), default=None)
    alive = False if holder is None else holder.alive
    state = {True: "running", False: "interrupted", None: "unknown"}[alive]
    session: dict[str, Any] = sessions[-1] if sessions else {}
    fresh = [mark for mark in marks if mark.session == len(sessions) - 1]
    left = None
    if alive is not False and fresh:
        pace = sum(len(mark.seconds) for mark in fresh) / (time.time() - session["started"])
        left = (plan["tasks"] - done) / pace
    return {
        "tasks": plan["tasks"],
        "done": done,
        "state": state,
        "holder": None if holder is None else f"process {holder.pid} on {holder.host}",
        "sessions": len(sessions),
        "executor": session.get("executor"),
        "started": sessions[0]["started"] if sessions else None,
        "last": last,
        "seconds_left": left,
    }
