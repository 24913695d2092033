"""The summary says what the sweeps show: every number checked against one that was put in."""

import json
import math

import numpy as np
import pytest

from hopfieldphase.core.status import Status
from hopfieldphase.data.build import sweep_dataset
from hopfieldphase.data.summary import dataset_hysteresis, summary_lines, sweep_summary
from hopfieldphase.phases.hysteresis import hysteresis

OPTIONS = {"alpha": 2.0, "M": 30, "d": 8}


@pytest.fixture
def sweeps(make_sweep):
    return [make_sweep(3, 6), make_sweep(5, 9)]


def text(dataset):
    lines = summary_lines(sweep_summary(dataset))
    assert all(len(line) <= 80 for line in lines)
    assert all(line.isascii() and line.isprintable() and line == line.rstrip() for line in lines)
    return " ".join(" ".join(lines).split())


def test_hysteresis_per_realization_and_over_all(sweeps):
    found = sweep_summary(sweep_dataset(sweeps, OPTIONS))
    assert (found["parameter"], found["realizations"]) == ("beta", 2)
    assert found["grid"] == {"first": 1.0, "last": 11.0, "points": 11}
    assert found["model"] == {"alpha": 2.0, "M": 30, "d": 8, "start_up": "mean", "start_down": "pattern:0"}
    loop = found["hysteresis"]
    assert loop["intervals"] == [[[3.0, 6.0]], [[5.0, 9.0]]]
    assert (loop["any"], loop["all"], loop["realizations"]) == ([[3.0, 9.0]], [[5.0, 6.0]], 2)
    assert loop["lower_edge"] == {"mean": 4.0, "std": 1.0}
    assert loop["upper_edge"] == {"mean": 7.5, "std": 1.5}
    assert loop["area"]["mean"] == pytest.approx(0.2 * 4.5)
    assert (loop["reach_first"], loop["reach_last"]) == (0, 0)
    assert found["jumps"]["up"] == [
        [{"before": 6.0, "after": 7.0, "size": pytest.approx(0.2)}],
        [{"before": 9.0, "after": 10.0, "size": pytest.approx(0.2)}],
    ]
    assert found["jumps"]["down"][1] == [{"before": 5.0, "after": 4.0, "size": pytest.approx(-0.2)}]


def test_loops_of_a_dataset_are_those_of_its_arrays(sweeps):
    expected = [hysteresis(s.values, s.free_energy, s.overlap_max, s.jumped) for s in sweeps]
    dataset = sweep_dataset(sweeps, OPTIONS)
    assert dataset_hysteresis(dataset) == expected
    assert dataset_hysteresis(sweep_dataset(sweeps[1], OPTIONS)) == expected[1:]
    # A tolerance above the gap in both observables makes the sweeps agree.
    assert [loop.intervals for loop in dataset_hysteresis(dataset, tolerance=0.9)] == [(), ()]


def test_saturation_and_the_worst_point(make_sweep):
    first, second = make_sweep(), make_sweep()
    second.overlap_max[0, -1] = 0.4 * (1 - 1e-3)
    second.residual[1, 3] = 1e-7
    found = sweep_summary(sweep_dataset([first, second], OPTIONS))
    assert found["saturation"]["down"] == {"mean": pytest.approx(0.4), "std": pytest.approx(0, abs=1e-15)}
    assert found["saturation"]["up"]["mean"] == pytest.approx(0.4 * (1 - 5e-4))
    assert found["saturation"]["relative_gap"] == pytest.approx(1e-3)
    assert found["worst_residual"] == {"value": 1e-7, "realization": 1, "direction": "down", "beta": 4.0}


def test_points_are_counted_by_status(make_sweep):
    sweep = make_sweep()
    sweep.status[0, :3] = Status.BOUNDARY
    sweep.status[1, 0] = Status.SADDLE_NOT_ESCAPED
    found = sweep_summary(sweep_dataset([sweep, make_sweep()], OPTIONS))
    assert (found["points"], found["verified_minima"]) == (44, 40)
    assert found["statuses"] == {"converged": 40, "boundary": 3, "saddle_not_escaped": 1}


@pytest.mark.parametrize("alpha", [2.0, math.inf, None])
def test_the_summary_is_json_whatever_the_data(make_sweep, alpha):
    sweep = make_sweep()
    for name in ("overlap_max", "free_energy", "residual"):
        getattr(sweep, name)[0, -1] = np.nan
    sweep.status[0, -1] = Status.BAD_INPUT
    dataset = sweep_dataset([sweep, make_sweep(7, 6)], {"alpha": alpha} if alpha else {})
    found = sweep_summary(dataset)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["worst_residual"] == {"value": None, "realization": 0, "direction": "up", "beta": 11.0}
    assert found["saturation"]["relative_gap"] is None
    assert "not a number at beta = 11 up in realization 0" in text(dataset)


def test_the_words_say_the_numbers(sweeps):
    said = text(sweep_dataset(sweeps, OPTIONS))
    for part in (
        "alpha = 2, M = 30, d = 8, 2 realizations",
        "beta = 1 to 11, 11 values; up from mean, down from pattern:0",
        "in 2 of 2 realizations",
        "in any realization: beta = 3 to 9; in all of them: beta = 5 to 6",
        "begins at beta = 4.0 +/- 1, ends at 7.5 +/- 1.5",
        "up: 1 in each realization; the largest of each at beta = 8.0 +/- 1.5, change of z_max 0.2",
        "down: 1 in each realization; the largest of each at beta = 3.5 +/- 1, change of z_max -0.2",
        "z_max at beta = 11: 0.4 up, 0.4 down",
        "a stored pattern has s^2 |xi|^2 = 0.4: every sweep ends in one, exactly",
        "44 of 44 points are verified minima",
        "1.0e-15",
        "all of unit norm",
    ):
        assert part in said


def test_the_words_for_a_single_realization(make_sweep):
    said = text(sweep_dataset(make_sweep(lower=0, upper=7), OPTIONS))
    assert "hysteresis beta = 1 to 7, where up and down differ in Gamma or z_max by more than 0.001" in said
    assert "it reaches the first beta of the grid" in said
    assert "up: 1; the largest at beta = 7.5, change of z_max 0.2" in said
    assert "down: none" in said
    assert "realization 0" not in said


def test_the_words_without_hysteresis(make_sweep):
    said = text(sweep_dataset([make_sweep(7, 6), make_sweep(8, 7)], OPTIONS))
    assert "hysteresis none: up and down nowhere differ" in said


def test_what_deserves_attention_is_said(make_sweep):
    sweep = make_sweep(pattern_norms=(3.0, 55.5), saturation=0.5, duplicates=2)
    sweep.status[0, 0] = Status.NO_PROGRESS
    said = text(sweep_dataset([sweep, make_sweep(0, 99)], OPTIONS))
    assert "not of unit norm: |xi| = 1 to 55.5; beta acts as beta |xi|^2" in said
    assert "duplicates: 2; equal patterns share their weight" in said
    assert "the others: 1 no progress" in said
    assert "in 1 of 2 it reaches the last beta of the grid" in said
    assert "up to 50 % away" in said


def test_long_lists_of_intervals_are_wrapped(make_sweep):
    sweep = make_sweep(points=200)
    sweep.overlap_max[:] = 0.4
    sweep.overlap_max[0, ::5] = 0.2
    sweep.free_energy[:] = -1.0
    sweep.jumped[:] = False
    said = text(sweep_dataset(sweep, OPTIONS))
    assert "beta = 1, 6, 11, 16" in said
