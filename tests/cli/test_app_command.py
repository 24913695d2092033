"""`hopfieldphase app`: one line where it cannot start. Its page is tested in tests/explore."""

import importlib.util


def test_a_missing_extra_is_one_line(run, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        "hopfieldphase.cli.app_command.find_spec", lambda name: None if name == "panel" else real(name)
    )
    done = run("app", "--no-open")
    assert done.code == 2
    assert done.err == "error: panel is not installed: run `pip install 'hopfieldphase[app]'`\n"


def test_a_wrong_port_is_one_line(run):
    done = run("app", "--port", "70000")
    assert done.code == 2
    assert len(done.error_lines) == 1
    assert "--port" in done.err
