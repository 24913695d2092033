"""A file or folder takes its place whole, or what was there stays and nothing else is left."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hopfieldphase.core.errors import HopfieldPhaseError
from hopfieldphase.data import files
from hopfieldphase.data.files import OutputError, replacing


def write_folder(path, text):
    (path / "inner").mkdir(parents=True)
    (path / "inner" / "content").write_text(text)


def write_file(path, text):
    path.write_text(text)


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def content(path):
    return (path / "inner" / "content").read_text() if path.is_dir() else path.read_text()


@pytest.mark.parametrize("write", [write_file, write_folder])
def test_new_content_replaces_old(tmp_path, write):
    target = tmp_path / "target"
    for text in ("first", "second"):
        with replacing(target) as partial:
            write(partial, text)
            assert partial.parent == tmp_path
        assert content(target) == text
        assert names(tmp_path) == ["target"]


@pytest.mark.parametrize("write", [write_file, write_folder])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_what_was_there(tmp_path, write, error):
    target = tmp_path / "target"
    with replacing(target) as partial:
        write(partial, "first")

    def interrupted():
        with replacing(target) as partial:
            write(partial, "second")
            raise error

    with pytest.raises(error):
        interrupted()
    assert content(target) == "first"
    assert names(tmp_path) == ["target"]


def test_an_error_of_the_file_system_becomes_one_line(tmp_path):
    target = tmp_path / "missing" / "target"
    with pytest.raises(OutputError) as caught, replacing(target) as partial:
        partial.write_text("x")
    assert str(caught.value) == f"cannot write {target}: {target.parent} is not a folder"
    assert names(tmp_path) == []
    assert isinstance(caught.value, HopfieldPhaseError)


def test_the_old_folder_comes_back_when_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    target = tmp_path / "target"
    with replacing(target) as partial:
        write_folder(partial, "first")
    rename = Path.rename

    def refuse(self, other):
        if ".partial-" in self.name:
            raise PermissionError(13, "Permission denied")
        return rename(self, other)

    monkeypatch.setattr(files.Path, "rename", refuse)
    with pytest.raises(OutputError, match="Permission denied"), replacing(target) as partial:
        write_folder(partial, "second")
    assert content(target) == "first"
    assert names(tmp_path) == ["target"]


LOOP = """
import sys, pathlib
from hopfieldphase.data.files import replacing
target = pathlib.Path(sys.argv[1])
for i in range(10**9):
    with replacing(target) as partial:
        with open(partial, "w") as file:
            for _ in range(200):
                file.write(str(i % 10) * 500)
    if i == 0:
        print("started", flush=True)
"""


def test_a_killed_writer_never_leaves_half_a_file(tmp_path):
    target = tmp_path / "target"
    for round_ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", LOOP, str(target)], stdout=subprocess.PIPE)
        writer.stdout.readline()
        time.sleep(0.01 * round_)
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        text = target.read_text()
        assert len(text) == 100_000
        assert len(set(text)) == 1
