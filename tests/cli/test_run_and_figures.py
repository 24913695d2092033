"""`hopfieldphase run` and `figures`: any study file, and the figures of the paper."""

import json
from pathlib import Path

import pytest

from hopfieldphase.cli.studies import RUNNERS
from hopfieldphase.runs.library import study_files
from hopfieldphase.runs.studies import STUDIES, load, read_spec

QUICK = """
study = "sweep-beta"
betas = "20:60:20"
realizations = 2

[patterns]
M = 10
d = 8

[reduced]
realizations = 1
"""


@pytest.fixture
def quick(tmp_path):
    (tmp_path / "quick.toml").write_text(QUICK)
    return "quick.toml"


def test_a_file_and_the_command_with_its_options_meet_in_one_folder(run, quick, small):
    done = run("run", quick, "--json", "--quiet")
    assert done.code == 0
    assert run("sweep", "beta", *small, "--json", "--quiet").out == done.out
    (folder,) = Path("runs").iterdir()
    again = run("run", str(folder / "spec.toml"))
    assert again.error_lines[0] == f"already done: {folder} holds this result (--force recomputes)"


def test_the_quick_setting_is_taken_on_request(run, quick):
    sizes = []
    for more in ((), ("--reduced",)):
        done = run("run", quick, "--json", "--quiet", "--no-plot", *more)
        sizes.append(json.loads(done.out)["realizations"])
    assert sizes == [2, 1]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            'study = "sweep-bta"',
            "the unknown study 'sweep-bta'; the nearest is 'sweep-beta': known",
        ),
        ("alpha = 2.0", "names no study: known are sweep-beta,"),
        (QUICK.replace("realizations = 2", "realisations = 2"), "the nearest is 'realizations'"),
        (QUICK.replace("d = 8", "dd = 8"), "unknown key 'dd'; the nearest is 'd'"),
        ("study = ", "cannot read the spec wrong.toml"),
    ],
)
def test_wrong_files_get_one_line(run, text, complaint):
    Path("wrong.toml").write_text(text)
    done = run("run", "wrong.toml")
    assert done.code == 2
    assert complaint in done.err
    assert len(done.error_lines) == 1
    assert not Path("runs").exists()


def test_a_missing_file_gets_one_line(run):
    done = run("run", "none.toml")
    assert (done.code, len(done.error_lines)) == (2, 1)
    assert "cannot read the spec none.toml" in done.err


def test_an_unknown_figure_gets_the_list(run):
    done = run("figures", "2", "figure-99")
    assert done.code == 2
    assert "figure 'figure-99' is unknown; the nearest is" in done.err
    assert "figure-17" in done.err
    assert not Path("figures").exists()


def test_a_figure_is_written_as_png_and_svg_and_found_again(run):
    for expected in (1, 1):
        done = run("figures", "17", "--reduced", "--out", "drawn")
        assert done.code == 0
        assert done.error_lines[-1] == "wrote 1 figures to drawn"
        assert sorted(file.name for file in Path("drawn").iterdir()) == ["figure-17.png", "figure-17.svg"]
        assert len(list(Path("runs").iterdir())) == expected


@pytest.mark.parametrize("name", sorted(study_files()))
@pytest.mark.parametrize("reduced", [False, True])
def test_every_study_file_is_sound_and_says_everything(name, reduced):
    spec = read_spec(study_files()[name], reduced=reduced)
    assert spec.fingerprint
    assert spec.study in STUDIES


def test_the_files_cover_the_figures_of_the_paper():
    assert {f"figure-{number}" for number in (2, 3, 4, 5, 10, 11, 16, 17)} <= study_files().keys()


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_names_what_is_there(name):
    study = STUDIES[name]
    assert load(study.spec).model_fields["study"].default == name
    assert callable(load(study.measure))
    assert callable(load(study.plot))
    assert not study.resumed or callable(load(study.resumed))
    if name in RUNNERS:
        assert callable(load(RUNNERS[name]))
    else:
        assert isinstance(load(study.spec).headline, property)
        assert all(callable(load(part)) for part in (study.summary, study.lines))
