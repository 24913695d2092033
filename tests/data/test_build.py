"""Labelled datasets hold exactly what the sweeps measured, with dimensions, labels, units and options."""

import dataclasses

import matplotlib.mathtext
import numpy as np
import pytest
import xarray as xr

import hopfieldphase
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.data import schema
from hopfieldphase.data.build import sweep_dataset

OPTIONS = {"alpha": 2.0, "M": 30, "d": 8, "seed": 7, "tol": None, "polish": True, "solver": "auto"}


@pytest.fixture
def sweeps(make_sweep):
    return [make_sweep(3, 6), make_sweep(5, 9, saturation=0.5, pattern_norms=(0.5, 2.0), duplicates=3)]


def test_every_table_is_where_its_labels_say(sweeps):
    dataset = sweep_dataset(sweeps, OPTIONS)
    assert dict(dataset.sizes) == {"realization": 2, "direction": 2, "beta": 11}
    for name in schema.OBSERVABLES:
        assert dataset[name].dims == ("realization", "direction", "beta")
        for realization, sweep in enumerate(sweeps):
            for row, direction in enumerate(("up", "down")):
                values = dataset[name].sel(realization=realization, direction=direction).values
                assert np.array_equal(values, getattr(sweep, name)[row])
    assert dataset["beta"].values.tolist() == sweeps[0].values.tolist()
    assert dataset["realization"].values.tolist() == [0, 1]
    assert dataset["saturation"].values.tolist() == [0.4, 0.5]
    assert dataset["pattern_norm_min"].values.tolist() == [1.0, 0.5]
    assert dataset["pattern_norm_max"].values.tolist() == [1.0, 2.0]
    assert dataset["duplicates"].values.tolist() == [0, 3]
    schema.check(dataset)


def test_one_sweep_gives_no_realization_and_the_same_values(sweeps):
    one, many = sweep_dataset(sweeps[1], OPTIONS), sweep_dataset(sweeps, OPTIONS)
    assert set(one.dims) == {"direction", "beta"}
    xr.testing.assert_identical(one, many.isel(realization=1, drop=True))
    schema.check(one)


def test_the_dataset_is_a_copy(sweeps):
    dataset = sweep_dataset(sweeps[0], {})
    dataset["overlap_max"][:] = -1
    assert (sweeps[0].overlap_max > 0).all()


def test_states_come_along_when_every_sweep_kept_them(make_sweep):
    kept, lost = make_sweep(components=3), make_sweep()
    dataset = sweep_dataset([kept, kept], {})
    assert dataset["state"].dims == ("realization", "direction", "beta", "component")
    assert np.array_equal(dataset["state"].values, np.array([kept.state, kept.state]))
    assert "state" not in sweep_dataset([kept, lost], {})
    schema.check(dataset)


def test_types_labels_and_units(make_sweep):
    dataset = sweep_dataset([make_sweep(components=3)], OPTIONS)
    table = schema.OBSERVABLES | schema.PATTERNS | schema.COORDINATES | {"state": schema.STATE}
    parser = matplotlib.mathtext.MathTextParser("path")
    for name, variable in dataset.variables.items():
        assert variable.dtype == np.dtype(table[name].dtype)
        assert variable.attrs["units"] == "1"
        assert variable.attrs["long_name"] == table[name].long_name
        parser.parse(variable.attrs["long_name"])
    assert dataset["beta"].attrs["long_name"] == r"inverse temperature $\beta$"


def test_kappa_is_labelled_by_its_meaning(make_sweep):
    dataset = sweep_dataset(make_sweep(parameter="kappa"), {})
    assert dataset["overlap_max"].dims == ("direction", "kappa")
    assert r"\log(M)/d" in dataset["kappa"].attrs["long_name"]
    schema.check(dataset)


def test_status_carries_its_meanings(make_sweep):
    attrs = sweep_dataset(make_sweep(), {})["status"].attrs
    assert [Status(value) for value in attrs["flag_values"]] == list(Status)
    assert attrs["flag_meanings"].split() == [status.name.lower() for status in Status]


def test_attributes_hold_versions_starts_and_every_option(sweeps):
    attrs = sweep_dataset(sweeps, OPTIONS).attrs
    assert OPTIONS.items() <= attrs.items()
    assert attrs["schema_version"] == schema.SCHEMA_VERSION
    assert attrs["package_version"] == hopfieldphase.__version__
    assert "git_revision" in attrs
    assert (attrs["start_up"], attrs["start_down"]) == ("mean", "pattern:0")
    other = dataclasses.replace(sweeps[1], start_up="best")
    assert sweep_dataset([sweeps[0], other], {}).attrs["start_up"] == ["mean", "best"]


def test_bad_sweeps_and_options_are_refused(make_sweep):
    with pytest.raises(InputError, match="at least one realization"):
        sweep_dataset([], {})
    with pytest.raises(InputError, match="realization 1 is on other values of beta"):
        sweep_dataset([make_sweep(), make_sweep(points=9)], {})
    with pytest.raises(InputError, match="option schema_version"):
        sweep_dataset(make_sweep(), {"schema_version": 3})
    with pytest.raises(InputError, match="attribute model"):
        sweep_dataset(make_sweep(), {"model": object()})


def _without(name):
    return lambda dataset: dataset.drop_vars(name)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda ds: ds.assign_attrs(schema_version=schema.SCHEMA_VERSION + 1), "newer.*update hopfieldphase"),
        (lambda ds: ds.assign_attrs(schema_version="1"), "no schema_version"),
        (lambda ds: ds.assign_attrs(schema_version=True), "no schema_version"),
        (lambda ds: ds.assign_attrs(schema_version=0), "no schema_version"),
        (lambda ds: ds.drop_attrs(), "no schema_version"),
        (lambda ds: ds.rename(beta="temperature"), "not a sweep"),
        (_without("ipr"), "ipr is missing"),
        (_without("saturation"), "saturation is missing"),
        (lambda ds: ds.isel(direction=0), r"must hold .* over \(realization, direction, beta\)"),
        (lambda ds: ds.assign(ipr=ds["ipr"].astype(str)), "must hold floating point numbers"),
        (lambda ds: ds.assign(status=ds["status"].astype(float)), "must hold integers"),
        (lambda ds: ds.assign(jumped=ds["jumped"].astype(int)), "must hold booleans"),
        (lambda ds: ds.isel(beta=slice(None, None, -1)), "must ascend"),
        (lambda ds: ds.isel(beta=[0, 0, 1]), "must ascend"),
        (lambda ds: ds.isel(beta=slice(0)), "must ascend and not be empty"),
        (lambda ds: ds.isel(direction=[1, 0]), "direction must be"),
    ],
)  # fmt: skip
def test_what_is_not_a_sweep_of_this_schema_is_refused(sweeps, change, complaint):
    with pytest.raises(InputError, match=complaint):
        schema.check(change(sweep_dataset(sweeps, OPTIONS)))
