"""The claims of Appendix E and Section G.1: verdicts, and sentences made of finite numbers."""

import math

import numpy as np
import pytest

from hopfieldphase.runs.reproduction import appendix_e, appendix_e2, appendix_g1
from hopfieldphase.runs.reproduction.record import Verdict

HOLDS, READING, FAILS = Verdict.HOLDS, Verdict.READING, Verdict.FAILS

VERDICTS = {
    "e-gradient-flow": HOLDS,
    "e-converges-to-a-set": READING,
    "e-projection-degeneracy": HOLDS,
    "e-stability-modulo-degeneracy": HOLDS,
    "e-kernel-premise": READING,
    "e-step-bound": HOLDS,
    "e-mode-rates": HOLDS,
    "e-basin": READING,
    "e-symmetry-degeneracy": READING,
    "e-scores-and-states": HOLDS,
    "e-score-jacobian": HOLDS,
    "e-spectral-radius": HOLDS,
    "e-update-no-gradient": READING,
    "e-divergence-limit": HOLDS,
    "e-divergence-bounds": HOLDS,
    "e-divergence-scores": READING,
    "e-divergence-interior": READING,
    "e-divergence-hidden": READING,
    "figure-10a-critical-step": HOLDS,
    "figure-10-soft-direction": READING,
    "figure-10b-overlap": HOLDS,
    "figure-11a-critical-step": HOLDS,
    "figure-11a-larger-steps": FAILS,
    "figure-11a-two-stages": HOLDS,
    "figure-11a-mode-coordinates": READING,
    "figure-11a-seed": FAILS,
    "figure-11b-overlap": HOLDS,
}
CLAIMS = {claim.name: claim for part in (appendix_e, appendix_e2, appendix_g1) for claim in part.CLAIMS}


def test_every_claim_has_its_verdict_here():
    assert set(CLAIMS) == set(VERDICTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", VERDICTS)
def test_a_claim_is_measured(name):
    finding = CLAIMS[name]()
    assert finding.verdict is VERDICTS[name], finding.sentence
    assert all(math.isfinite(number) for number in finding.numbers.values())
    assert "nan" not in finding.sentence.split()
    assert finding.sentence.count("$") % 2 == CLAIMS[name].statement.count("$") % 2 == 0


# Other numbers give other verdicts.


def altered_path(monkeypatch, change):
    right = appendix_g1._path
    monkeypatch.setattr(appendix_g1, "_path", lambda *which: change(right(*which)))


def test_overlaps_that_miss_one_over_d_fail(monkeypatch):
    altered_path(monkeypatch, lambda path: path * (1 + 1e-6))
    assert appendix_g1.sparse_overlap().verdict is FAILS


def test_a_distance_that_only_grows_does_not_decay_first(monkeypatch):
    altered_path(monkeypatch, np.sort)
    assert appendix_g1.dense_critical_step().verdict is FAILS


def test_a_drift_at_the_critical_step_is_not_marginal(monkeypatch):
    altered_path(monkeypatch, lambda path: path * 0.99 ** np.arange(path.size))
    assert appendix_g1.sparse_critical_step().verdict is FAILS


def test_overlaps_without_alternation_do_not_oscillate(monkeypatch):
    altered_path(monkeypatch, np.sort)
    assert appendix_g1.dense_overlap().verdict is FAILS
