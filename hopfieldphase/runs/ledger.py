"""What a grid run has finished so far, in files that outlive whatever happens to the run.

A batch counts once its marker is there and the region that it vouches for is on the disk with the digest that
the marker holds. Nothing needs to be flushed for that: what a crash of the machine tears does not fit.
"""

import json
import os
import shutil
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hopfieldphase import __version__
from hopfieldphase.data.files import OutputError, replacing
from hopfieldphase.data.provenance import git_revision
from hopfieldphase.runs.folder import MARKER, RUN

_PLAN, _SESSIONS, _DONE = "run.json", "sessions.jsonl", "done"


@dataclass(frozen=True)
class Mark:
    """What the marker of a finished batch says.

    Attributes
    ----------
    session : int
        Number of the run of the command that computed it, from 0.
    digest : str
        Of the region (`data.grid_store.digest`).
    seconds : list of float
        What each sweep took.
    host : str
    finished : float
        Seconds since the epoch.
    """

    session: int
    digest: str
    seconds: list[float]
    host: str
    finished: float


class Ledger:
    """The hidden folder of an unfinished run.

    Parameters
    ----------
    folder : Path
        The folder of the result.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run = folder / RUN

    def plan(self) -> dict[str, Any] | None:
        """What was planned when the run began; None where none is under way."""
        try:
            return json.loads((self._run / _PLAN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def begin(self, plan: Mapping[str, Any]) -> None:
        """Start a new run, forgetting an earlier one."""
        self.remove()
        with replacing(self._run) as partial:
            (partial / _DONE).mkdir(parents=True)
            (partial / _PLAN).write_text(json.dumps({**plan, **made_by()}), encoding="utf-8")

    def check_versions(self) -> None:
        """Raise `OutputError` where another version began the run: the bits of its sweeps may differ."""
        plan = self.plan() or {}
        for name, mine in made_by().items():
            if plan.get(name) != mine:
                raise OutputError(
                    f"{self._folder} holds an unfinished run of {name} {plan.get(name)}, but this is {mine}: "
                    "finish it with that version, or compute everything anew with --force"
                )

    def open_session(self, facts: Mapping[str, Any]) -> int:
        """Note that the command runs once more; return how many times it had run before."""
        number = len(self.sessions())
        entry = {
            "started": time.time(), "host": socket.gethostname(), "pid": os.getpid(), **facts,
            "git_revision": git_revision(),
        }  # fmt: skip
        with (self._run / _SESSIONS).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(entry) + "\n")
        return number

    def sessions(self) -> list[dict[str, Any]]:
        """Every time that the command ran, in their order; a torn entry is left out."""
        found: list[dict[str, Any]] = []
        with suppress(OSError):
            for line in (self._run / _SESSIONS).read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):
                    found.append(json.loads(line))
        return found

    def mark(self, batch: int, session: int, digest: str, seconds: list[float]) -> None:
        """Say that a batch is finished; the marker is there whole or not at all."""
        mark = Mark(session, digest, seconds, socket.gethostname(), time.time())
        target = self._run / _DONE / f"{batch}.json"
        partial = target.with_suffix(f".partial-{os.getpid()}-{socket.gethostname()}")
        try:
            partial.write_text(json.dumps(asdict(mark)), encoding="utf-8")
            partial.replace(target)
        except OSError:
            partial.unlink(missing_ok=True)
            raise

    def marks(self) -> dict[int, Mark]:
        """The markers that are there, by batch."""
        found: dict[int, Mark] = {}
        for file in (self._run / _DONE).glob("*.json"):
            with suppress(OSError, ValueError, TypeError):
                found[int(file.stem)] = Mark(**json.loads(file.read_text(encoding="utf-8")))
        return found

    def discard(self) -> None:
        """Forget the run and the result in its folder: everything is to be computed anew."""
        (self._folder / MARKER).unlink(missing_ok=True)
        self.remove()

    def remove(self) -> None:
        """Forget the run."""
        shutil.rmtree(self._run, ignore_errors=True)


@cache
def made_by() -> dict[str, str]:
    """Versions of what decides the last bit of a sweep."""
    return {"hopfieldphase": __version__, "numpy": version("numpy"), "numba": version("numba")}
