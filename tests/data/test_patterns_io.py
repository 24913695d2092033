"""Pattern files: what is written is read back equal, and every bad file gives one clear line."""

import pickle
import sys

import numpy as np
import pytest
import xarray as xr
import zarr

from hopfieldphase import patterns
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns.blocks import StoredRows
from hopfieldphase.data import patterns_io
from hopfieldphase.data.patterns_io import digits, load, save

KINDS = ["npy", "npz", "csv", "nc"]


@pytest.fixture
def rows():
    return patterns.gaussian(7, 3, seed=1) * np.array([1e-9, 1.0, 1e9])


def complaint(call):
    with pytest.raises(InputError) as error:
        call()
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("kind", KINDS)
def test_written_patterns_are_read_back_equal(tmp_path, rows, kind):
    file = save(tmp_path / f"keys.{kind}", rows)
    np.testing.assert_array_equal(load(file), rows)
    np.testing.assert_array_equal(patterns.load(str(file)), rows)
    save(file, rows[:2])  # replaces, and leaves nothing else behind
    np.testing.assert_array_equal(load(file), rows[:2])
    assert [entry.name for entry in tmp_path.iterdir()] == [f"keys.{kind}"]


@pytest.mark.parametrize("kind", KINDS)
def test_unsound_patterns_are_not_written(tmp_path, kind):
    assert "row 1" in complaint(lambda: save(tmp_path / f"keys.{kind}", [[1.0], [0.0]]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", KINDS)
def test_missing_empty_and_damaged_files(tmp_path, kind):
    file = tmp_path / f"keys.{kind}"
    assert "does not exist" in complaint(lambda: load(file))
    file.touch()
    assert "empty" in complaint(lambda: load(file))
    file.write_bytes(b"\x93NUMPY not really\xff\xfe\x00\x01")
    message = complaint(lambda: load(file))
    assert file.name in message
    assert "damaged" in message or "not a text file" in message
    file.unlink()
    file.mkdir()
    assert "is not a file" in complaint(lambda: load(file))


@pytest.mark.parametrize("kind", ["npy", "npz", "nc"])
def test_torn_files(tmp_path, rows, kind):
    file = save(tmp_path / f"keys.{kind}", np.tile(rows, (50, 1)))
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])
    assert "damaged" in complaint(lambda: load(file))


@pytest.mark.parametrize("kind", ["npy", "npz", "nc"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (np.ones(4), "(4,)"),
        (np.ones((2, 2, 2)), "(2, 2, 2)"),
        (np.array([[1.0, np.nan]]), "row 0"),
        (np.array([[1.0], [0.0]]), "row 1"),
        (np.array([["a", "b"]]), "real numbers"),
    ],
)
def test_arrays_that_are_no_patterns(tmp_path, kind, content, words):
    file = tmp_path / f"keys.{kind}"
    if kind == "npy":
        np.save(file, content)
    elif kind == "npz":
        np.savez(file, keys=content)
    else:
        xr.DataArray(content, name="keys").to_netcdf(file, engine="h5netcdf")
    message = complaint(lambda: load(file))
    assert file.name in message
    assert words in message


def test_integers_and_single_precision_become_float64(tmp_path):
    for dtype in (np.uint8, np.int64, np.float32):
        np.save(tmp_path / "keys.npy", np.array([[0, 255], [1, 2]]).astype(dtype))
        array = load(tmp_path / "keys.npy")
        assert array.dtype == np.float64
        np.testing.assert_array_equal(array, [[0, 255], [1, 2]])


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_python_objects_are_never_unpickled(tmp_path, kind):
    file = tmp_path / f"keys.{kind}"
    content = np.array([[{}, 1]], dtype=object)
    if kind == "npy":
        np.save(file, content)
    else:
        np.savez(file, keys=content)
    assert "Python objects" in complaint(lambda: load(file))
    file.write_bytes(pickle.dumps([[1.0, 2.0]]))
    assert "no NumPy" in complaint(lambda: load(file))


def test_only_known_kinds_are_read_and_written(tmp_path, rows):
    message = complaint(lambda: load(tmp_path / "keys.mat"))
    assert "unknown kind" in message
    assert ".npy, .npz, .csv, .nc" in message
    assert "unknown kind" in complaint(lambda: save(tmp_path / "keys", rows))


def test_one_of_several_arrays_is_chosen_by_name(tmp_path, rows):
    np.savez(tmp_path / "keys.npz", first=rows, second=2 * rows)
    message = complaint(lambda: load(tmp_path / "keys.npz"))
    assert "2 arrays (first, second)" in message
    assert 'keys.npz:first"' in message
    np.testing.assert_array_equal(load(f"{tmp_path}/keys.npz:second"), 2 * rows)
    assert "no array 'third'" in complaint(lambda: load(f"{tmp_path}/keys.npz:third"))

    dims = ("pattern", "component")
    xr.Dataset({"first": (dims, rows), "second": (dims, 2 * rows)}).to_netcdf(
        tmp_path / "keys.nc", engine="h5netcdf"
    )
    assert "2 arrays (first, second)" in complaint(lambda: load(tmp_path / "keys.nc"))
    np.testing.assert_array_equal(load(f"{tmp_path}/keys.nc:second"), 2 * rows)
    assert "no array 'third'" in complaint(lambda: load(f"{tmp_path}/keys.nc:third"))


def test_a_netcdf_group_is_named_with_a_slash(tmp_path, rows):
    file = tmp_path / "sweep.nc"
    xr.Dataset({"overlap": ("beta", [1.0, 2.0])}).to_netcdf(file, engine="h5netcdf")
    xr.Dataset({"xi": (("pattern", "component"), rows)}).to_netcdf(
        file, mode="a", group="patterns", engine="h5netcdf"
    )
    np.testing.assert_array_equal(load(f"{file}:patterns/xi"), rows)
    assert "(2,)" in complaint(lambda: load(file))
    assert "no group 'pattern'" in complaint(lambda: load(f"{file}:pattern/xi"))


def test_an_archive_without_arrays(tmp_path):
    np.savez(tmp_path / "keys.npz")
    assert "0 arrays (none)" in complaint(lambda: load(tmp_path / "keys.npz"))


def test_a_colon_in_a_file_name_is_no_choice(tmp_path, rows):
    file = save(tmp_path / "a.npz:b.npy", rows)
    np.testing.assert_array_equal(load(file), rows)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("\ufeff1, 2\r\n3 ,4\r\n", [[1, 2], [3, 4]]),
        ("# made by hand\n1,2\n\n3,4 # last", [[1, 2], [3, 4]]),
        ("1,2", [[1, 2]]),
        ("1\n2\n", [[1], [2]]),
    ],
)
def test_tables_that_can_be_read(tmp_path, text, expected):
    (tmp_path / "keys.csv").write_text(text, encoding="utf-8", newline="")
    np.testing.assert_array_equal(load(tmp_path / "keys.csv"), expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x,y\n1,2\n", ["line 1, column 1", "'x'", "header"]),
        ("1,2\n3,abc\n", ["line 2, column 2", "'abc'"]),
        ("1,2\n\n# note\n3,\n", ["line 4, column 2", "''"]),
        ("1;2\n3;4\n", ["line 1, column 1", "'1;2'", "commas"]),
        ("1,2\n3,4,5\n", ["line 2", "3 values", "2"]),
        ("1,2\n3_0,4\n", ["not a table of numbers"]),
        ("# nothing\n\n", ["no numbers"]),
        ("1,nan\n", ["row 0", "NaN"]),
        ("1,2\n0,0\n", ["row 1", "zeros"]),
    ],
)
def test_tables_that_cannot(tmp_path, text, words):
    (tmp_path / "keys.csv").write_text(text, encoding="utf-8")
    message = complaint(lambda: load(tmp_path / "keys.csv"))
    for word in words:
        assert word in message


def test_a_table_in_another_encoding(tmp_path):
    (tmp_path / "keys.csv").write_bytes("1,2\n½,3\n".encode("latin-1"))
    assert "UTF-8" in complaint(lambda: load(tmp_path / "keys.csv"))


def test_a_missing_folder(tmp_path, rows):
    assert "does not exist" in complaint(lambda: save(tmp_path / "no" / "keys.npy", rows))


@pytest.mark.parametrize("kind", KINDS)
def test_a_write_that_fails_leaves_the_old_file(tmp_path, rows, kind, monkeypatch):
    file = save(tmp_path / f"keys.{kind}", rows)

    def refused(self, target):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.replace", refused)
    assert "cannot be written" in complaint(lambda: save(file, 2 * rows))
    np.testing.assert_array_equal(load(file), rows)
    assert [entry.name for entry in tmp_path.iterdir()] == [f"keys.{kind}"]


def test_an_unreadable_file(tmp_path, rows, monkeypatch):
    file = save(tmp_path / "keys.npy", rows)

    def refused(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(np, "load", refused)
    assert "cannot be read: Permission denied" in complaint(lambda: load(file))


def test_digits_are_the_raw_pixels():
    pytest.importorskip("sklearn")
    xi = digits()
    assert xi.shape == (1797, 64)
    assert (xi.min(), xi.max()) == (0, 16)
    assert patterns.duplicate_rows(xi) == []
    np.testing.assert_array_equal(xi[0, :8], [0, 0, 5, 13, 9, 1, 0, 0])


def test_digits_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    assert "pip install 'hopfieldphase[digits]'" in complaint(digits)


@pytest.mark.parametrize("kind", [".npy", ".zarr"])
def test_large_patterns_stay_on_disk(tmp_path, monkeypatch, kind):
    rows = np.random.default_rng(0).standard_normal((300, 6)).astype(np.float32)
    file = tmp_path / f"big{kind}"
    if kind == ".npy":
        np.save(file, rows)
    else:
        zarr.create_array(file, shape=rows.shape, chunks=(50, 6), dtype="f4")[:] = rows
    assert isinstance(load(file), np.ndarray)
    assert load(file).dtype == np.float64
    monkeypatch.setattr(patterns_io, "LARGE", 1000)
    stored = load(file)
    assert stored.dtype == np.float32
    assert isinstance(stored, StoredRows) or not stored.flags.owndata
    np.testing.assert_array_equal(stored[:], rows)


def test_zarr_groups_name_their_array_and_what_is_no_zarr_is_refused(tmp_path):
    group = zarr.open_group(tmp_path / "two.zarr", mode="w")
    for name in ("first", "second"):
        group.create_array(name, shape=(4, 3), dtype="f8")[:] = 1.0
    np.testing.assert_array_equal(load(f"{tmp_path}/two.zarr:second"), np.ones((4, 3)))
    assert "holds 2 arrays" in complaint(lambda: load(tmp_path / "two.zarr"))
    (tmp_path / "empty.zarr").mkdir()
    assert "no Zarr array" in complaint(lambda: load(tmp_path / "empty.zarr"))
