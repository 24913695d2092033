"""Any study file is a spec or one short line: no other exception, whatever stands in it."""

import datetime as dt
import math
import string

import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.studies import STUDIES, load, read_spec

LONGEST = 900
"""Characters of a message, with the names of every option of a study."""

# Values that went wrong in some program before.
HARD = [
    0, -1, 2**63 - 1, 2**63, 10**400, 1e-300, 1e308, math.inf, -math.inf, math.nan, True, "", "all", "mean",
    "pattern:0", "pattern:" + "9" * 5000, "20:60:20", "1:2:1e-300", "0.1:1e300:x1.0000001", "1::", "1,,2",
    "1e999999999", "-1:1:0.5", "é\x00\x1b[31m", "1" * 5000, [], [[1], [2, 3]], [1.0, math.nan], {}, {"a": {}},
    {"name": "topk"}, {"name": []}, {"generator": []}, {"path": "none.npy"}, {"path": ""}, {"M": "x"},
    {"generator": "two_keys", "epsilon": 0.5}, {"generator": "gaussian", "M": 3, "d": 2}, ["all", "all"],
    dt.date(2020, 1, 1), dt.time(1, 2), dt.datetime(2020, 1, 1),
]  # fmt: skip
SCALARS = st.one_of(
    st.sampled_from(HARD),
    st.booleans(),
    st.integers(-(10**25), 10**25),
    st.floats(),
    st.text(max_size=20),
    st.text(string.digits + ":,x.e-", max_size=16),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
# Options that no spec has, some of them names of Python's own.
STRANGE = st.sampled_from(["self", "cls", "options", "reduced", "model_config", "data", "", "é", "__init__"])


@st.composite
def study_files(draw):
    """The text of a study file that names a study, with some of its options at any value."""
    name = draw(st.sampled_from(list(STUDIES)))
    fields = [field for field in load(STUDIES[name].spec).model_fields if field != "study"]
    keys = draw(st.lists(st.one_of(st.sampled_from(fields), STRANGE), max_size=4, unique=True))
    return {"study": name} | {key: draw(VALUES) for key in keys}


def check(file, reduced=False):
    """Read a study file, as every command does; what is a spec reads back equal."""
    try:
        spec = read_spec(file, reduced=reduced)
        assert "\n" not in getattr(spec, "headline", "")
        text = spec.to_toml()
        if spec.is_resolved:
            assert spec.default_folder.name.startswith(spec.study)
    except InputError as error:
        message = str(error)
        assert message.isprintable()
        assert len(message) < LONGEST + len(str(file))
    else:
        file.write_text(text, encoding="utf-8")
        assert read_spec(file) == spec


def check_options(file, options):
    try:
        text = tomli_w.dumps(options)
    except ValueError:  # a whole number of so many digits that Python does not write it
        return
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
    check(file)


@given(study_files())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_some_study_files(tmp_path, options):
    check_options(tmp_path / "study.toml", options)


@pytest.mark.slow
@given(study_files())
@settings(max_examples=600, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_many_study_files(tmp_path, options):
    check_options(tmp_path / "study.toml", options)


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_every_option_at_every_hard_value(tmp_path, name):
    for field in load(STUDIES[name].spec).model_fields:
        for value in HARD:
            check_options(tmp_path / "study.toml", {"study": name, field: value})


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_as_a_study_file(tmp_path, content):
    (tmp_path / "study.toml").write_bytes(content)
    check(tmp_path / "study.toml", reduced=True)


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 10**5,
        "a = " + "{a=" * 10**4,
        ".".join("a" * 10**4) + " = 1",
        "study = []",
        "study = {a = 1}",
        "study = 'sweep-beta'\nreduced = 3",
        "study = 'sweep-beta'\nM = 0x" + "f" * 10**4,
        "study = 'sweep-beta'\nself = 1",
        "study = 'grid'\n[grid]\nM = [0x" + "f" * 400 + "]",
        "study = 'loops'\ncubic = 1e308",
        "study = 'structure-beta'\n[patterns]\npath = 'none.npy'",
        "study = 'structure-beta'\nattention = {name = []}",
        "study = 'capacity'\ntasks = [1, 2]",
        "study = 'operators'\nkernels = 3",
        "study = 'operators'\npoints = " + "9" * 40,
    ],
    ids=range(15),
)
def test_study_files_that_once_failed(tmp_path, text):
    (tmp_path / "study.toml").write_text(text)
    check(tmp_path / "study.toml", reduced=True)
