"""Training: repeatable, resumable after a kill, and it learns."""

import dataclasses
import signal

import numpy as np
import pytest
import torch

from hopfieldphase.core.errors import InputError
from hopfieldphase.learn.training import Training, train

SHORT = Training("selective", 1.5, steps=24, batch_size=4, loads=(4, 8))


def same(a, b):
    one, other = a.model.state_dict(), b.model.state_dict()
    return np.array_equal(a.losses, b.losses) and all(torch.equal(one[name], other[name]) for name in one)


def test_two_runs_of_one_seed_agree_to_the_last_bit():
    whole = train(SHORT)
    assert same(whole, train(SHORT))
    assert not same(whole, train(dataclasses.replace(SHORT, seed=1)))


class _Stop(Exception):
    pass


def stop_at(step):
    def progress(done, _):
        if done == step:
            raise _Stop

    return progress


@pytest.mark.parametrize("step", [1, 7, 23])
def test_a_stopped_run_goes_on_to_the_same_weights(tmp_path, step):
    file = tmp_path / "state.pt"
    with pytest.raises(_Stop):
        train(SHORT, file, progress=stop_at(step), save_every=0)
    seen = []
    resumed = train(SHORT, file, progress=lambda done, _: seen.append(done))
    assert seen[0] == step + 1
    assert same(resumed, train(SHORT))
    assert same(train(SHORT, file, progress=lambda *_: pytest.fail("trained again")), resumed)


_RUN = """
import sys
from pathlib import Path
import torch
from hopfieldphase.learn.training import Training, train
torch.set_num_threads(1)  # as here: sums of more threads are rounded otherwise
train(Training("selective", 1.5, steps=100000, batch_size=4, loads=(4, 8)), Path(sys.argv[1]), save_every=0)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_a_killed_process_leaves_a_whole_checkpoint(killed):
    state = torch.load(killed(_RUN), weights_only=True)
    done = len(state["record"]["losses"])
    assert 0 < done < 100000
    direct = train(dataclasses.replace(SHORT, steps=done))
    assert all(torch.equal(state["model"][name], p) for name, p in direct.model.state_dict().items())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "another training, with steps = 3 and not 24: remove it to begin anew"),
        (b"", "no state of a training, or damaged"),
        (b"torn", "no state of a training, or damaged"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_left_as_it_is(tmp_path, content, message):
    file = tmp_path / "state.pt"
    if content is None:
        train(dataclasses.replace(SHORT, steps=3), file)
        content = file.read_bytes()
    else:
        file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        train(SHORT, file)
    assert file.read_bytes() == content


def test_loads_and_noises_cycle_together(monkeypatch):
    asked = []
    data = type(SHORT.data)
    batch = data.training_batch

    def spy(self, step, B, M, noise):
        asked.append((step, M, noise))
        return batch(self, step, B, M, noise)

    monkeypatch.setattr(data, "training_batch", spy)
    train(Training("uniform", 2.0, steps=5, batch_size=2))
    assert asked == [(0, 8, 0.05), (1, 16, 0.10), (2, 32, 0.15), (3, 64, 0.05), (4, 8, 0.10)]


def test_the_loss_is_the_printed_one_and_falls():
    """Before the first step it is the mean over examples of |ŷ − y|², summed over the components."""
    training = Training("uniform", 2.0, steps=120, batch_size=16, loads=(8,), learning_rate=1e-3)
    batch = training.data.training_batch(0, 16, 8, 0.05)
    with torch.no_grad():
        output, _ = training.untrained()(batch.query, batch.keys, batch.values)
    expected = np.mean([float(sum((a - b) ** 2)) for a, b in zip(output, batch.target, strict=True)])
    losses = train(training).losses
    assert losses[0] == pytest.approx(expected, rel=1e-5)
    assert losses[-20:].mean() < 0.8 * losses[:20].mean()


def test_bad_input_is_named():
    with pytest.raises(InputError, match="steps = 0"):
        Training("selective", 2.0, steps=0)
    with pytest.raises(InputError, match="alpha = -1"):
        Training("selective", -1.0)
    with pytest.raises(InputError, match="M = 6 memories: give a multiple of 4"):
        Training("uniform", 2.0, loads=(6,))
