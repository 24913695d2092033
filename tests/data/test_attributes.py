"""Attributes of every supported kind are written and read back equal, in both file formats."""

import datetime as dt
import enum
import json
import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.data import attributes, store
from hopfieldphase.data.build import sweep_dataset


class Level(enum.IntEnum):
    LOW = 3


class Word(enum.StrEnum):
    UP = "up"


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(dt.UTC))
    | st.times()
    | st.sampled_from(Status)
    | st.sampled_from([Level.LOW, Word.UP])
)
NUMPY = st.one_of(
    hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3), elements=elements)
    for dtype, elements in [
        (np.dtype(bool), None),
        (np.dtype("i4"), None),
        (np.dtype(">u8"), None),
        (np.dtype("f4"), st.floats(allow_nan=False, width=32)),
        (np.dtype("f8"), st.floats(allow_nan=False)),
        (np.dtype("M8[s]"), hnp.from_dtype(np.dtype("M8[s]"), allow_nan=False)),
        (np.dtype("U3"), None),
    ]
)
VALUES = st.recursive(
    SCALARS | NUMPY | NUMPY.map(lambda array: array.reshape(-1)[0] if array.size else None),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=5) | st.integers() | st.none(), inner, max_size=3)
    ),
    max_leaves=6,
)
ATTRS = st.dictionaries(st.from_regex(r"[A-Za-z][A-Za-z0-9_.-]{0,8}", fullmatch=True), VALUES, max_size=4)


def same(a, b):
    """Whether what was read, `a`, equals what was written in value and, other enumerations apart, in type."""
    if isinstance(b, enum.Enum) and not isinstance(b, Status):
        return a == b
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | np.generic):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, float):
        return a == b and math.copysign(1, a) == math.copysign(1, b)
    return a == b


@settings(deadline=None)
@given(ATTRS)
def test_encoding_is_inverted_by_decoding(attrs):
    encoded = attributes.encode(attrs)
    assert same(attributes.decode(encoded), attrs)
    # What JSON and netCDF hold: text, numbers, lists of numbers; no NaN.
    assert json.loads(json.dumps(encoded, allow_nan=False)) == encoded


@pytest.fixture(scope="module")
def dataset(make_sweep):
    return sweep_dataset(make_sweep(points=3), {})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.zarr", "a.nc"])
def test_files_give_back_equal_attributes(tmp_path, dataset, name):
    # Shrinking would write a file at every step.
    phases = [Phase.explicit, Phase.reuse, Phase.generate]

    @settings(max_examples=25, deadline=None, phases=phases, suppress_health_check=[HealthCheck.too_slow])
    @given(ATTRS, ATTRS)
    def check(of_dataset, of_variable):
        written = dataset.copy()
        written.attrs = {"schema_version": 1} | of_dataset
        written["ipr"].attrs = of_variable
        store.write(written, tmp_path / name)
        read = store.open(tmp_path / name)
        assert same(read.attrs, written.attrs)
        assert same(read["ipr"].attrs, of_variable)

    check()


CASES = [
    None, True, {"a": None, 3: (1, [2.5])}, (), [], [1], {}, "", "json:", "\0", "ξ ∈ ℝ", " blank ", "a\r\nb",
    math.inf, -0.0, 2**63 - 1, 2**80, dt.date(2024, 2, 29), dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    np.float32(0.1), np.int8(-3), np.bool_(True), np.str_("text"), np.datetime64("2024-01-01"),
    Status.BOUNDARY, "x" * 100_000, list(range(2000)), np.arange(6.0).reshape(2, 3), np.array(7), ["a", "b"],
    [1, 2], [1, 2.0], [True, False],
]  # fmt: skip


@pytest.mark.parametrize("name", ["a.zarr", "a.nc"])
def test_named_cases_are_read_back_equal(tmp_path, dataset, name):
    cases = {f"case{i}": value for i, value in enumerate(CASES)}
    store.write(dataset.assign_attrs(cases), tmp_path / name)
    read = store.open(tmp_path / name).attrs
    assert [value for i, value in enumerate(CASES) if not same(read[f"case{i}"], value)] == []


@pytest.mark.parametrize("name", ["a.zarr", "a.nc"])
def test_plain_values_stay_readable_for_every_tool(tmp_path, dataset, name):
    plain = {"M": 100, "alpha": 2.0, "generator": "clustered", "range": [20.0, 400.0]}
    store.write(dataset.assign_attrs(plain), tmp_path / name)
    opener = xr.open_zarr if name.endswith("zarr") else xr.open_dataset
    with opener(tmp_path / name) as seen:
        assert {key: np.asarray(seen.attrs[key]).tolist() for key in plain} == plain


def test_not_a_number_survives():
    decoded = attributes.decode(attributes.encode({"a": math.nan, "b": (np.float32("nan"), [math.nan])}))
    assert math.isnan(decoded["a"])
    assert np.isnan(decoded["b"][0])
    assert math.isnan(decoded["b"][1][0])


class Colour(enum.Enum):
    RED = object()


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, b"bytes", 1j, Colour.RED, np.array([object()]), np.longdouble(1)]
)
def test_other_kinds_are_refused_by_name(value):
    with pytest.raises(InputError, match="attribute option"):
        attributes.encode({"option": [value]})


def test_a_value_that_contains_itself_is_refused():
    circle = []
    circle.append(circle)
    with pytest.raises(InputError, match="nested too deeply"):
        attributes.encode({"option": circle})


@pytest.mark.parametrize("name", ["", "_FillValue", "a/b", "a b", "é", 3, "coordinates", "CLASS", "a\0"])
def test_names_that_a_file_cannot_hold_are_refused(name):
    with pytest.raises(InputError, match="attribute name"):
        attributes.encode({name: 1})


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"!": "Status", "v": "NO_SUCH"}',
        '{"!": "os.system", "v": "true"}',
        '{"v": 1}',
        '{"!": "date", "v": "soon"}',
        '{"!": "date", "v": 3}',
        '{"!": "array", "dtype": "O", "shape": [1], "v": [1]}',
        '{"!": "array", "dtype": "f8", "shape": [3], "v": [1]}',
        '{"!": "array", "dtype": "U99999999999", "shape": [1], "v": ["a"]}',
        '{"!": "dict", "v": [[[], 1]]}',
        '{"!": ["list"], "v": 1}',
        "[" * 100_000,
    ],
    ids=lambda text: text[:40],
)
def test_damaged_text_gives_one_line(text):
    with pytest.raises(InputError, match="attribute a is damaged") as error:
        attributes.decode({"a": "json:" + text})
    assert "\n" not in str(error.value)
