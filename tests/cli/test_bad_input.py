"""Wrong input: one clear line on stderr, exit code 2, nothing written."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from hopfieldphase.data import store
from hopfieldphase.plotting import style
from hopfieldphase.runs.folder import claim_folder

SWEEP = ("sweep", "beta")


def write_pattern_files() -> None:
    good = np.eye(3)
    np.save("good.npy", good)
    np.save("nan.npy", np.where(good > 0, np.nan, good))
    np.save("inf.npy", np.where(good > 0, np.inf, good))
    np.save("zero_row.npy", good * [[1], [0], [1]])
    np.save("rank_one.npy", good[0])
    np.save("rank_three.npy", good[None])
    np.save("no_rows.npy", good[:0])
    np.save("text.npy", np.array([["a", "b"]]))
    np.save("objects.npy", np.array([[None, 1]], dtype=object))
    Path("empty.npy").touch()
    Path("garbage.npy").write_bytes(b"\x93NUMPY garbage")
    Path("garbage.csv").write_text("1,2\n3,x\n")
    Path("keys.txt").write_text("1,2\n")
    Path("folder.npy").mkdir()


CASES = [
    (("--alpha", "0"), "alpha = 0.0 is outside its domain"),
    (("--alpha", "-1"), "alpha = -1.0 is outside its domain"),
    (("--alpha", "nan"), "alpha = nan is outside its domain"),
    (("--alpha", "two"), "'--alpha'"),
    (("--betas=-1:1:0.1",), "betas = -1:1:0.1 contains -1, outside its domain"),
    (("--betas", "-1:1:0.1"), "betas = -1:1:0.1 contains -1, outside its domain"),
    (("--betas", "0:1:0.5"), "betas = 0:1:0.5 contains 0, outside its domain"),
    (("--betas", ""), "betas is empty"),
    (("--betas", "400:20:2"), "is reversed"),
    (("--betas", "20:400:0"), "step must be positive"),
    (("--betas", "20:400"), "is not a range"),
    (("--betas", "1,nan"), "not finite"),
    (("--betas", "1:2:1e-300"), "more than"),
    (("--M", "0"), "M = 0 is not a whole number >= 1"),
    (("--M", "ten"), "'--M'"),
    (("--M", "2.5"), "'--M'"),
    (("--d", "0"), "d = 0 is not a whole number >= 1"),
    (("--realizations", "0"), "realizations = 0 is not a whole number >= 1"),
    (("--realizations", "-3"), "realizations = -3 is not a whole number >= 1"),
    (("--seed", "-1"), "seed = -1 is not a whole number >= 0"),
    (("--clusters", "0"), "clusters = 0 is not a whole number >= 1"),
    (("--delta", "1.5"), "delta = 1.5 is outside its domain [0, 1]"),
    (("--noise", "white"), "noise = 'white' is unknown"),
    (("--generator", "clustred"), "the nearest is 'clustered'"),
    (("--generator", "spherical", "--delta", "0.1"), "delta does not apply to spherical patterns"),
    (("--generator", "two_keys"), "two_keys patterns need epsilon"),
    (("--generator", "digits", "--M", "5"), "M does not apply to digits patterns"),
    (("--start-up", "pattern:100"), "there are 100 patterns"),
    (("--start-down", "best:1"), "start_down = 'best:1' is not a start"),
    (("--start-up", "continue", "--start-down", "continue"), "both 'continue'"),
    (("--solver", "adam"), "solver = 'adam' is unknown"),
    (("--tol", "0"), "tol = 0.0 is outside its domain"),
    (("--tol", "1e-20"), "tol = 1e-20 is outside its domain"),
    (("--device", "tpu"), "device = 'tpu' is unknown; the nearest is 'cpu': use cpu, cuda"),
    (("--M", "100000000000000"), "not enough memory"),
    (("--patterns", "missing.npy"), "pattern file missing.npy does not exist"),
    (("--patterns", "nan.npy"), "pattern file nan.npy"),
    (("--patterns", "inf.npy"), "pattern file inf.npy"),
    (("--patterns", "zero_row.npy"), "pattern file zero_row.npy"),
    (("--patterns", "rank_one.npy"), "pattern file rank_one.npy"),
    (("--patterns", "rank_three.npy"), "pattern file rank_three.npy"),
    (("--patterns", "no_rows.npy"), "pattern file no_rows.npy"),
    (("--patterns", "text.npy"), "pattern file text.npy"),
    (("--patterns", "objects.npy"), "pattern file objects.npy"),
    (("--patterns", "empty.npy"), "pattern file empty.npy: it is empty"),
    (("--patterns", "garbage.npy"), "pattern file garbage.npy"),
    (("--patterns", "garbage.csv"), "pattern file garbage.csv"),
    (("--patterns", "keys.txt"), "pattern file keys.txt is of an unknown kind"),
    (("--patterns", "folder.npy"), "pattern file folder.npy is not a file"),
    (("--patterns", "good.npy", "--M", "3"), "M does not apply to patterns from a file"),
    (("--patterns", "good.npy", "--generator", "gaussian"), "choose one of them"),
    (("--patterns", "good.npy", "--realizations", "2"), "no randomness: leave it at 1"),
    (("--patterns", "good.npy", "--start-up", "pattern:3"), "there are 3 patterns"),
    (("--patterns", "good.npy", "--alpha", "inf"), "give the betas"),
    (("--out", "good.npy"), "cannot write to good.npy: File exists"),
    (("--out", "good.npy/below"), "cannot write to good.npy/below: Not a directory"),
    (("--out", "/proc/nowhere"), "cannot write to /proc/nowhere"),
    (("--out", "x" * 300), "File name too long"),
]


@pytest.mark.parametrize(("words", "complaint"), CASES, ids=[" ".join(words)[:40] for words, _ in CASES])
def test_wrong_options_are_one_line_and_write_nothing(run, words, complaint):
    write_pattern_files()
    before = sorted(Path().rglob("*"))
    done = run(*SWEEP, *words)
    assert done.code == 2
    assert done.out == ""
    lines = [line for line in done.error_lines if not line.startswith("sweep beta:")]
    assert len(lines) == 1, done.err
    assert lines[0].startswith("error: ")
    assert complaint in lines[0]
    assert "Traceback" not in done.err
    assert sorted(Path().rglob("*")) == before
    # What is known before anything is computed is said before anything else.
    if "memory" not in complaint:
        assert done.error_lines == lines


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("swep",), "error: no such command 'swep'. Did you mean 'sweep'? see hopfieldphase --help"),
        (("sweep",), "error: hopfieldphase sweep needs a command: beta, kappa"),
        (("sweep", "gamma"), "error: no such command 'gamma'; see hopfieldphase sweep --help"),
        (("--vesrion",), "error: hopfieldphase has no option --vesrion; the nearest is --version"),
        (
            (*SWEEP, "--alhpa", "2"),
            "error: hopfieldphase sweep beta has no option --alhpa; the nearest is --alpha",
        ),
        (
            (*SWEEP, "--qwx"),
            "error: hopfieldphase sweep beta has no option --qwx; see hopfieldphase sweep beta --help",
        ),
        (
            (*SWEEP, "--noplot"),
            "error: hopfieldphase sweep beta has no option --noplot; the nearest is --no-plot",
        ),
        (("info",), "error: missing argument 'FILE'; see hopfieldphase info --help"),
        (
            (*SWEEP, "--M", "x"),
            "error: invalid value for '--M': it must be a valid integer; see hopfieldphase sweep beta --help",
        ),
    ],
)
def test_usage_errors_name_the_nearest_name_or_the_help(run, words, line):
    done = run(*words)
    assert (done.code, done.out, done.error_lines) == (2, "", [line])


@pytest.mark.parametrize("value", ["0", "-2", "many"])
def test_a_wrong_number_of_threads_in_the_environment_is_one_line(run, monkeypatch, value):
    monkeypatch.setenv("HOPFIELDPHASE_THREADS", value)
    done = run(*SWEEP)
    assert done.code == 2
    (line,) = done.error_lines
    assert "error: HOPFIELDPHASE_THREADS = " in line
    assert value in line
    assert "is not a number of threads" in line
    assert list(Path().iterdir()) == []


def test_more_threads_than_cores_are_fine(run, small, monkeypatch):
    monkeypatch.setenv("HOPFIELDPHASE_THREADS", "64")
    assert run(*SWEEP, *small, "--no-plot").code == 0


def test_a_folder_that_another_command_holds_is_refused(run, small):
    with claim_folder(Path("x")):
        done = run(*SWEEP, *small, "--out", "x")
    assert done.code == 2
    (line,) = done.error_lines
    assert f"error: x is being written by process {os.getpid()} on " in line
    assert not Path("x").exists()


def test_a_file_of_the_user_is_not_replaced(run, small):
    Path("x").mkdir()
    Path("x/figure.png").write_text("mine")
    done = run(*SWEEP, *small, "--out", "x")
    assert done.code == 2
    (line,) = done.error_lines
    assert "x has a figure.png that is not part of a complete result" in line
    assert [path.name for path in Path("x").iterdir()] == ["figure.png"]


def shown_files() -> list[Path]:
    """All files but hidden ones, in which finished realizations are kept for the next try."""
    return [path for path in Path().rglob("*") if path.is_file() and not path.name.startswith(".")]


@pytest.mark.parametrize(("room", "function"), [(store, "write"), (style, "save")], ids=["data", "figure"])
def test_a_full_disk_is_one_line_and_leaves_nothing(run, small, monkeypatch, room, function):
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(room, function, full)
    done = run(*SWEEP, *small, "--out", "a/b")
    assert done.code == 2
    assert done.error_lines[-1] == (
        "error: cannot write to a/b: No space left on device; choose another folder with --out"
    )
    assert shown_files() == []


def test_debug_shows_the_traceback_and_then_the_line(run):
    done = run(*SWEEP, "--alpha", "0", "--debug")
    assert done.code == 2
    assert done.error_lines[0].startswith("Traceback")
    assert done.error_lines[-1].startswith("error: alpha = 0.0")


def test_an_unexpected_error_is_one_line_too(run, small, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(store, "write", broken)
    done = run(*SWEEP, *small)
    assert done.code == 1
    assert done.error_lines[-1] == (
        "error: unexpected RuntimeError: two lines; --debug shows where, please report it"
    )
    assert shown_files() == []
