"""Small tensors: one thread, so that no thread waits for another on a busy machine. And a training killed."""

import os
import signal
import subprocess
import sys
import time

import pytest
import torch


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def killed(tmp_path):
    """Run a script that trains into the file given as its argument, kill it, and return the file."""

    def run(script):
        file = tmp_path / "state.pt"
        process = subprocess.Popen([sys.executable, "-c", script, file])
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return file

    return run
