"""How objects show: one line each, a summary as words, and as a table in a notebook."""

import json

import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.core.attention.selection import TopK
from hopfieldphase.data.build import sweep_dataset
from hopfieldphase.data.summaries import Summary
from hopfieldphase.data.summary import summary_lines, sweep_summary
from hopfieldphase.runs.studies import STUDIES, load


@pytest.fixture(scope="module")
def model():
    return hp.HopfieldModel(hp.patterns.clustered(20, 16), alpha=2)


def test_models_show_sizes_not_patterns(model):
    assert repr(model) == "HopfieldModel(M=20, d=16, alpha=2, scale=0.25)"
    with_map = hp.HopfieldModel(model.patterns, attention=TopK(4))
    assert repr(with_map) == f"AttentionModel(M=20, d=16, attention={TopK(4)!r}, scale=0.25)"
    assert repr(hp.HopfieldModel(np.eye(2), alpha=np.inf)).startswith("HopfieldModel(M=2, d=2, alpha=inf,")


def test_a_solution_shows_in_one_line(model):
    shown = repr(hp.relax(model, model.patterns[0] / 4, beta=400.0))
    assert shown.startswith("Solution(converged, beta=400, free_energy=-")
    assert "support 1 of 20, overlap_max=0.0625," in shown
    assert "\n" not in shown


def test_branches_show_range_and_ends(model):
    found = hp.branches(model, at=200.0, betas="150:250:50", top=2)
    low, high = found.betas
    shown = repr(found)
    assert shown.startswith(f"LabelledBranchSet(2 of {found.n_states} minima at beta=200, followed in [")
    assert shown.endswith(f"{low:.6g}, {high:.6g}]; {model!r})")
    branch = found[0]
    first, last = branch.ends
    assert repr(branch).startswith(f"Branch(beta in [{branch.lower:.6g}, {branch.upper:.6g}], ")
    assert f"{first.label} to {last.label}" in repr(branch)
    assert repr(last) == f"SpecialPoint({last.label} at {last.parameter:.9g})"


def test_a_summary_is_a_dictionary_that_shows_as_words_and_as_a_table(make_sweep):
    dataset = sweep_dataset([make_sweep(3, 6), make_sweep(5, 9)], {"alpha": 2.0, "M": 30, "d": 8})
    summary, plain = dataset.hp.summary(), sweep_summary(dataset)
    assert summary == plain
    assert json.dumps(summary) == json.dumps(plain)
    assert repr(summary) == "\n".join(summary_lines(plain))
    table = summary._repr_html_()
    assert table.count("<tr>") == table.count("</tr>") > 20
    assert ">hysteresis, realizations</th>" in table
    assert ">verified minima</th>" in table


def test_cells_of_a_table_are_short_and_escaped():
    values = {"a_b": {"c": None, "d": [1.0] * 9}, "<i>": True, "empty": {}, "pair": [[1.5, 2.0], {"x": 3}]}
    table = Summary(values, lambda _: [])._repr_html_()
    assert ">a b, c</th>" in table
    assert "[1, 1, 1, 1, 1, 1, \N{HORIZONTAL ELLIPSIS} 9 in all]" in table
    assert "&lt;i&gt;" in table
    assert "[[1.5, 2], x 3]" in table


def test_every_study_without_a_command_of_its_own_can_be_put_in_words():
    for study in STUDIES.values():
        if not study.own:
            assert callable(load(study.lines))


def test_a_progress_bar_leaves_nothing_behind(capsys):
    update = hp.progress_bar("sweeps")
    update(1, 4)
    update(2.5, 4, "loss 0.3")
    update(4, 4)
    shown = capsys.readouterr().err
    assert "\n" not in shown
    assert " 25 %  1 of 4 sweeps" in shown
    assert " 62 %  2.5 of 4 sweeps" in shown
    assert shown.endswith("\r")
    _, *_, last, _ = shown.split("\r")
    assert last.strip() == ""
