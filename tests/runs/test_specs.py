"""Specs: defaults, refusals, TOML form and fingerprint."""

import inspect
import json
import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core import patterns
from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.specs import GENERATORS, REQUIRED, SOURCES, PatternSpec, SweepSpec
from hopfieldphase.solvers.options import SOLVERS


def test_the_default_is_the_data_and_grid_of_figure_2():
    spec = SweepSpec()
    assert (spec.alpha, spec.realizations, spec.betas) == (2.0, 10, tuple(20.0 + 2 * i for i in range(191)))
    source = spec.patterns
    assert (source.generator, source.M, source.d, source.seed) == ("clustered", 100, 64, 0)
    assert (source.clusters, source.delta, source.noise) == (4, 0.04, "gaussian")
    assert (spec.start_up, spec.start_down, spec.solver, spec.device) == ("mean", "pattern:0", "auto", "cpu")


@pytest.mark.parametrize("name", [name for name in GENERATORS if name != "digits"])
def test_options_of_a_source_are_those_of_its_generator(name):
    """The table of sources stands in a module without NumPy; it must not drift from the generators."""
    parameters = inspect.signature(getattr(patterns, name)).parameters
    taken = {
        "k" if key == "M" and name == "circulant" else key: value for key, value in SOURCES[name].items()
    }
    assert set(taken) == set(parameters) - {"realization"}
    for key, default in taken.items():
        expected = parameters[key].default
        if expected is inspect.Parameter.empty:
            assert default is REQUIRED or key in ("M", "d")
        else:
            assert default == expected


def test_solvers_are_those_of_the_solver_room():
    for name in SOLVERS:
        assert SweepSpec(solver=name).solver == name
    with pytest.raises(InputError, match="use auto, gradient-descent, fixed-point, newton"):
        SweepSpec(solver="adam")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"aplha": 2}, "unknown key 'aplha'; the nearest is 'alpha'"),
        ({"patterns": {"cluster": 4}}, "unknown key 'cluster'; the nearest is 'clusters'"),
        ({"alpha": 0}, "alpha = 0 is outside its domain"),
        ({"alpha": math.nan}, "alpha = nan is outside its domain"),
        ({"alpha": "two"}, "alpha = 'two' is outside its domain"),
        ({"betas": "3:1:1"}, "is reversed"),
        ({"betas": []}, "is empty"),
        ({"realizations": 0}, "realizations = 0 is not a whole number >= 1"),
        ({"realizations": 2.5}, "realizations = 2.5 is not a whole number >= 1"),
        ({"realizations": True}, "realizations = True is not a whole number >= 1"),
        ({"start_up": "pattern:-1"}, "start_up = 'pattern:-1' is not a start"),
        ({"start_down": "patern:1"}, "start_down = 'patern:1' is not a start"),
        ({"start_down": "pattern:100"}, "there are 100 patterns: use pattern:0 to pattern:99"),
        ({"start_up": "continue", "start_down": "continue"}, "one of them needs a start of its own"),
        ({"solver": "newtn"}, "solver = 'newtn' is unknown; the nearest is 'newton'"),
        ({"tol": 0}, "tol = 0 is outside its domain"),
        ({"tol": 1e-17}, "tol = 1e-17 is outside its domain"),
        ({"device": "gpu"}, "device = 'gpu' is unknown"),
        ({"polish": "yes"}, "polish = 'yes'"),
        ({"patterns": 3}, "patterns = 3"),
        ({"patterns": {"M": 0}}, "M = 0 is not a whole number >= 1"),
        ({"patterns": {"d": -4}}, "d = -4 is not a whole number >= 1"),
        ({"patterns": {"seed": -1}}, "seed = -1 is not a whole number >= 0"),
        ({"patterns": {"delta": 1.5}}, "delta = 1.5 is outside its domain"),
        ({"patterns": {"noise": "white"}}, "noise = 'white' is unknown: use gaussian, unit"),
        ({"patterns": {"generator": "clustred"}}, "'clustred' is unknown; the nearest is 'clustered'"),
        ({"patterns": {"generator": "spherical", "clusters": 4}}, "clusters does not apply to spherical"),
        ({"patterns": {"generator": "two_keys"}}, "two_keys patterns need epsilon"),
        ({"patterns": {"path": "a.npy", "generator": "spherical"}}, "choose one of them"),
        ({"patterns": {"path": "a.npy", "M": 5}}, "M does not apply to patterns from a file"),
        ({"patterns": {"path": "a.npy"}, "realizations": 2}, "no randomness: leave it at 1"),
        ({"patterns": {"generator": "equicorrelated", "M": 5, "seed": 1}}, "seed does not apply"),
    ],
)
def test_wrong_options_are_one_line(options, complaint):
    with pytest.raises(InputError) as caught:
        SweepSpec(**options)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_specs_are_frozen():
    spec = SweepSpec()
    with pytest.raises(ValueError, match="frozen"):
        spec.alpha = 1.0


specs = st.builds(
    SweepSpec,
    alpha=st.one_of(st.floats(0.1, 10), st.just(math.inf)),
    betas=st.sampled_from(["20:400:2", "0.1:50:x1.05", "3,4,7.5", [0.1, 0.1 + 0.2]]),
    realizations=st.integers(1, 50),
    start_up=st.sampled_from(["mean", "best", "pattern:3"]),
    solver=st.sampled_from(sorted(SOLVERS)),
    tol=st.one_of(st.none(), st.floats(1e-14, 1e-2)),
    keep_states=st.booleans(),
    polish=st.booleans(),
    patterns=st.one_of(
        st.builds(PatternSpec, M=st.integers(4, 50), d=st.integers(1, 9), delta=st.floats(0, 1)),
        st.builds(
            PatternSpec, generator=st.just("spherical"), M=st.integers(4, 9), seed=st.integers(0, 2**62)
        ),
    ),
)


@settings(deadline=None)
@given(specs)
def test_toml_reads_back_equal(tmp_path_factory, spec):
    path = tmp_path_factory.getbasetemp() / "spec.toml"
    path.write_text(spec.to_toml(), encoding="utf-8")
    again = SweepSpec.from_toml(path)
    assert again == spec
    assert again.fingerprint == spec.fingerprint


def test_equal_studies_share_a_folder_and_others_do_not():
    default = SweepSpec().default_folder
    assert SweepSpec(alpha=2, betas="20.0:401:2.0", tol=None, patterns={"M": 100}).default_folder == default
    assert default.parts[0] == "runs"
    assert default.name.startswith("sweep-beta-")
    others = [
        SweepSpec(alpha=math.nextafter(2, 3)),
        SweepSpec(betas="20:398:2"),
        SweepSpec(realizations=9),
        SweepSpec(keep_states=True),
        SweepSpec(patterns={"seed": 1}),
        SweepSpec(patterns={"delta": 0.05}),
        SweepSpec(solver="newton"),
    ]
    assert len({spec.default_folder for spec in [*others, SweepSpec()]}) == len(others) + 1


def test_a_file_counts_by_its_numbers():
    here = SweepSpec(betas="1,2", patterns={"path": "a.npy", "sha256": "00"})
    there = SweepSpec(betas="1,2", patterns={"path": "/b/c.csv", "sha256": "00"})
    changed = SweepSpec(betas="1,2", patterns={"path": "a.npy", "sha256": "01"})
    assert here.fingerprint == there.fingerprint != changed.fingerprint


@pytest.mark.parametrize(
    "spec", [SweepSpec(patterns={"path": "a.npy"}), SweepSpec(patterns={"generator": "digits"})]
)
def test_an_unresolved_spec_has_no_fingerprint(spec):
    with pytest.raises(InputError, match="not resolved"):
        _ = spec.fingerprint


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "cannot read the spec"),
        ("alpha = [", "cannot read the spec"),
        ("alpha = 2\nbeta = '1:2:1'", "unknown key 'beta'; the nearest is 'betas'"),
        ("[patterns]\nM = '5'", "M = '5' is not a whole number"),
        (b"\xff\xfe", "cannot read the spec"),
    ],
)
def test_wrong_spec_files_are_one_line(tmp_path, content, complaint):
    path = tmp_path / "spec.toml"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        SweepSpec.from_toml(path)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_checking_a_spec_costs_no_numpy():
    """A wrong option is reported at once, before anything heavy is loaded."""
    code = (
        "import json, sys, hopfieldphase.runs.folder\n"
        "from hopfieldphase.runs.specs import SweepSpec\n"
        "SweepSpec()\n"
        "heavy = ('numpy', 'numba', 'xarray', 'scipy', 'matplotlib')\n"
        "print(json.dumps([name for name in heavy if name in sys.modules]))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout) == []
