"""Tasks over threads: results in order, and news of long tasks."""

import time

import pytest

from hopfieldphase.core.patterns import sequence
from hopfieldphase.runs import parallel
from hopfieldphase.runs.kappa import sweep_kappa
from hopfieldphase.runs.parallel import run_parts


def test_parts_of_tasks_add_up_and_never_fall(monkeypatch):
    monkeypatch.setattr(parallel, "_NEWS_AFTER", 0.0)
    told = []

    def task(i, tell):
        for part in (0.25, 0.5, 0.75):
            tell(part)
            time.sleep(1e-3)
        return i

    assert run_parts(task, 3, 2, lambda done, total: told.append((done, total))) == [0, 1, 2]
    shares = [done for done, _ in told]
    assert shares == sorted(shares)
    assert {0.25, 3.0} <= set(shares)
    assert {total for _, total in told} == {3}


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_a_sweep_in_the_load_tells_of_its_work_in_patterns(monkeypatch, alpha):
    monkeypatch.setattr(parallel, "_NEWS_AFTER", 0.0)
    told = []
    row = sequence("clustered", 16)
    sweep_kappa(row, "0.1:0.35:0.05", 60.0, alpha, threads=1, progress=lambda done, _: told.append(done))
    assert told[-1] == 2
    assert told == sorted(told)
    up = [done for done in told if done < 1]
    assert len(up) > 5
    # half of the work is done where half of the patterns are, not half of the range in the logarithm
    assert 0.0 <= min(up) < 0.2
