"""The decorator of the kernels and its disk cache, in processes of their own with a copy of the package."""

import errno
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hopfieldphase
from hopfieldphase.kernels.cache import KernelCache, sources_digest
from hopfieldphase.kernels.jit import jit

_PACKAGE = Path(hopfieldphase.__file__).parent
_NOTICE = "compiled kernels cannot be kept on disk"

_CALLED = """
from hopfieldphase.kernels.jit import jit

@jit
def inner(x):
    return 2 * x
"""
_CALLER = """
from hopfieldphase.kernels.called import inner
from hopfieldphase.kernels.jit import jit

@jit
def outer(x):
    return inner(x) + 1
"""
_PRINT = (
    "from hopfieldphase.kernels.caller import outer; print(outer({}), sum(outer.stats.cache_hits.values()))"
)


@pytest.fixture
def package(tmp_path):
    """Copy what the decorator needs, and two kernels of which one calls the other."""
    kernels = tmp_path / "hopfieldphase" / "kernels"
    kernels.mkdir(parents=True)
    for name in ("__init__.py", "kernels/__init__.py", "kernels/jit.py", "kernels/cache.py"):
        shutil.copy(_PACKAGE / name, tmp_path / "hopfieldphase" / name)
    (kernels / "called.py").write_text(_CALLED)
    (kernels / "caller.py").write_text(_CALLER)
    return kernels


def _start(package, argument="1.5", **environment):
    root = package.parents[1]
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", _PRINT.format(argument)],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root), "NUMBA_CACHE_DIR": ""} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process):
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.split(), err


@pytest.mark.slow
def test_machine_code_is_used_as_long_as_it_is_right(package):
    assert _finish(_start(package)) == (["4.0", "0"], "")
    # A second process loads it, also after the edit of a kernel that is not called.
    (package / "other.py").write_text(_CALLED)
    assert _finish(_start(package)) == (["4.0", "1"], "")
    # Torn files are compiled anew.
    files = list((package / "__pycache__").glob("*.nbc"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:-7])
    assert _finish(_start(package)) == (["4.0", "0"], "")
    # The edit of a called kernel retires its callers.
    (package / "called.py").write_text(_CALLED.replace("2 * x", "4 * x"))
    assert _finish(_start(package)) == (["7.0", "0"], "")


@pytest.mark.slow
def test_processes_that_compile_at_once(package):
    arguments, values = ("1.5", "3", "1.5+2j"), ("4.0", "7", "(4+4j)")
    # The second time each of them finds its own code.
    for hits in ("0", "1"):
        started = [_start(package, argument) for argument in arguments]
        assert [_finish(process) for process in started] == [([value, hits], "") for value in values]


def test_without_a_folder_that_can_be_written(package):
    # A file where each of Numba's folders would be: permissions do not stop a superuser, this does.
    (package / "__pycache__").write_text("")
    nowhere = {"NUMBA_CACHE_DIR": "/dev/null/x", "XDG_CACHE_HOME": "/dev/null/x", "HOME": "/dev/null/x"}
    values, err = _finish(_start(package, PYTHONDONTWRITEBYTECODE="1", **nowhere))
    assert values == ["4.0", "0"]
    assert err.count(_NOTICE) == err.count("\n") == 1


def test_unusable_variable_alone_needs_no_notice(package):
    # The folder next to the sources takes over.
    assert _finish(_start(package, NUMBA_CACHE_DIR="/dev/null/x")) == (["4.0", "0"], "")
    assert list((package / "__pycache__").glob("*.nbc"))


def test_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    reasons = []

    def double(x):
        return 2 * x

    compiled = jit(double)
    compiled._cache = KernelCache(double, reasons.append)
    monkeypatch.setattr("hopfieldphase.kernels.cache.Path.replace", full)
    assert compiled(3.0) == 6.0
    assert compiled(3) == 6
    assert [reason.errno for reason in reasons] == [errno.ENOSPC]
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".tmp"]


def test_digest_follows_imports(tmp_path):
    def digest(name):
        sources_digest.cache_clear()
        return sources_digest(_PACKAGE / "kernels" / name)

    assert digest("maps.py") == digest("maps.py") != digest("rows.py")


@jit(reorder=True)
def _sums(x):
    total = 0.0
    product = 0.0
    for i in range(x.size):
        total += x[i]
        product += x[i] * 0.0
    return total, math.isnan(product)


@jit(element=True)
def _rounding_error(a, b):
    s = a + b
    return (a - (s - b)) + (b - (s - (s - b)))


@jit(reorder=True)
def _lost(x):
    lost = 0.0
    for i in range(x.size):
        lost += _rounding_error(1.0, x[i])
    return lost


def test_reordered_sums_still_see_nan_and_inf():
    x = np.ones(1000)
    assert _sums(x) == (1000.0, False)
    for value in (np.nan, np.inf, -np.inf):
        x[777] = value
        total, poisoned = _sums(x)
        assert poisoned
        assert not math.isfinite(total)


def test_compensated_arithmetic_survives_inside_reordered_loops():
    # 1 + 1e-20 loses all of 1e-20, and the compensation finds it again.
    np.testing.assert_allclose(_lost(np.full(64, 1e-20)), 64e-20, rtol=1e-15)


def test_kernels_release_the_interpreter():
    assert _sums.targetoptions["nogil"]
