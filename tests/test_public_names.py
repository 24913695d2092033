"""The names that the package promises, and what importing it may cost."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import hopfieldphase as hp

PROMISED = {
    "AttentionModel",
    "Barrier",
    "Branch",
    "BranchSet",
    "DeformedEnsemble",
    "FixedPoint",
    "HopfieldModel",
    "HopfieldPhaseError",
    "InputError",
    "KappaSpec",
    "MapCurve",
    "MapProblem",
    "Piece",
    "Problem",
    "Samples",
    "Solution",
    "SpecialPoint",
    "Status",
    "SweepSpec",
    "attention",
    "barrier",
    "branches",
    "branches_kappa",
    "closed_forms",
    "coexistence",
    "coexistence_kappa",
    "conjugate",
    "continue_curve",
    "continue_map",
    "energy_distance",
    "ensembles",
    "entmax",
    "equilibrium",
    "escape_times",
    "explorer",
    "find_fixed_point",
    "follow",
    "follow_map",
    "joint_gibbs",
    "kramers_time",
    "map_branches",
    "map_coexistence",
    "open",
    "patterns",
    "progress_bar",
    "relax",
    "sample",
    "spinodals",
    "study",
    "sweep_beta",
    "sweep_kappa",
    "sweep_kappa_tree",
    "thermal_attention",
    "tsallis_entropy",
    "vertex_attention",
    "weights",
}
PATTERNS = {
    "circulant",
    "clustered",
    "digits",
    "equicorrelated",
    "gaussian",
    "load",
    "sequence",
    "spherical",
    "two_keys",
}
HEAVY = ("h5netcdf", "matplotlib", "numba", "pandas", "pydantic", "scipy", "torch", "typer", "xarray", "zarr")


def test_every_promised_name_is_public_and_nothing_else():
    assert set(hp.__all__) == PROMISED
    assert hp.__all__ == sorted(hp.__all__)
    assert set(dir(hp)) >= PROMISED


@pytest.mark.parametrize("name", sorted(PROMISED))
def test_promised_name_resolves_and_is_documented(name):
    value = getattr(hp, name)
    assert inspect.getdoc(value)
    assert value.__name__.rpartition(".")[2] == name


@pytest.mark.parametrize("name", sorted(PATTERNS))
def test_pattern_generator_resolves_and_is_documented(name):
    assert inspect.isfunction(getattr(hp.patterns, name))
    assert inspect.getdoc(getattr(hp.patterns, name))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'sweep_gamma'"):
        _ = hp.sweep_gamma


def test_type_checkers_and_runtime_find_each_name_in_the_same_module():
    tree = ast.parse(Path(hp.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    static = {
        name.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    for name in PROMISED:
        value = getattr(hp, name)
        if inspect.ismodule(value):
            assert f"{static[name]}.{name}" == value.__name__
        else:
            assert getattr(sys.modules[static[name]], name) is value


def _loaded_after(code: str) -> set[str]:
    """Which of the heavy packages a fresh interpreter has loaded after running the code."""
    code += f"\nimport sys; print(*[name for name in {HEAVY} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(result.stdout.split())


@pytest.mark.parametrize(
    "code",
    ["import hopfieldphase", "import hopfieldphase as hp; hp.Status; hp.InputError; dir(hp)"],
    ids=["import", "light names"],
)
def test_importing_the_package_loads_nothing_heavy(code):
    assert _loaded_after(code) == set()


def test_patterns_and_physics_load_neither_compiler_nor_labels():
    code = (
        "import hopfieldphase as hp, numpy as np;"
        "hp.HopfieldModel(hp.patterns.clustered(8, 4)).free_energy(np.ones(4), 2.0)"
    )
    assert _loaded_after(code) <= {"scipy"}


@pytest.mark.parametrize(
    "imports",
    [
        "import hopfieldphase, xarray",
        "import xarray, hopfieldphase",
        "import hopfieldphase.data.summary, xarray",
        "import hopfieldphase.accessor, xarray",
    ],
)
def test_the_accessor_is_there_in_every_import_order(imports):
    code = f"{imports}; print(type(xarray.Dataset().hp).__module__, type(xarray.DataTree().hp).__module__)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["hopfieldphase.accessor"] * 2


@pytest.mark.parametrize("name", ["attention", "closed_forms", "ensembles", "patterns"])
def test_names_are_imported_from_modules_as_they_are_reached_as_attributes(name):
    module = importlib.import_module(f"hopfieldphase.{name}")
    assert module is getattr(hp, name)
    for public in module.__all__:
        assert getattr(module, public).__doc__ or public.isupper()
