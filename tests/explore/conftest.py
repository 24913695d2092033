"""One small result of every kind that has a page, and a real browser: Debian's Chromium."""

import shutil

import pytest
from playwright.sync_api import sync_playwright

import hopfieldphase as hp
from hopfieldphase.runs.branch_spec import BranchSpec
from hopfieldphase.runs.branches import branches_tree
from hopfieldphase.runs.diagram import diagram
from hopfieldphase.runs.diagram_spec import diagram_spec
from hopfieldphase.runs.kappa import sweep_kappa_tree
from hopfieldphase.runs.kappa_spec import KappaSpec, SequenceSpec
from hopfieldphase.runs.load_branch_spec import LoadBranchSpec
from hopfieldphase.runs.load_branches import load_branches_tree
from hopfieldphase.runs.specs import PatternSpec, SweepSpec

MAKERS = {}
NAMES = ("chromium", "chromium-browser", "google-chrome")


def maker(function):
    MAKERS[function.__name__] = function
    return function


@maker
def sweep():
    return hp.sweep_beta(SweepSpec(patterns=PatternSpec(M=20, d=12), betas="10:150:5", realizations=2))


@maker
def load_sweep():
    source = SequenceSpec(d=16)
    return sweep_kappa_tree(KappaSpec(patterns=source, beta=60.0, kappas="0.1:0.2:0.02", realizations=2))


@maker
def branches():
    return branches_tree(BranchSpec(alpha=1.5, patterns=PatternSpec(M=20, d=12), betas="10:90:4"))


@maker
def load_branches():
    return load_branches_tree(
        LoadBranchSpec(patterns=SequenceSpec(d=16), beta=60.0, kappas="0.1:0.2:0.02", top=3)
    )


@maker
def phase_diagram():
    return diagram(diagram_spec("epsilon", {"d": 8}, None, betas="4:40:4", y_values="0.1:0.4:0.1"))


@pytest.fixture(scope="session")
def result():
    """The data of a kind, computed once."""
    made = {}

    def get(kind):
        if kind not in made:
            made[kind] = MAKERS[kind]()
        return made[kind]

    return get


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found, "no browser: install chromium (apt-get install chromium)"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()
