"""An interrupt that Python or an extension module would lose comes again."""

import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import pytest

from hopfieldphase.cli.interrupts import interruptible, interrupts


class Held:
    pass


def drop_an_interrupt(number=signal.SIGINT):
    """Raise a signal in the callback of a weak reference, where Python drops what it raises."""
    held = Held()
    reference = weakref.ref(held, lambda _: signal.raise_signal(number))
    del held
    return reference


@pytest.fixture
def ctrl_c():
    """Python's own answer to SIGINT, which a runner in the background lacks."""
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, old)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module that loses an interrupt while it is imported, as extension modules do."""
    (tmp_path / "loses_interrupts.py").write_text(
        "import signal\ntry:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield "loses_interrupts"
    sys.modules.pop("loses_interrupts", None)


def test_a_dropped_interrupt_comes_again(ctrl_c):
    hook, alarm = sys.unraisablehook, signal.getsignal(signal.SIGALRM)

    @interruptible()
    def run():
        drop_an_interrupt()
        time.sleep(20)

    with pytest.raises(KeyboardInterrupt):
        run()
    assert sys.unraisablehook is hook
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGALRM) is alarm


def test_an_interrupt_waits_for_the_end_of_an_import(ctrl_c, module):
    @interruptible()
    def run():
        __import__(module)
        imported.append(module)
        time.sleep(20)

    imported = []
    with pytest.raises(KeyboardInterrupt):
        run()
    assert imported


@pytest.mark.parametrize("module", ["llvmlite.binding.linker", "zarr.core.sync"])
def test_an_interrupt_waits_for_the_compiler_and_for_zarr(ctrl_c, module):
    step = "try:\n    signal.raise_signal(signal.SIGINT)\nexcept KeyboardInterrupt:\n    met.append(True)\n"

    @interruptible()
    def run():
        exec(step, {"__name__": module, "signal": signal, "met": met})
        time.sleep(20)

    met = []
    with pytest.raises(KeyboardInterrupt):
        run()
    assert not met


def test_a_command_within_an_import_can_be_interrupted(tmp_path):
    """As where somebody imports the module that runs the command."""
    (tmp_path / "within.py").write_text(
        "import hopfieldphase.cli, signal, typer\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "typer.main.get_command = lambda app: signal.raise_signal(signal.SIGINT)\n"
        "hopfieldphase.cli.main(['doctor'])\n"
    )
    command = [sys.executable, "-c", "import within"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted; no result was written\n")


def test_the_end_of_a_job_comes_again_too(tmp_path):
    @interruptible()
    @interrupts(tmp_path, lambda: None)
    def run():
        drop_an_interrupt(signal.SIGTERM)
        time.sleep(20)

    with pytest.raises(KeyboardInterrupt):
        run()


def test_a_command_in_the_background_of_a_shell_ignores_ctrl_c():
    old = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interruptible():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, old)


def test_python_by_itself_loses_the_interrupt():
    """When this no longer holds, `interruptible` has no purpose."""
    code = (
        "import signal, time; from test_interrupts import drop_an_interrupt\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "drop_an_interrupt(); time.sleep(0.2); print('went on')"
    )
    here = Path(__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=here, capture_output=True, text=True, check=True)
    assert done.stdout == "went on\n"
    assert "KeyboardInterrupt" in done.stderr


def test_other_exceptions_are_told_as_ever(monkeypatch):
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    with interruptible():
        held = Held()
        reference = weakref.ref(held, lambda _: 1 / 0)
        del held
    assert reference() is None
    assert told[0].exc_type is ZeroDivisionError
