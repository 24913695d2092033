"""`hopfieldphase attention`: tables, folders, JSON, wrong input."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

QUICK = {
    "simplex": ("--points", "21"),
    "dispersion": ("--lengths", "2,10,50,200", "--draws", "2"),
    "regression": ("--keys", "60", "--queries", "31", "--temperatures", "0.01,0.1"),
    "smoothness": ("--alphas", "1.5,2"),
}
ROOMS = {"simplex": "simplex-maps"}


@pytest.mark.parametrize("name", QUICK)
def test_table_and_folder(run, name):
    done = run("attention", name, *QUICK[name], "--out", "here")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    assert {"data.zarr", "figure.png", "summary.json", "spec.toml"} <= {
        p.name for p in Path("here").iterdir()
    }
    assert f'study = "{ROOMS.get(name, name)}"' in Path("here/spec.toml").read_text(encoding="utf-8")
    again = run("run", "here/spec.toml", "--out", "here")
    assert "already done" in again.err
    assert again.out == done.out


def test_json(run):
    done = run("attention", "dispersion", *QUICK["dispersion"], "--json", "--quiet", "--no-plot")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["length"] == 200


def test_the_options_reach_the_study(run):
    done = run(
        "attention", "smoothness", "--alphas", "1.25", "--alpha", "1.2", "--k", "3", "--p", "0.5",
        "--caps", "0.5", "--no-plot", "--out", "here",
    )  # fmt: skip
    assert done.code == 0, done.err
    spec = Path("here/spec.toml").read_text(encoding="utf-8")
    assert all(line in spec for line in ("alpha = 1.2", "k = 3", "p = 0.5", "caps = 0.5"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("simplex", "--k", "3"), "k = 3"),
        (("simplex", "--alpha", "0.5"), "alpha = 0.5"),
        (("dispersion", "--mass", "2"), "mass = 2"),
        (("dispersion", "--lengths", "10"), "lengths has 1 values"),
        (("regression", "--temperature", "-1"), "temperature = -1"),
        (("regression", "--dimensions", "1,4"), "an entry of dimensions"),
        (("smoothness", "--alphas", "1"), "alphas = 1"),
        (("smoothness", "--seed", "1"), "--seed"),
        (("smooth",), "smoothness"),
        ((), "needs a command"),
    ],
)
def test_wrong_input_is_one_line(run, words, complaint):
    done = run("attention", *words)
    assert done.code == 2
    assert len(done.error_lines) == 1
    assert complaint in done.err
