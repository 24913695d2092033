"""Result folders: one writer, whole or not at all, nothing of others destroyed."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from hopfieldphase import __version__
from hopfieldphase.data.files import OutputError
from hopfieldphase.runs import folder
from hopfieldphase.runs.folder import check_free, claim_folder, read_marker, read_summary, writing

MARKER = {"fingerprint": "abc", "package_version": __version__}


def put(path: Path, marker: dict[str, str] = MARKER, **files: str) -> None:
    """Write a result of a few text files."""
    with claim_folder(path), writing(path, marker) as staging:
        for name, text in files.items():
            (staging / name.replace("_", ".")).write_text(text)


def names(path: Path) -> set[str]:
    return {entry.name for entry in path.iterdir()}


def test_a_result_is_put_in_place_with_its_marker(tmp_path):
    path = tmp_path / "a" / "b"
    put(path, summary_json='{"x": 1}', figure_png="")
    assert names(path) == {"summary.json", "figure.png", "provenance.json"}
    finished = read_marker(path)
    assert finished is not None
    assert (finished.fingerprint, finished.version) == ("abc", __version__)
    assert set(finished.files) == names(path)
    assert read_summary(path, "abc", with_figure=True) == {"x": 1}


@pytest.mark.parametrize(
    ("marker", "fingerprint", "with_figure"),
    [(MARKER, "other", False), (MARKER | {"package_version": "0.0.0"}, "abc", False), (MARKER, "abc", True)],
)
def test_another_spec_or_version_or_a_missing_figure_is_not_this_result(
    tmp_path, marker, fingerprint, with_figure
):
    put(tmp_path, marker, summary_json="{}")
    assert read_summary(tmp_path, fingerprint, with_figure=with_figure) is None


def test_a_new_result_replaces_every_file_of_the_old_one(tmp_path):
    put(tmp_path, summary_json="1", figure_png="old", figure_svg="old")
    (tmp_path / "notes.txt").write_text("mine")
    put(tmp_path, MARKER | {"fingerprint": "new"}, summary_json="2")
    assert names(tmp_path) == {"summary.json", "provenance.json", "notes.txt"}
    assert (tmp_path / "summary.json").read_text() == "2"


def test_what_must_not_be_replaced_is_refused(tmp_path):
    check_free(tmp_path / "missing", "abc")
    check_free(tmp_path, "abc")
    put(tmp_path / "done", summary_json="1")
    check_free(tmp_path / "done", "abc")
    with pytest.raises(OutputError, match="another spec"):
        check_free(tmp_path / "done", "other")
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "notes.txt").write_text("harmless")
    check_free(foreign, "abc")
    (foreign / "figure.png").write_text("mine")
    with pytest.raises(OutputError, match=r"figure\.png that is not part of a complete result"):
        check_free(foreign, "abc")


def fail_while_writing(path: Path, error: BaseException) -> None:
    with claim_folder(path), writing(path, MARKER) as staging:
        (staging / "summary.json").write_text("half")
        raise error


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), KeyboardInterrupt()])
def test_a_failure_while_writing_leaves_nothing(tmp_path, error):
    path = tmp_path / "a" / "b"
    with pytest.raises((OutputError, KeyboardInterrupt)) as caught:
        fail_while_writing(path, error)
    assert names(tmp_path) == set()
    if isinstance(error, OSError):
        reason = "No space left on device; choose another folder with --out"
        assert str(caught.value) == f"cannot write to {path}: {reason}"


def test_a_failure_while_writing_keeps_the_old_result(tmp_path):
    put(tmp_path, summary_json="1")
    with pytest.raises(OutputError):
        fail_while_writing(tmp_path, OSError(errno.EIO, "Input/output error"))
    assert names(tmp_path) == {"summary.json", "provenance.json"}
    assert (tmp_path / "summary.json").read_text() == "1"


@pytest.mark.parametrize("moved", range(4))
def test_killed_while_put_in_place_is_never_taken_as_done(tmp_path, monkeypatch, moved):
    """Whatever was moved when the process died: no marker, no result, and the next run may take over."""
    put(tmp_path, summary_json="1", figure_png="old")
    replace, count = Path.replace, 0

    def dying(self: Path, target: Path) -> Path:
        nonlocal count
        count += 1
        if count > moved:
            raise SystemExit
        return replace(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", dying)
        patch.setattr(folder.shutil, "rmtree", lambda *_, **__: None)
        if moved < 3:
            with pytest.raises(SystemExit):
                put(tmp_path, summary_json="2", figure_png="new")
            assert read_marker(tmp_path) is None
        else:
            put(tmp_path, summary_json="2", figure_png="new")
            assert read_marker(tmp_path) is not None
    check_free(tmp_path, "abc")
    put(tmp_path, summary_json="3", figure_png="newest")
    assert names(tmp_path) == {"summary.json", "figure.png", "provenance.json"}
    assert (tmp_path / "summary.json").read_text() == "3"


def test_a_folder_in_use_is_refused_with_its_holder(tmp_path):
    with claim_folder(tmp_path / "x"):
        expected = f"is being written by process {os.getpid()} on {socket.gethostname()}"
        with pytest.raises(OutputError, match=expected), claim_folder(tmp_path / "x"):
            pytest.fail("two processes hold one folder")
        assert (tmp_path / "x").exists()
    assert not (tmp_path / "x").exists()


def test_the_lock_of_a_dead_process_is_taken_over(tmp_path):
    """A process that is killed while it holds the folder leaves hidden files, which the next one clears."""
    path = tmp_path / "x"
    code = (
        "import os, signal; from pathlib import Path\n"
        "from hopfieldphase.runs.folder import claim_folder, writing\n"
        f"with claim_folder(Path({str(path)!r})), writing(Path({str(path)!r}), {MARKER}) as staging:\n"
        "    (staging / 'summary.json').write_text('half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", code], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert any(name.startswith(".partial-") for name in names(path))
    put(path, summary_json="1")
    assert names(path) == {"summary.json", "provenance.json"}
    assert json.loads((path / "provenance.json").read_text())["files"] == ["summary.json", "provenance.json"]


@pytest.mark.parametrize("where", ["file", "file/below", "/proc/hopfieldphase", "x" * 300])
def test_a_place_that_cannot_be_written_is_one_line(tmp_path, where):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError) as caught, claim_folder(tmp_path / where):
        pytest.fail("claimed")
    assert str(caught.value).startswith("cannot write to ")
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == {"file"}
