"""Any bytes as a file of patterns or of results: data or one short line, and the file stays as it was."""

import json
import shutil
import zipfile
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
import xarray as xr
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.patterns_io import load

KINDS = ["npy", "npz", "csv", "nc"]
READERS = {"patterns": load, "results": store.open}
IN_FOLDER = [HealthCheck.function_scoped_fixture]


@cache
def good(kind):
    """The bytes of a sound file with a few patterns."""
    rows = np.arange(1.0, 13.0).reshape(4, 3)
    file = Path(mkdtemp()) / f"keys.{kind}"
    if kind == "npy":
        np.save(file, rows)
    elif kind == "npz":
        np.savez_compressed(file, keys=rows)
    elif kind == "csv":
        np.savetxt(file, rows, delimiter=",")
    else:
        xr.Dataset({"keys": (("a", "b"), rows)}, {"a": np.arange(4.0)}).to_netcdf(file, engine="h5netcdf")
    content = file.read_bytes()
    shutil.rmtree(file.parent)
    return content


@st.composite
def spoiled(draw, content):
    """Sound bytes, some of them overwritten, and a part cut out or doubled."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(changed) - 1))
        changed[place : place + 4] = draw(st.one_of(st.binary(max_size=8), st.just(b"\xff" * 8)))
        if not changed:
            return b""
    start, stop = sorted(draw(st.integers(0, len(changed))) for _ in range(2))
    return bytes(draw(st.sampled_from([changed, changed[:stop], changed[:start] + changed[stop:]])))


def is_short_line(message, path):
    assert message.isprintable()
    assert len(message) < 900 + len(str(path))


def check(file, content, reader):
    """Read a file: an array of numbers or a line, and nothing changes."""
    file.write_bytes(content)
    try:
        found = reader(file)
        if reader is load:
            assert np.all(np.isfinite(found[:]))
    except InputError as error:
        message = str(error)
        is_short_line(message, file)
    assert file.read_bytes() == content
    assert [entry.name for entry in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=25, suppress_health_check=IN_FOLDER)
def test_some_spoiled_files(tmp_path, kind, data):
    check(tmp_path / f"keys.{kind}", data.draw(spoiled(good(kind))), load)


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(max_examples=120, suppress_health_check=IN_FOLDER)
def test_many_spoiled_files(tmp_path, kind, reader, data):
    check(tmp_path / f"keys.{kind}", data.draw(spoiled(good(kind))), reader)


@pytest.mark.parametrize("kind", KINDS)
@given(content=st.one_of(st.binary(max_size=64), st.text("0123456789,.-+e#\n \"'naif", max_size=64)))
@settings(max_examples=25, suppress_health_check=IN_FOLDER)
def test_any_bytes(tmp_path, kind, content):
    check(tmp_path / f"keys.{kind}", content if isinstance(content, bytes) else content.encode(), load)


@given(data=st.data())
@settings(max_examples=40, suppress_health_check=IN_FOLDER)
def test_any_array_in_an_archive(tmp_path, data):
    """The checksum of an archive lets few changes through: its member is spoiled before it is packed."""
    with zipfile.ZipFile(tmp_path / "packed", "w") as archive:
        archive.writestr("keys.npy", data.draw(spoiled(good("npy"))))
    content = (tmp_path / "packed").read_bytes()
    (tmp_path / "packed").unlink()
    check(tmp_path / "keys.npz", content, load)


METADATA = st.recursive(
    st.sampled_from(
        [None, True, -1, 0, 1, 2, 2**63, 10**15, 0.5, "", "a", "float64", "default", "NaN", "zstd"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "configuration", "chunk_shape", "id"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def check_zarr(folder, data):
    """An array whose metadata has some values replaced, with one of its files cut."""
    path = folder / "keys.zarr"
    shutil.rmtree(path, ignore_errors=True)
    zarr.create_array(path, shape=(4, 3), chunks=(2, 3), dtype="f8")[:] = np.arange(1.0, 13.0).reshape(4, 3)
    metadata = json.loads((path / "zarr.json").read_text())
    for name in data.draw(st.lists(st.sampled_from(sorted(metadata)), max_size=2)):
        metadata[name] = data.draw(METADATA)
    (path / "zarr.json").write_text(json.dumps(metadata))
    if data.draw(st.booleans()):
        chunk = path / "c" / "0" / "0"
        chunk.write_bytes(data.draw(spoiled(chunk.read_bytes())))
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    for reader in READERS.values():
        try:
            found = reader(path)
            assert reader is load
            assert np.all(np.isfinite(found[:]))
        except InputError as error:
            message = str(error)
            is_short_line(message, path)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before


@given(data=st.data())
@settings(max_examples=15, suppress_health_check=IN_FOLDER)
def test_some_zarr_folders(tmp_path, data):
    check_zarr(tmp_path, data)


@pytest.mark.slow
@given(data=st.data())
@settings(max_examples=120, suppress_health_check=IN_FOLDER)
def test_many_zarr_folders(tmp_path, data):
    check_zarr(tmp_path, data)
