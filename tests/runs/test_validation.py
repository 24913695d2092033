"""Appendix G.4 as a study: formula and numerics agree, the estimator has the errors of its step."""

import numpy as np
import pytest

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.validation import errors, validation_lines, validation_summary
from hopfieldphase.runs.validation import validation
from hopfieldphase.runs.validation_spec import SupportsSpec, TwoKeysSpec

# Roots of the definitions, closed to rounding: a few units in the last place, times the slope of the root.
EXACT = 1e-13
# Rounding of Γ over h² = 4e-10 and the slope of the curvature.
DIFFERENCES = 1e-5

PAIRS = TwoKeysSpec(cosines=[0.0, 0.5, 0.85], rotations=2)
SUPPORTS = SupportsSpec(sizes=[3, 6], systems=2)


@pytest.fixture(scope="module", params=[PAIRS, SUPPORTS], ids=["two-keys", "supports"])
def tree(request):
    return validation(request.param)


def test_formula_and_numerics_agree(tree):
    found = errors(tree)
    assert ("coexistence" in found) == (tree.attrs["study"] == "two-keys")
    for name, error in found.items():
        assert float(error.max()) < (DIFFERENCES if name == "differences" else EXACT)


def test_the_estimator_is_worse_than_rounding_and_better_at_a_small_scale():
    unit, small = (validation(PAIRS.model_copy(update={"scale": s})) for s in (1.0, 0.25))
    worst = [float(errors(tree)["differences"].max()) for tree in (unit, small)]
    # Scores, and with them the rounding of Γ over the curvature, are smaller by s².
    assert 1e-8 < worst[1] < worst[0] / 3
    assert small["formula"].values == pytest.approx(unit["formula"].values * 16, rel=EXACT)


def test_it_is_written_read_and_put_in_words(tmp_path, tree):
    store.write(tree, tmp_path / "data.zarr")
    read = store.open(tmp_path / "data.zarr")
    assert read.identical(tree)
    summary = validation_summary(tree)
    assert read.hp.summary() == summary
    assert len(read.hp.plot()) == 2
    assert summary["unconverged"] == []
    assert max(map(len, validation_lines(summary))) <= 80


def test_a_missing_root_is_named(tree):
    broken = tree.copy()
    broken["spinodal"] = broken["spinodal"].where(np.arange(broken.sizes["system"]) > 0)
    assert validation_summary(broken)["unconverged"] == ["no root for 1 systems: spinodal"]


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: TwoKeysSpec(cosines=[1.0]), r"cosines = 1.0"),
        (lambda: TwoKeysSpec(cosines="0.5"), "is no list"),
        (lambda: TwoKeysSpec(rotation=5), "unknown key 'rotation'; the nearest is 'rotations'"),
        (lambda: SupportsSpec(sizes=[2]), "sizes = 2"),
        (lambda: SupportsSpec(sizes=[]), "sizes is empty"),
        (lambda: SupportsSpec(scale=0.0), "scale = 0"),
    ],
)
def test_wrong_options_are_refused(make, complaint):
    with pytest.raises(InputError, match=complaint):
        make()
