"""Grids as text: exact values, one canonical form, one line for every mistake."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import MAX_POINTS, format_grid, parse_grid, suggest_grid


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("20:400:2", tuple(20.0 + 2 * i for i in range(191))),
        ("0.1:0.3:0.1", (0.1, 0.2, 0.3)),
        ("1:2:0.3", (1.0, 1.3, 1.6, 1.9)),
        ("5:5:1", (5.0,)),
        (" 1 : 3 : 1 ", (1.0, 2.0, 3.0)),
        ("1:8:x2", (1.0, 2.0, 4.0, 8.0)),
        ("0.5:5:x3", (0.5, 1.5, 4.5)),
        ("1e-3,2.5,7", (0.001, 2.5, 7.0)),
        ("290", (290.0,)),
    ],
)
def test_text_gives_exact_values(text, values):
    assert parse_grid(text) == values


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 99), st.integers(0, 300))
def test_points_of_a_range_are_the_nearest_doubles(start, step, count):
    """No rounding accumulates: every point is the double nearest to the exact decimal, the stop included."""
    first, rise = Fraction(start, 10), Fraction(step, 1000)
    stop = first + count * rise
    text = f"{start / 10}:{float(stop):.4f}:{step / 1000}"
    assert parse_grid(text) == tuple(float(first + i * rise) for i in range(count + 1))


def test_arrays_and_numbers_pass_unchanged():
    values = np.geomspace(0.3, 7.7, 23)
    assert parse_grid(values) == tuple(values.tolist())
    assert parse_grid(290) == (290.0,)


@settings(deadline=None)
@given(st.lists(st.floats(1e-300, 1e300), min_size=1, max_size=20, unique=True))
def test_canonical_text_reads_back_to_the_same_doubles(values):
    grid = tuple(sorted(values))
    assert parse_grid(format_grid(grid)) == grid


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("20:400:2", "20:400:2"),
        ("20.0:401:2e0", "20:400:2"),
        ("20,22,24,26", "20:26:2"),
        ("0.1:50:x1.05", "0.1:50:x1.05"),
        ("1,2,4,8", "1:8:x2"),
        ("1,2", "1,2"),
        ("3,4,7", "3,4,7"),
    ],
)
def test_equal_grids_have_one_canonical_text(text, canonical):
    assert format_grid(parse_grid(text)) == canonical


@pytest.mark.parametrize(
    ("grid", "complaint"),
    [
        ("", "is empty"),
        ([], "is empty"),
        ("400:20:2", "is reversed"),
        ("20:400:0", "step must be positive"),
        ("20:400:-2", "step must be positive"),
        ("-1:1:0.1", "contains -1, outside its domain (0, inf)"),
        ("0:8:x2", "does not ascend"),
        ("1:8:x1", "does not ascend"),
        ("1:8:x", "is not a number"),
        ("0,1", "contains 0"),
        ("nan", "not finite"),
        ("1:inf:1", "not finite"),
        ([1.0, math.nan], "contains nan"),
        ("1:2", "is not a range"),
        ("1:2:3:4", "is not a range"),
        ("a:b:c", "is not a number"),
        ("1,,2", "empty entry"),
        ("3,2,1", "not strictly ascending"),
        ("1,1", "not strictly ascending"),
        ([[1.0, 2.0]], "is not a list of numbers"),
        (["a"], "is not a list of numbers"),
        ("1:2:1e-12", f"more than {MAX_POINTS} points"),
        ("1:1e308:1e-300", f"more than {MAX_POINTS} points"),
        ("1:2:x1.000000000001", f"more than {MAX_POINTS} points"),
        ("1e999999999:2:1", "not finite"),
        ("1\n2", "is not a number"),
    ],
)
def test_mistakes_are_one_line(grid, complaint):
    with pytest.raises(InputError) as caught:
        parse_grid(grid, "betas")
    message = str(caught.value)
    assert complaint in message
    assert message.startswith("betas")
    assert "\n" not in message


@settings(deadline=None)
@given(st.floats(1e-8, 1e6), st.floats(1.0, 1e9))
def test_a_suggested_grid_covers_its_range(lower, ratio):
    upper = lower * ratio
    values = parse_grid(suggest_grid(lower, upper))
    assert values[-1] >= upper
    assert len(values) <= 400
    # The first point lies at or below the lower end, or is the first step of the grid above zero.
    assert values[0] <= lower or values[0] == pytest.approx(values[1] - values[0])
