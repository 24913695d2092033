"""What measuring the claims of Appendix D gives: their verdicts, and the numbers that decide them."""

import pytest

from hopfieldphase.runs.reproduction import appendix_d, appendix_d1
from hopfieldphase.runs.reproduction.record import Verdict

CLAIMS = appendix_d1.CLAIMS + appendix_d.CLAIMS
NOT_HOLDING = {
    "d-two-loop-proof": Verdict.READING,
    "d-zero-temperature": Verdict.READING,
    "d-sharper": Verdict.READING,
    "d-normalisation-growth": Verdict.FAILS,
    "d-hard-argmax-simplex": Verdict.FAILS,
}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_verdict(claim):
    finding = claim()
    assert finding.verdict == NOT_HOLDING.get(claim.name, Verdict.HOLDS)
    assert finding.numbers
    assert "nan" not in finding.sentence


def test_names_are_unique():
    assert len({claim.name for claim in CLAIMS}) == len(CLAIMS)
