"""The claims of Section 2 and Appendices B and C: verdicts, and sentences made of finite numbers."""

import math

import pytest

from hopfieldphase.runs.reproduction import appendix_b, section_2
from hopfieldphase.runs.reproduction.record import Verdict

HOLDS, SCANNED, READING = Verdict.HOLDS, Verdict.SCANNED, Verdict.READING

VERDICTS = {
    "b-descent": HOLDS,
    "b-energy-overlap": HOLDS,
    "b-overlap-rises": READING,
    "b-frustrated-triangle": HOLDS,
    "b-several-patterns": READING,
    "b-attractors": SCANNED,
    "b-one-pattern-free-energy": READING,
    "b-large-d": HOLDS,
    "b-one-pattern-transition": HOLDS,
    "b-metastability": HOLDS,
    "b-spinodal": HOLDS,
    "c-field-relation": HOLDS,
    "c-theorem-2-1": HOLDS,
    "c-theorem-2-1-conjugate": READING,
    "c-temperature-limits": READING,
    "c-source-selection": READING,
    "c-gradient-flow": HOLDS,
    "c-entropy-limits": HOLDS,
    "c-deformed-functions": HOLDS,
    "c-convexity": HOLDS,
    "c-finite-volume": HOLDS,
}
CLAIMS = {claim.name: claim for claim in (*appendix_b.CLAIMS, *section_2.CLAIMS)}


def test_every_claim_has_its_verdict_here():
    assert set(CLAIMS) == set(VERDICTS)


@pytest.mark.slow
@pytest.mark.parametrize("name", VERDICTS)
def test_a_claim_is_measured(name):
    finding = CLAIMS[name]()
    assert finding.verdict is VERDICTS[name]
    assert all(math.isfinite(number) for number in finding.numbers.values())
    assert name in CLAIMS[name].command
    assert finding.sentence.count("$") % 2 == 0
