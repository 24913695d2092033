"""`hopfieldphase explore`: pages of results, and one line for what has none."""

import importlib.util

import pytest


@pytest.fixture
def loop(run, small):
    assert run("sweep", "beta", *small, "--out", "loop", "--no-plot", "--quiet").code == 0


@pytest.mark.usefixtures("loop")
def test_a_result_folder_becomes_one_page_that_opens_where_asked(run, tmp_path):
    done = run("explore", "loop", "-o", "it.html", "--at", "realization=1", "--at", "beta=41")
    assert done.code == 0
    assert done.out == "sweep in beta, up and down: α = 2, M = 10, d = 8, clustered patterns\n"
    assert done.error_lines[-1].startswith("wrote it.html (")
    text = (tmp_path / "it.html").read_text(encoding="utf-8")
    assert "hopfieldphase explore loop" in text
    assert '\\"position\\":[1,1,1]' in text.replace(" ", "")


@pytest.mark.usefixtures("loop")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("loop", "-o", "missing/it.html"), "error: missing is not a folder: create it, or choose another"),
        (("loop", "-o", "loop"), "error: loop is a folder: give the name of a file with -o"),
        (("loop", "--at", "gamma=1"), "error: gamma is no dimension of these data: they have realization"),
        (("loop", "--at", "beta"), "error: --at beta has no value: write NAME=VALUE"),
        (("nothing",), "error: nothing does not exist"),
        ((".",), "error: . holds no data.zarr: nothing of this run is finished yet"),
        (("other.nc",), "error: cannot read other.nc: not a file of hopfieldphase, or damaged"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(run, tmp_path, words, line):
    (tmp_path / "other.nc").write_bytes(b"no netCDF")
    before = sorted(tmp_path.iterdir())
    done = run("explore", *words)
    assert done.code == 2
    assert done.out == ""
    assert len(done.error_lines) == 1
    assert done.err.startswith(line)
    assert sorted(tmp_path.iterdir()) == before


def test_a_missing_extra_is_one_line(run, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "hopfieldphase.cli.explore.find_spec", lambda name: None if name == "bokeh" else real(name)
    )
    done = run("explore", "loop")
    assert done.code == 2
    assert done.err == "error: bokeh is not installed: run `pip install 'hopfieldphase[explore]'`\n"
