"""`hopfieldphase info` and `bench`: what they show of files and of this machine."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import hopfieldphase
from hopfieldphase.cli import bench
from hopfieldphase.core.patterns import spherical
from hopfieldphase.data import patterns_io, store


@pytest.fixture
def result(run, small) -> Path:
    """A finished result without its figure."""
    assert run("sweep", "beta", *small, "--out", "x", "--no-plot").code == 0
    return Path("x")


def test_a_result_folder_is_described(run, result):
    done = run("info", "x")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "x: sweep in beta, up and down"
    assert lines[1] == "dimensions  realization 2, direction 2, beta 3"
    assert lines[2].startswith("computed    20")
    for words in ("alpha               2", "betas               20:60:20", "generator           clustered"):
        assert f"  {words}" in lines
    assert "  free_energy         float64  free energy" in lines
    assert any("of 12 points are verified minima" in line for line in lines)
    assert max(map(len, lines)) <= 80
    assert "$" not in done.out


@pytest.mark.parametrize("name", ["x", "x/data.zarr", "copy.zarr", "copy.nc"])
def test_every_form_of_a_dataset_holds_the_same(run, result, name):
    dataset = store.open("x/data.zarr")
    store.write(dataset, "copy.nc")
    shutil.copytree("x/data.zarr", "copy.zarr")
    done = run("info", name, "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["summary"] == json.loads(Path("x/summary.json").read_text())
    assert found["dims"] == {"realization": 2, "direction": 2, "beta": 3}
    assert found["variables"]["ipr"]["dims"] == ["realization", "direction", "beta"]
    assert (found["options"]["M"], found["options"]["tol"]) == (10, None)
    assert found["package_version"] == hopfieldphase.__version__
    assert (found["provenance"] is not None) == name.startswith("x")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".nc"])
def test_patterns_are_described(run, suffix):
    stored = 2 * spherical(4, 3)
    stored[3] = stored[0]
    patterns_io.save(f"keys{suffix}", stored)
    found = json.loads(run("info", f"keys{suffix}", "--json").out)
    assert found["dims"] == {"pattern": 4, "component": 3}
    assert found["norms"]["min"] == pytest.approx(2, rel=1e-15)
    assert found["duplicates"] == 1
    lines = run("info", f"keys{suffix}").out.splitlines()
    assert lines[1:] == ["dimensions  pattern 4, component 3", "norms       2 to 2", "duplicates  1"]


@pytest.mark.parametrize(
    ("prepare", "name", "complaint"),
    [
        (lambda: None, "missing", "missing does not exist"),
        (lambda: Path("empty").mkdir(), "empty", "empty holds no finished result"),
        (lambda: Path("notes.txt").write_text("hello"), "notes.txt", "cannot read notes.txt"),
        (lambda: Path("broken.zarr").mkdir(), "broken.zarr", "cannot read broken.zarr"),
        (lambda: Path("keys.npy").touch(), "keys.npy", "pattern file keys.npy: it is empty"),
        (lambda: shutil.rmtree("x/data.zarr/ipr"), "x", "the variable ipr"),
    ],
)
def test_what_cannot_be_read_is_one_line(run, result, prepare, name, complaint):
    prepare()
    done = run("info", name)
    assert (done.code, done.out) == (2, "")
    (line,) = done.error_lines
    assert line.startswith("error: ")
    assert complaint in line


def test_bench_times_the_maps_and_the_sweeps(run, monkeypatch):
    monkeypatch.setattr(bench, "SIZES", ((8, 4), (2, 16)))
    monkeypatch.setattr(bench, "_SECONDS", 0.0)
    done = run("bench", "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    sizes = [(entry["rows"], entry["M"], entry["alpha"]) for entry in found["weights"]]
    alphas = [alpha if math.isfinite(alpha) else "inf" for alpha in bench.ALPHAS]
    assert sizes == [(rows, M, alpha) for rows, M in ((8, 4), (2, 16)) for alpha in alphas]
    # A failed solve must never be timed as a win.
    assert [(entry["alpha"], entry["verified_minima"]) for entry in found["sweep"]] == [
        (2.0, 382),
        (1.0, 382),
    ]
    assert all(entry["seconds"] > 0 for entry in found["weights"] + found["sweep"])
    table = run("bench").out.splitlines()
    assert table[1].split() == [
        "rows",
        "x",
        "M",
        *np.ravel([("alpha", str(a)) for a in (1, 1.3, 1.5, 2, "inf")]),
    ]
    assert [line.split()[:3] for line in table[2:4]] == [["8", "x", "4"], ["2", "x", "16"]]
    assert "382 of 382" in table[-1]
    assert max(map(len, table)) <= 80
