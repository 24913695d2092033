"""Running commands in this process, the way a shell runs them."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from hopfieldphase.cli import main

# A sweep of a few milliseconds.
SMALL = ("--M", "10", "--d", "8", "--realizations", "2", "--betas", "20:60:20")


@dataclass(frozen=True)
class Outcome:
    """Exit code and both streams of a command."""

    code: int
    out: str
    err: str

    @property
    def error_lines(self) -> list[str]:
        return self.err.splitlines()


@pytest.fixture
def run(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Run `hopfieldphase` with the given words, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "LC_ALL", "LC_CTYPE", "HOPFIELDPHASE_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")

    def command(*words: str) -> Outcome:
        with pytest.raises(SystemExit) as stop:
            main(list(words))
        code = stop.value.code
        return Outcome(code if isinstance(code, int) else 0, *capfd.readouterr())

    return command


@pytest.fixture
def small() -> tuple[str, ...]:
    """Options of a sweep of a few milliseconds."""
    return SMALL
