"""`hopfieldphase doctor` and `hopfieldphase warmup`."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numba
import pytest

from hopfieldphase.runs import doctor
from hopfieldphase.runs.warmup import USUAL

PYPROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
PACKAGES = {need.split(">")[0] for need in PYPROJECT["dependencies"]}


def test_doctor_shows_all_in_80_columns(run):
    outcome = run("doctor")
    assert outcome.code == 0
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    assert max(map(len, lines)) <= 80
    for word in ("version", "Python", "packages", "kernels", "cache", "threads", "device", *doctor.EXTRAS):
        assert any(line.split()[:1] == [word] for line in lines), word


def test_doctor_as_json(run):
    found = json.loads(run("doctor", "--json").out)
    assert {"numpy", "numba", "xarray"} <= set(found["packages"]) <= PACKAGES
    assert all(package["fits"] for package in found["packages"].values())
    assert set(found["kernels"]) == {usual.command for usual in USUAL}
    assert Path(found["cache"]["folder"]).is_dir()


def test_every_extra_of_the_package_is_explained():
    assert set(doctor.EXTRAS) == set(PYPROJECT["optional-dependencies"]) - {"dev", "docs"}


def test_an_extra_that_names_another_needs_both():
    assert {"bokeh", "panel"} <= set(doctor.diagnosis(["app"])["extras"]["app"]["packages"])


def test_doctor_judges_single_extras(run, monkeypatch):
    def installed(needed):
        return {"installed": None, "needed": str(needed.specifier), "fits": False}

    monkeypatch.setattr(doctor, "_installed", installed)
    outcome = run("doctor", "gpu", "explore")
    assert outcome.code == 1
    assert [line.split()[1] for line in outcome.out.splitlines()[::2]] == ["missing"] * 2
    assert "pip install 'hopfieldphase[gpu]'" in outcome.out


def test_a_package_that_is_too_old_is_named(run, monkeypatch):
    versions = {"numpy": "1.26.0"}
    real = doctor.version
    monkeypatch.setattr(doctor, "version", lambda name: versions.get(name) or real(name))
    assert "numpy 1.26.0: >=2.1 is needed" in run("doctor").out


def test_an_unknown_extra_is_one_line(run):
    outcome = run("doctor", "explor")
    assert outcome.code == 2
    (line,) = outcome.error_lines
    assert "there is no extra 'explor'" in line
    assert "explore" in line


def test_a_cache_that_cannot_be_written_is_one_line(run, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "file" / "cache"))
    outcome = run("warmup")
    assert outcome.code == 2
    (line,) = outcome.error_lines
    assert "NUMBA_CACHE_DIR" in line
    assert "cannot be written" in line
    assert "cannot be written" in json.loads(run("doctor", "--json").out)["cache"]["problem"]


def test_after_a_warmup_nothing_is_compiled(run):
    assert run("warmup", "--quiet").code == 0
    again = json.loads(run("warmup", "--json", "--quiet").out)
    assert set(again["compiled"]) == {usual.command for usual in USUAL}
    assert sum(again["compiled"].values()) == 0
    assert all(json.loads(run("doctor", "--json").out)["kernels"].values())


@pytest.mark.slow
def test_after_a_warmup_the_default_sweep_compiles_nothing(run, tmp_path):
    run("warmup", "--quiet")
    code = (
        "from hopfieldphase.kernels.compilation import compilations\n"
        "from hopfieldphase.cli import main\n"
        "with compilations() as names:\n"
        "    try:\n"
        "        main(['sweep', 'beta', '--alpha', '2', '--realizations', '2', '--quiet'])\n"
        "    finally:\n"
        "        print(names)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    assert (tmp_path / "runs").is_dir()
