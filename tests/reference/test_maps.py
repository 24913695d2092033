"""Attention maps against values computed with 40 digits."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hopfieldphase.core import entmax

MAPS = json.loads((Path(__file__).parent / "values.json").read_text(encoding="utf-8"))["maps"]
WEIGHTS = 1e-12  # absolute: at a tie with θ the smallest weight is rounding (2e-33 in the file)
THETA = 1e-12  # relative: θ diverges as α → 1


@pytest.fixture(params=MAPS, ids=lambda row: f"alpha={row['alpha']}-beta={row['beta']}-{row['z']}")
def row(request):
    return request.param


def test_weights(row):
    p = entmax.weights(np.asarray(row["z"]), row["alpha"], row["beta"])
    np.testing.assert_allclose(p, row["weights"], rtol=0, atol=WEIGHTS)


def test_conjugate(row):
    value = entmax.conjugate(np.asarray(row["z"]), row["alpha"], row["beta"])
    assert abs(value - row["conjugate"]) <= WEIGHTS


def test_threshold(row):
    theta = entmax.threshold(np.asarray(row["z"]), row["alpha"], row["beta"])
    if row["theta"] is None:
        assert math.isnan(theta)
    else:
        assert abs(theta - row["theta"]) <= THETA * abs(row["theta"])


def test_the_file_covers_every_range_of_the_index():
    assert {0.5, 1, 1.25, 1.5, 2, 2.5, 3} <= {row["alpha"] for row in MAPS}
