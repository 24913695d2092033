"""The fuzzer of the file readers finds nothing in a short run; `make fuzz` takes longer ones."""

import subprocess
import sys
from pathlib import Path

import pytest

SECONDS = 20


@pytest.mark.slow
def test_a_short_run_finds_nothing(tmp_path):
    fuzzer = Path(__file__).with_name("readers.py")
    command = [sys.executable, str(fuzzer), f"-max_total_time={SECONDS}", "-seed=1"]
    # libFuzzer bounds the peak memory, which Linux begins at that of the parent: here a small one.
    done = subprocess.run(
        ["sh", "-c", '"$@"; exit $?', "sh", *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=20 * SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "Done" in done.stderr
    assert list(tmp_path.iterdir()) == []
