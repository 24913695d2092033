"""Training on ensembles: its loss, schedule and data; repeatable, resumable, and not led astray."""

import dataclasses
import math
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

from hopfieldphase.core import distances
from hopfieldphase.core.ensembles import MatrixInverse, draw_instance
from hopfieldphase.core.errors import InputError
from hopfieldphase.learn import measure_cost
from hopfieldphase.learn.measure_cost import GIB, check_memory, measured_step, memory_needed
from hopfieldphase.learn.measure_data import Ensembles, MeasureData
from hopfieldphase.learn.measure_training import CLIP, MeasureTraining, Run, train_map

TINY = MeasureTraining(
    "linear-elu", points=24, batch=2, steps=8, warm_up=2, width=8, hidden=8, blocks=2, seed=5
)


def same(a, b):
    one, other = a.model.state_dict(), b.model.state_dict()
    return np.array_equal(a.losses, b.losses) and all(torch.equal(one[name], other[name]) for name in one)


class _Stop(Exception):
    pass


def stop_at(step):
    def progress(done, _):
        if done == step:
            raise _Stop

    return progress


def test_a_batch_is_drawn_trial_by_trial_from_the_laws_of_the_core():
    data = MeasureData("matrix-inverse", points=50, seed=7)
    batch = data.batch(3, 4)
    assert torch.equal(batch.inputs[:2], data.batch(3, 2).inputs)
    assert not torch.equal(batch.inputs, data.batch(4, 4).inputs)
    generator = np.random.default_rng(np.random.SeedSequence(7, spawn_key=(2, 3, 1)))
    drawn = draw_instance(MatrixInverse, "pareto", generator).ensembles(50, generator)
    np.testing.assert_array_equal(batch.inputs[1].numpy(), drawn.inputs.astype(np.float32))
    np.testing.assert_array_equal(batch.targets[1].numpy(), drawn.targets.astype(np.float32))


def test_the_loss_is_the_mean_energy_distance_of_the_core():
    drawn = TINY.data.batch(0, TINY.batch)
    with torch.no_grad():
        outputs = TINY.untrained()(drawn.inputs)
    expected = np.mean([distances.energy_distance(x, y) for x, y in zip(outputs, drawn.targets, strict=True)])
    assert train_map(TINY).losses[0] == pytest.approx(expected, rel=1e-4)  # float32


def test_the_rate_rises_and_follows_a_cosine_to_zero():
    plan = dataclasses.replace(TINY, steps=1002, warm_up=2, learning_rate=0.1)
    assert [plan.rate(step) for step in (0, 1, 2)] == pytest.approx([0.05, 0.1, 0.1])
    assert plan.rate(502) == pytest.approx(0.05)
    assert plan.rate(1001) == pytest.approx(0.05 * (1 - math.cos(math.pi / 1000)))


def test_it_learns():
    training = dataclasses.replace(TINY, family="gaussian", steps=80, width=16, learning_rate=1e-2)
    losses = train_map(training).losses
    assert np.median(losses[-20:]) < 0.6 * np.median(losses[:5])


def test_two_runs_of_one_seed_agree_to_the_last_bit():
    whole = train_map(TINY)
    assert same(whole, train_map(TINY))
    assert not same(whole, train_map(dataclasses.replace(TINY, seed=6)))


@pytest.mark.parametrize("step", [1, 5])
def test_a_stopped_run_goes_on_to_the_same_weights(tmp_path, step):
    file = tmp_path / "state.pt"
    with pytest.raises(_Stop):
        train_map(TINY, file, progress=stop_at(step), save_every=0)
    seen = []
    resumed = train_map(TINY, file, progress=lambda done, _: seen.append(done))
    assert seen[0] == step + 1
    assert same(resumed, train_map(TINY))
    again = train_map(TINY, file, progress=lambda *_: pytest.fail("trained again"))
    assert same(again, resumed)
    assert again.seconds_per_step == resumed.seconds_per_step > 0


_RUN = """
import sys
from dataclasses import replace
from pathlib import Path
import torch
from hopfieldphase.learn.measure_training import MeasureTraining, train_map
torch.set_num_threads(1)  # as here: sums of more threads are rounded otherwise
train_map(MeasureTraining(
    "linear-elu", points=24, batch=2, steps=100000, warm_up=2, width=8, hidden=8, blocks=2, seed=5
), Path(sys.argv[1]), save_every=0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_a_killed_process_leaves_a_whole_state(tmp_path, killed):
    state = torch.load(killed(_RUN), weights_only=True)
    done = len(state["record"]["losses"])
    assert 0 < done < 100000
    with pytest.raises(_Stop):
        train_map(
            dataclasses.replace(TINY, steps=100000),
            tmp_path / "direct.pt",
            progress=stop_at(done),
            save_every=0,
        )
    direct = torch.load(tmp_path / "direct.pt", weights_only=True)
    assert all(torch.equal(state["model"][name], tensor) for name, tensor in direct["model"].items())


def spoil(monkeypatch, steps):
    """Let the input of these steps have an infinite point."""
    batch = MeasureData.batch

    def spoilt(self, step, trials):
        drawn = batch(self, step, trials)
        if step in steps:
            drawn.inputs[0, 0, 0] = math.inf
        return Ensembles(drawn.inputs, drawn.targets)

    monkeypatch.setattr(MeasureData, "batch", spoilt)


def test_steps_that_are_not_finite_are_skipped_and_counted(tmp_path, monkeypatch):
    spoil(monkeypatch, {0, 3})
    run = Run(TINY, torch.device("cpu"))
    before = {name: tensor.clone() for name, tensor in run.model.state_dict().items()}
    value, taken = run.step(0)
    assert not math.isfinite(value)
    assert not taken
    assert all(torch.equal(before[name], tensor) for name, tensor in run.model.state_dict().items())
    assert run.step(1)[1]
    file = tmp_path / "state.pt"
    with pytest.raises(_Stop):
        train_map(TINY, file, progress=stop_at(5), save_every=0)
    found = train_map(TINY, file)
    assert found.skipped == 2  # counted on both sides of the stop
    assert np.isfinite(found.losses).tolist() == [step not in (0, 3) for step in range(8)]
    assert all(torch.isfinite(tensor).all() for tensor in found.model.state_dict().values())


def test_gradients_are_clipped(monkeypatch):
    norms = []
    clip = torch.nn.utils.clip_grad_norm_

    def spy(parameters, largest):
        parameters = list(parameters)
        before = clip(parameters, largest)
        norms.append(float(torch.sqrt(sum(p.grad.square().sum() for p in parameters))))
        return before

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", spy)
    train_map(dataclasses.replace(TINY, steps=3))
    assert len(norms) == 3
    assert max(norms) <= CLIP * (1 + 1e-5)


@pytest.mark.parametrize("change", [{"steps": 9}, {"kernel": "log-elu"}, {"learning_rate": 2e-3}])
def test_the_state_of_another_training_is_refused_and_stays(tmp_path, change):
    file = tmp_path / "state.pt"
    train_map(TINY, file)
    content = file.read_bytes()
    (name, value), old = next(iter(change.items())), getattr(TINY, next(iter(change)))
    with pytest.raises(InputError, match=f"of another training, with {name} = {old} and not {value}"):
        train_map(dataclasses.replace(TINY, **change), file)
    assert file.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b"torn"])
def test_a_damaged_state_is_refused_and_stays(tmp_path, content):
    file = tmp_path / "state.pt"
    file.write_bytes(content)
    with pytest.raises(InputError, match="no state of a training, or damaged"):
        train_map(TINY, file)
    assert file.read_bytes() == content


def test_memory_is_estimated():
    """The paper measured 69.4 GiB (softmax, half of it in 16 bits) and 78.8 GiB."""
    paper = memory_needed(MeasureTraining("log-elu")) / GIB
    assert 69.4 < paper < 1.1 * 78.8
    assert memory_needed(dataclasses.replace(TINY, points=48)) > memory_needed(TINY)


def test_what_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setattr(measure_cost, "available_memory", lambda device: 16 * GIB)
    check_memory(TINY, at_once=4)
    with pytest.raises(InputError, match=r"64 x 16384 points need about \d+ GiB, this machine has 16 GiB"):
        check_memory(MeasureTraining("log-elu"))


def test_a_step_is_measured():
    assert 0 < measured_step(TINY) < 10


@pytest.mark.slow
def test_the_peak_of_memory_is_that_of_this_process():
    """Linux lets a process begin with the peak of the one that started it."""
    largest = np.ones(2**28)
    code = "from hopfieldphase.learn.measure_cost import peak_memory; print(peak_memory())"
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 1e8 < float(child.stdout) < largest.nbytes / 2


def test_bad_input_is_named():
    with pytest.raises(InputError, match="operator = 'shift' is unknown: use sheared-swap, matrix-inverse"):
        dataclasses.replace(TINY, operator="shift")
    with pytest.raises(InputError, match="steps = 0"):
        dataclasses.replace(TINY, steps=0)
    with pytest.raises(InputError, match="device = 'tpu' is unknown: use cpu or cuda"):
        train_map(TINY, device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match="PyTorch sees no GPU"):
            train_map(TINY, device="cuda")
