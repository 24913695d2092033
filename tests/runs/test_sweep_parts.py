"""Plain sweeps that are interrupted keep the realizations that were finished."""

from dataclasses import fields

import numpy as np
import pytest
import xarray as xr

import hopfieldphase as hp
from hopfieldphase.continuation.map_sweep import sweep_map
from hopfieldphase.core.attention.positive import LinearElu
from hopfieldphase.data import store
from hopfieldphase.runs.checkpoint import Checkpoint
from hopfieldphase.runs.folder import claim_folder
from hopfieldphase.runs.kappa import sweep_kappa_tree
from hopfieldphase.runs.kappa_spec import KappaSpec
from hopfieldphase.runs.specs import SweepSpec
from hopfieldphase.runs.sweep_parts import from_part, to_part
from hopfieldphase.runs.sweep_results import compute_result, kept_units, progress_units
from hopfieldphase.runs.sweeps import spec_model, spec_sweep, sweep_beta

SPEC = SweepSpec(alpha=1.5, betas="20:80:20", realizations=4, patterns={"M": 10, "d": 6}, keep_states=True)


def test_a_sweep_comes_back_bit_for_bit():
    map_model = hp.AttentionModel(hp.patterns.spherical(6, 4, seed=1), LinearElu())
    for sweep in (spec_sweep(SPEC, spec_model(SPEC, 1)), sweep_map(map_model, (1.0, 2.0))):
        again = from_part(to_part(sweep))
        for field in fields(sweep):
            first, second = getattr(sweep, field.name), getattr(again, field.name)
            assert type(first) is type(second), field.name
            if isinstance(first, np.ndarray):
                assert first.dtype == second.dtype
                np.testing.assert_array_equal(first, second)
            else:
                assert first == second


def test_a_sweep_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    monkeypatch.setenv("HOPFIELDPHASE_THREADS", "1")

    def interrupt(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with claim_folder(tmp_path):
        with pytest.raises(KeyboardInterrupt):
            compute_result(SPEC, tmp_path, progress=interrupt)
        kept = len(Checkpoint(tmp_path, SPEC.fingerprint).parts)
        assert kept >= 2
        news = []
        compute_result(SPEC, tmp_path, progress=lambda *done: news.append(done))
    assert news == [(done, 4) for done in range(kept + 1, 5)]
    found = hp.open(tmp_path / "data.zarr")
    plain = sweep_beta(SPEC)
    xr.testing.assert_identical(found.drop_attrs(), plain.drop_attrs())
    assert not list(tmp_path.glob(".checkpoint*"))


@pytest.mark.parametrize("start_up", ["mean", "continue"])
def test_a_sweep_in_the_load_keeps_its_directions(tmp_path, monkeypatch, start_up):
    monkeypatch.setenv("HOPFIELDPHASE_THREADS", "1")
    spec = KappaSpec(
        kappas="0.2:0.4:0.05",
        beta=60.0,
        realizations=2,
        patterns={"d": 12},
        keep_states=True,
        start_up=start_up,
    )

    def interrupt(done, total):
        assert total == 4
        if done >= 2:
            raise KeyboardInterrupt

    with claim_folder(tmp_path):
        with pytest.raises(KeyboardInterrupt):
            compute_result(spec, tmp_path, progress=interrupt)
        kept = kept_units(spec, tmp_path)
        assert 2 <= kept <= 4
        news = []
        compute_result(spec, tmp_path, progress=lambda *done: news.append(done))
    assert progress_units(spec) == ("sweeps", 4)
    assert all(done > kept for done, _ in news)
    found = store.open(tmp_path / "data.zarr")
    plain = sweep_kappa_tree(spec)
    for name in (".", "events"):
        xr.testing.assert_identical(
            found[name].to_dataset().drop_attrs(), plain[name].to_dataset().drop_attrs()
        )
    assert not list(tmp_path.glob(".checkpoint*"))
