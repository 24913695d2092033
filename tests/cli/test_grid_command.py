"""`hopfieldphase run` of a grid, and `info` of what it has left."""

import json
import re
import signal
from pathlib import Path

import pytest

from hopfieldphase.runs import sweep_results
from hopfieldphase.runs.executors import Serial
from hopfieldphase.runs.folder import DATA, MARKER, RUN

STUDY = """
study = "grid"
realizations = 2
[base]
betas = "60:300:60"
[base.patterns]
d = 8
clusters = 2
[grid]
alpha = [1.5, 2.0]
M = [6, 12]
"""
GRID = ("run", "study.toml", "--out", "x", "--no-plot")


@pytest.fixture(autouse=True)
def study(run):
    """A study file in the current folder."""
    Path("study.toml").write_text(STUDY)


def test_a_grid_is_computed_once_and_described(run):
    done = run(*GRID)
    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == "8 sweeps in beta, 80 points; 7 sweeps with hysteresis"
    assert done.error_lines[0] == "grid: 8 sweeps in beta (2 alpha x 2 M x 2 realizations)"
    assert sorted(file.name for file in Path("x").iterdir()) == [DATA, MARKER, "spec.toml", "summary.json"]
    again = run(*GRID)
    assert again.error_lines[0] == "already done: x holds this result (--force recomputes)"
    found = json.loads(run("info", "x", "--json").out)
    assert found["dims"] == {"alpha": 2, "M": 2, "realization": 2, "direction": 2, "beta": 5}
    assert found["options"]["betas"] == "60:300:60"
    assert found["provenance"]["sessions"][0]["executor"] == "serial"
    text = run("info", "x").out
    assert "8 sweeps in beta, 80 points" in text
    assert max(map(len, text.splitlines())) <= 80
    same = run("run", "x/spec.toml", "--out", "y", "--no-plot", "--quiet")
    assert same.code == 0
    assert Path("y/summary.json").read_text() == Path("x/summary.json").read_text()


def test_what_was_used_is_cited(run):
    run(*GRID)
    cited = run("info", "x", "--cite").out
    for key in ("@software{hopfieldphase,", "@misc{hu2026statistical,", "@inproceedings{peters2019sparse,"):
        assert key in cited
    assert "ramsauer" not in cited
    run(
        "sweep",
        "beta",
        "--alpha",
        "1",
        "--M",
        "8",
        "--d",
        "6",
        "--betas",
        "1,2",
        "--realizations",
        "1",
        "--out",
        "s",
    )
    assert "@inproceedings{ramsauer2021hopfield," in run("info", "s", "--cite").out


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupt_that_comes_too_late_says_so(run, monkeypatch, kind):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    with monkeypatch.context() as patched:
        patched.setattr("hopfieldphase.data.grid.grid_lines", lambda summary: signal.raise_signal(kind) or [])
        cut = run(*GRID)
    signal.signal(signal.SIGINT, before)
    assert (cut.code, cut.error_lines[-1]) == (130, "interrupted; the result in x is complete")
    assert "already done" in run(*GRID).error_lines[0]


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_run_says_what_it_keeps_and_goes_on(run, monkeypatch, kind):
    def cut_short(self, job, batches, news):
        for batch in batches[:3]:
            news(job.run(batch))
        signal.raise_signal(kind)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    with monkeypatch.context() as patched:
        patched.setattr(Serial, "run", cut_short)
        cut = run(*GRID)
    signal.signal(signal.SIGINT, before)
    assert cut.code == 130
    assert cut.error_lines[-1] == (
        "interrupted; 3 of 8 sweeps are kept in x: the same command computes the rest"
    )
    found = run("info", "x").out.splitlines()
    assert found[:3] == [
        "x: a grid of sweeps, not finished",
        "progress    3 of 8 sweeps (37.5%)",
        "state       interrupted: the same command computes the rest",
    ]
    assert run("info", "x", "--cite").code == 2
    Path("other.toml").write_text(STUDY.replace("realizations = 2", "realizations = 3"))
    other = run("run", "other.toml", "--out", "x")
    assert other.code == 2
    assert "unfinished run of another spec" in other.error_lines[-1]
    assert run(*GRID).code == 0
    record = json.loads(Path("x", MARKER).read_text())
    assert [session["sweeps"] for session in record["sessions"]] == [3, 5]
    assert not Path("x", RUN).exists()
    assert run(*GRID, "--force").code == 0
    record = json.loads(Path("x", MARKER).read_text())
    assert [session["sweeps"] for session in record["sessions"]] == [8]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--executor", "threads"), "error: executor = threads is unknown: use serial, processes, dask"),
        (("--executor", "serial", "--workers", "2"), "error: workers = 2, but the serial executor has one"),
        (
            ("--scheduler", "tcp://x:1", "--workers", "2"),
            "error: workers = 2, but the scheduler at tcp://x:1",
        ),
    ],
)
def test_executors_that_make_no_sense(run, words, line):
    done = run(*GRID, *words)
    assert (done.code, len(done.error_lines)) == (2, 1)
    assert done.error_lines[0].startswith(line)
    assert not Path("x").exists()


def test_other_studies_have_no_executor(run):
    Path("sweep.toml").write_text('study = "sweep-beta"\nbetas = "1,2"\n')
    done = run("run", "sweep.toml", "--executor", "dask")
    assert (done.code, len(done.error_lines)) == (2, 1)
    assert done.error_lines[0].startswith(
        "error: --executor is for grids of sweeps, but this is a sweep-beta study"
    )


def test_a_combination_that_is_no_sweep_is_named(run):
    Path("study.toml").write_text(STUDY.replace("1.5, 2.0", "1.5, -2.0"))
    done = run(*GRID)
    assert (done.code, len(done.error_lines)) == (2, 1)
    assert (
        "the combination alpha = -2.0, M = 6 of the grid is none: alpha = -2.0 is outside"
        in done.error_lines[0]
    )


PLAIN = {
    "beta": ("sweep_spec", ("--M", "10", "--d", "8", "--betas", "20:60:20"), "10 realizations"),
    "kappa": ("kappa_spec_tree", ("--d", "12", "--kappas", "0.2:0.4:0.1", "--realizations", "3"), "6 sweeps"),
}


@pytest.mark.parametrize("parameter", PLAIN)
def test_a_plain_sweep_that_is_ended_keeps_what_is_finished(run, monkeypatch, parameter):
    name, options, units = PLAIN[parameter]
    words = ("sweep", parameter, *options, "--out", "s", "--no-plot")
    real = getattr(sweep_results, name)

    def cut_short(spec, *, progress, checkpoint):
        def interrupting(done, total):
            if done >= 3:
                signal.raise_signal(signal.SIGTERM)

        return real(spec, progress=interrupting, checkpoint=checkpoint)

    with monkeypatch.context() as patched:
        patched.setattr(sweep_results, name, cut_short)
        cut = run(*words)
    assert cut.code == 130
    assert re.fullmatch(
        rf"interrupted; \d+ of {units} are kept in s: the same command computes the rest",
        cut.error_lines[-1],
    )
    assert run(*words).code == 0
    assert sorted(file.name for file in Path("s").iterdir()) == [DATA, MARKER, "spec.toml", "summary.json"]
