"""`hopfieldphase phase-diagram`: what it writes, says and refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from hopfieldphase.core import closed_forms
from hopfieldphase.core.patterns import spherical
from hopfieldphase.data import store
from hopfieldphase.data.diagram import stored_lines
from hopfieldphase.runs import diagram as runs
from hopfieldphase.runs.diagram import diagram as compute
from hopfieldphase.runs.diagram_spec import DEFAULT_SOURCES, DiagramSpec

SMALL = ("--alpha", "2.5", "--betas", "20:60:10", "--y-values", "0.1:0.4:0.1", "--queries", "2")
RESULT = {"data.zarr", "figure.png", "figure.svg", "spec.toml", "summary.json", "provenance.json"}


def diagram(run, *words):
    return run("phase-diagram", "--y", *words)


def test_it_writes_a_complete_result_and_says_where(run):
    done = diagram(run, "epsilon", *SMALL)
    assert done.code == 0
    (folder,) = Path("runs").iterdir()
    assert {entry.name for entry in folder.iterdir()} == RESULT
    spec = DiagramSpec.from_toml(folder / "spec.toml")
    assert spec.default_folder == folder
    tree = store.open(folder / "data.zarr")
    xr.testing.assert_identical(tree, compute(spec))
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert done.error_lines[0].startswith("phase diagram: alpha 2.5, two_keys, d 16, beta 20:60:10, epsilon")
    assert done.error_lines[-1] == f"wrote {folder}; see hopfieldphase info {folder}"
    assert max(map(len, done.out.splitlines())) <= 80
    assert "20 of 20 cells" in done.out
    for line in stored_lines(tree):
        if str(line["kind"]) == "coexistence":
            exact = [16 * closed_forms.two_keys_coexistence(y, 2.5) for y in line["y"]]
            np.testing.assert_allclose(line["beta"], exact, rtol=1e-8)
            assert {0.1, 0.2, 0.4} <= set(line["y"].tolist())


def test_json_is_the_summary_file(run):
    done = diagram(run, "epsilon", *SMALL, "--out", "x", "--json", "--quiet", "--no-plot")
    assert done.err == ""
    summary = json.loads(done.out)
    assert summary == json.loads(Path("x/summary.json").read_text())
    assert {line["kind"] for line in summary["lines"]} == {"instability", "storage onset", "coexistence"}
    assert not Path("x/figure.png").exists()


def test_info_shows_a_diagram(run):
    done = diagram(run, "epsilon", *SMALL, "--out", "x", "--no-plot")
    shown = run("info", "x")
    assert shown.code == 0
    assert "phase diagram in beta and epsilon" in shown.out
    assert shown.out.endswith(done.out)
    assert json.loads(run("info", "x", "--json").out)["summary"] == json.loads(
        Path("x/summary.json").read_text()
    )


@pytest.mark.slow
def test_the_same_spec_again_is_already_done(run, monkeypatch):
    first = diagram(run, "epsilon", *SMALL, "--out", "x")
    monkeypatch.setattr(runs, "compute_diagram", lambda *_, **__: pytest.fail("computed again"))
    again = diagram(run, "epsilon", *SMALL, "--out", "x")
    assert (again.code, again.out) == (0, first.out)
    assert again.error_lines[0] == "already done: x holds this result (--force recomputes)"
    other = diagram(run, "epsilon", *SMALL, "--out", "x", "--query-noise", "0.1")
    assert other.code == 2
    assert "holds the result of another spec" in other.err


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("kappa", "--d", "8", "--y-values", "0.2,0.3", "--betas", "20,60,180"),
        ("alpha", "--M", "4", "--d", "4", "--y-values", "0.8,1.4", "--betas", "4:40:x3"),
        ("noise-strength", "--M", "8", "--d", "6", "--y-values", "0.05,0.1", "--betas", "20,60,180"),
        ("noise-strength", "--M", "8", "--d", "6", "--y-values", "0.05,0.1", "--realizations", "2"),
        ("epsilon", "--generator", "equicorrelated", "--M", "3", "--alpha", "1", "--y-values", "0.1,0.3"),
    ],
)
def test_every_axis_has_a_diagram(run, words):
    done = diagram(run, *words, "--queries", "1", "--out", "x", "--no-plot", "--json", "--quiet")
    assert done.code == 0
    summary = json.loads(done.out)
    assert summary["lines"]
    assert summary["failed_cells"] == summary["line_failures"] == []
    tree = store.open("x/data.zarr")
    assert set(tree.attrs) >= {
        "betas",
        "y_values",
        "queries",
        "query_noise",
        "seed" if "noise" in words[0] else "y",
    }
    if words[0] == "kappa":
        assert all(line["step"] for line in stored_lines(tree))


def test_patterns_of_a_file_can_be_swept_in_alpha(run):
    np.save("keys.npy", spherical(4, 3, seed=1))
    words = (
        "--patterns",
        "keys.npy",
        "--y-values",
        "1.2,1.8",
        "--betas",
        "3,9,27",
        "--queries",
        "1",
        "--no-plot",
    )
    done = diagram(run, "alpha", *words, "--out", "x")
    assert done.code == 0
    assert "keys.npy" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("gamma",), "y = 'gamma' is unknown: use kappa, alpha, noise-strength, epsilon"),
        (("epsilon", "--x", "kappa"), "x = 'kappa' is unknown: the first axis is beta"),
        (("epsilon", "--epsilon", "0.3"), "epsilon follows from the second axis epsilon"),
        (("noise-strength", "--delta", "0.3"), "delta follows from the second axis"),
        (("kappa", "--M", "9"), "M follows from the second axis kappa"),
        (("alpha", "--alpha", "2"), "alpha is the second axis"),
        (("epsilon", "--alpha", "inf"), "alpha = inf has no lines"),
        (("noise-strength", "--generator", "spherical"), "does not apply to spherical"),
        (("kappa", "--generator", "two_keys", "--epsilon", "0.1"), "two_keys"),
        (("epsilon", "--y-values", "0.2:1.2:0.1"), "outside the domain of epsilon"),
        (("epsilon", "--y-values", "0.2"), "y_values has one value"),
        (("epsilon", "--betas", "20"), "betas has one value"),
        (("epsilon", "--betas", "60:20:1"), "is reversed"),
        (("epsilon", "--queries", "0"), "queries"),
        (("epsilon", "--query-noise", "-1"), "query_noise"),
        (("epsilon", "--realizations", "0"), "realizations"),
        (("kappa", "--y-values", "0.5,0.9"), "asks for"),
        (("alpha", "--realizations", "2"), "have no randomness"),
    ],
)
def test_bad_input_is_one_line(run, words, message):
    done = diagram(run, *words)
    assert done.code == 2
    assert len(done.error_lines) == 1
    assert message in done.err
    assert not Path("runs").exists()


def test_a_missing_axis_is_a_usage_error(run):
    done = run("phase-diagram")
    assert done.code == 2
    assert "--y" in done.err


def test_every_default_is_a_valid_study():
    from hopfieldphase.runs.diagram_spec import diagram_spec  # noqa: PLC0415

    for y in DEFAULT_SOURCES:
        spec = diagram_spec(y, {}, None)
        assert spec.y == y
        assert DiagramSpec(**spec.model_dump(exclude_none=True)) == spec
