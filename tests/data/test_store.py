"""Files give back what was written, or one clear line; never half of it, never something else."""

import contextlib
import json
import os
import resource
import shutil
import warnings

import numpy as np
import pytest
import xarray as xr

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.build import sweep_dataset
from hopfieldphase.data.files import OutputError

FORMATS = ["data.zarr", "data.nc"]
OPTIONS = {"alpha": float("inf"), "M": 30, "seed": 2**100, "tol": None, "polish": True, "betas": (1.0, 11.0)}


@pytest.fixture(scope="module")
def dataset(make_sweep):
    rng = np.random.default_rng(0)
    sweeps = [
        make_sweep(
            k,
            k + 3,
            components=4,
            free_energy=rng.normal(size=(2, 11)),
            n_steps=rng.integers(99, size=(2, 11)),
        )
        for k in (3, 5)
    ]
    return sweep_dataset(sweeps, OPTIONS)


@pytest.fixture(scope="module")
def tree(dataset):
    patterns = xr.Dataset({"pattern": (("index", "component"), np.eye(4))}, attrs={"file": None})
    events = xr.Dataset(
        {"kind": ("event", ["fold", "Γ-crossing", ""])},
        coords={"beta": [1.0, 2.0]},
        attrs={"found": (True, 3)},
    )
    return xr.DataTree.from_dict(
        {"/": dataset, "/patterns": patterns, "/deep/events": events.drop_vars("beta")}
    )


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def complaint(call, kind=InputError):
    with pytest.raises(kind) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", FORMATS)
def test_a_dataset_reads_back_identical(tmp_path, dataset, name):
    store.write(dataset, tmp_path / name)
    read = store.open(tmp_path / name)
    xr.testing.assert_identical(read, dataset)
    assert {key: type(value) for key, value in read.attrs.items()} == {
        key: type(value) for key, value in dataset.attrs.items()
    }
    assert {str(key): value.dtype for key, value in read.variables.items()} == {
        str(key): value.dtype for key, value in dataset.variables.items()
    }
    # Nothing of the file hangs on: it can be changed, written again and removed.
    read["ipr"] += 1
    store.write(read, str(tmp_path / name))
    xr.testing.assert_identical(store.open(str(tmp_path / name)), read)


@pytest.mark.parametrize("name", FORMATS)
def test_a_tree_reads_back_identical_with_the_sweep_at_its_root(tmp_path, dataset, tree, name):
    store.write(tree, tmp_path / name)
    xr.testing.assert_identical(store.open(tmp_path / name), tree)
    opener = xr.open_zarr if name.endswith("zarr") else xr.open_dataset
    with opener(tmp_path / name) as root:
        np.testing.assert_array_equal(root["overlap_max"], dataset["overlap_max"])
    with opener(tmp_path / name, group="deep/events") as events:
        assert events["kind"].values.tolist() == ["fold", "Γ-crossing", ""]


@pytest.mark.parametrize("name", FORMATS)
def test_a_sweep_without_realizations_reads_back(tmp_path, make_sweep, name):
    one = sweep_dataset(make_sweep(), OPTIONS)
    store.write(one, tmp_path / name)
    xr.testing.assert_identical(store.open(tmp_path / name), one)


@pytest.mark.parametrize("name", FORMATS)
def test_plain_xarray_shows_labels_units_and_flags(tmp_path, dataset, name):
    store.write(dataset, tmp_path / name)
    opener = xr.open_zarr if name.endswith("zarr") else xr.open_dataset
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with opener(tmp_path / name) as seen:
            np.testing.assert_array_equal(
                seen["overlap_max"].sel(direction="down", beta=4.0),
                dataset["overlap_max"].sel(direction="down", beta=4.0),
            )
            assert seen["jumped"].dtype == bool
            assert seen["overlap_max"].attrs["long_name"] == dataset["overlap_max"].attrs["long_name"]
            flags = seen["status"].attrs["flag_values"]
            assert np.asarray(flags).tolist() == dataset["status"].attrs["flag_values"]
            if name.endswith("nc"):
                assert flags.dtype == seen["status"].dtype


def test_writing_again_leaves_nothing_of_the_old_content(tmp_path, dataset):
    store.write(dataset, tmp_path / "data.zarr")
    store.write(dataset.drop_vars(["state", "component"]), tmp_path / "data.zarr")
    assert "state" not in store.open(tmp_path / "data.zarr")
    assert not (tmp_path / "data.zarr" / "state").exists()
    assert names(tmp_path) == ["data.zarr"]


def test_writing_changes_nothing_in_memory(tmp_path, dataset):
    before = dataset.copy(deep=True)
    for name in FORMATS:
        store.write(dataset, tmp_path / name)
    xr.testing.assert_identical(dataset, before)
    assert dataset["overlap_max"].encoding == {}


# Refusals


@pytest.mark.parametrize("name", ["data", "data.h5", "data.zarr.zip"])
def test_other_endings_are_refused(tmp_path, dataset, name):
    assert "ends in" in complaint(lambda: store.write(dataset, tmp_path / name))


def test_what_is_not_ours_is_never_replaced(tmp_path, dataset):
    folder, file = tmp_path / "a.zarr", tmp_path / "b.zarr"
    folder.mkdir()
    (folder / "thesis.tex").write_text("x")
    file.write_text("x")
    (tmp_path / "c.nc").mkdir()
    assert "holds other files" in complaint(lambda: store.write(dataset, folder))
    assert "of another kind" in complaint(lambda: store.write(dataset, file))
    assert "of another kind" in complaint(lambda: store.write(dataset, tmp_path / "c.nc"))
    assert (folder / "thesis.tex").read_text() == file.read_text() == "x"


def test_what_is_not_a_sweep_is_not_written(tmp_path, dataset):
    message = complaint(lambda: store.write(dataset.drop_vars("ipr"), tmp_path / "data.zarr"))
    assert "ipr is missing" in message
    assert names(tmp_path) == []


@contextlib.contextmanager
def disk_of(size):
    """Let no file grow beyond `size`, which looks like a full disk to whoever writes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("size", [0, 500])
def test_a_full_disk_leaves_what_was_there(tmp_path, dataset, name, size):
    message = complaint(lambda: write_full_of(dataset, tmp_path / name, size), OutputError)
    assert message == f"cannot write {tmp_path / name}: File too large"
    assert names(tmp_path) == []
    store.write(dataset, tmp_path / name)
    complaint(lambda: write_full_of(dataset.assign_attrs(M=31), tmp_path / name, size), OutputError)
    assert names(tmp_path) == [name]
    xr.testing.assert_identical(store.open(tmp_path / name), dataset)


def write_full_of(dataset, path, size):
    with disk_of(size):
        store.write(dataset, path)


@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_that_is_missing_or_a_file_is_one_line(tmp_path, dataset, name):
    (tmp_path / "file").write_text("x")
    for parent in ("missing", "file"):
        message = complaint(lambda parent=parent: store.write(dataset, tmp_path / parent / name), OutputError)
        assert message == f"cannot write {tmp_path / parent / name}: {tmp_path / parent} is not a folder"
    assert names(tmp_path) == ["file"]


# Torn, damaged and hostile files


def test_a_newer_schema_is_refused_and_says_what_to_do(tmp_path, dataset):
    path = tmp_path / "data.zarr"
    store.write(dataset, path)
    edit_json(path / "zarr.json", lambda meta: meta["attributes"].update(schema_version=99))
    message = complaint(lambda: store.open(path))
    assert "schema version 99 is newer" in message
    assert "update hopfieldphase" in message


def edit_json(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_files_that_are_not_ours_are_refused(tmp_path):
    plain = xr.Dataset({"a": ("beta", [1.0, 2.0])}, coords={"beta": [1.0, 2.0]})
    plain.to_netcdf(tmp_path / "plain.nc", engine="h5netcdf")
    plain.to_zarr(tmp_path / "plain.zarr", zarr_format=3, consolidated=False)
    plain.to_zarr(tmp_path / "old.zarr", zarr_format=2)
    (tmp_path / "empty.zarr").mkdir()
    (tmp_path / "empty.nc").touch()
    (tmp_path / "text.nc").write_text("β = 3\n" * 99, encoding="utf-8")
    os.mkfifo(tmp_path / "pipe.nc")
    for name in [*names(tmp_path), "missing.nc"]:
        message = complaint(lambda name=name: store.open(tmp_path / name))
        assert str(tmp_path / name) in message
    assert "does not exist" in message


def test_no_truncated_netcdf_file_is_taken_as_whole(tmp_path, dataset):
    path = tmp_path / "data.nc"
    store.write(dataset, path)
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 25).astype(int):
        path.write_bytes(whole[:length])
        assert "cannot read" in complaint(lambda: store.open(path))


@pytest.mark.filterwarnings("default")  # as users have it
def test_no_zarr_folder_with_a_missing_file_is_taken_as_whole(tmp_path, dataset):
    path = tmp_path / "data.zarr"
    store.write(dataset, path)
    files = [file for file in path.rglob("*") if file.is_file()]
    assert len(files) > 30
    for file in files:
        content = file.read_bytes()
        file.unlink()
        message = complaint(lambda: store.open(path))
        assert str(path) in message
        file.write_bytes(content)
    xr.testing.assert_identical(store.open(path), dataset)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_no_flipped_byte_changes_the_data(tmp_path, dataset, name):
    path = tmp_path / name
    store.write(dataset, path)
    files = [file for file in path.rglob("*") if file.is_file() and file.name != "zarr.json"] or [path]
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(40):
        file = files[rng.integers(len(files))]
        content = file.read_bytes()
        place = rng.integers(len(content))
        file.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            read = store.open(path)
        except InputError:
            refused += 1
        else:
            assert all(np.array_equal(read[key].values, dataset[key].values) for key in dataset.data_vars)
        file.write_bytes(content)
    assert refused > 0


def hostile_shape(path):
    edit_json(path / "ipr" / "zarr.json", lambda meta: meta.update(shape=[10**9, 10**9, 10**9]))


def hostile_chunks(path):
    def change(meta):
        meta.update(shape=[2, 2, 10**15])
        meta["chunk_grid"]["configuration"]["chunk_shape"] = [1, 1, 1]

    edit_json(path / "ipr" / "zarr.json", change)


def hostile_fill(path):
    # One chunk that claims to hold more than any memory.
    def change(meta):
        meta.update(shape=[2, 2, 10**16])
        meta["chunk_grid"]["configuration"]["chunk_shape"] = [2, 2, 10**16]

    edit_json(path / "ipr" / "zarr.json", change)


def hostile_nesting(path):
    (path / "zarr.json").write_text("[" * 10**6)


def hostile_attribute(path):
    edit_json(path / "zarr.json", lambda meta: meta["attributes"].update(M="json:" + "[" * 10**6))


def hostile_codec(path):
    edit_json(path / "ipr" / "zarr.json", lambda meta: meta.update(codecs=[{"name": "numcodecs.pickle"}]))


def hostile_link(path):
    shutil.rmtree(path / "ipr")
    (path / "ipr").symlink_to(path)


def hostile_units(path):
    def change(meta):
        meta["attributes"].update(scale_factor="x", units="days since yesterday")

    edit_json(path / "ipr" / "zarr.json", change)


@pytest.mark.parametrize(
    "spoil",
    [
        hostile_shape,
        hostile_chunks,
        hostile_fill,
        hostile_nesting,
        hostile_attribute,
        hostile_codec,
        hostile_link,
        hostile_units,
    ],
)
def test_hostile_zarr_metadata_gives_one_line(tmp_path, dataset, spoil):
    path = tmp_path / "data.zarr"
    store.write(dataset, path)
    spoil(path)
    assert complaint(lambda: store.open(path)).startswith(f"cannot read {path}: ")
