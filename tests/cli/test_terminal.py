"""What reaches a terminal, a log and another encoding."""

import contextlib
import io
import os
import pty
import re
import subprocess
import sys

import numba
import pytest

import hopfieldphase
from hopfieldphase.cli import console
from hopfieldphase.kernels import compilation

ESCAPE = "\x1b"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A colour terminal of 80 columns."""
    for name in ("NO_COLOR", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "LANG": "C.UTF-8", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    return Terminal()


def show_progress(terminal: Terminal, **options: bool) -> str:
    """What a command that does four things shows on the terminal."""
    with (
        contextlib.redirect_stderr(terminal),
        console.Console(**options).progress("realizations", 4) as update,
    ):
        for done in range(1, 5):
            update(done, 4)
    return terminal.getvalue()


def test_a_terminal_gets_a_bar(terminal):
    text = show_progress(terminal)
    assert ESCAPE in text
    assert "4 of 4 realizations" in text
    # The bar removes itself: what stays is what the command says.
    assert text.endswith((f"{ESCAPE}[2K", f"{ESCAPE}[?25h"))


@pytest.mark.parametrize(
    ("environment", "options"),
    [({"NO_COLOR": "1"}, {}), ({"TERM": "dumb"}, {}), ({}, {"color": False})],
    ids=["NO_COLOR", "TERM=dumb", "--no-color"],
)
def test_no_escape_codes_where_none_are_wanted(terminal, monkeypatch, environment, options):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    text = show_progress(terminal, **options)
    assert ESCAPE not in text
    assert "100 %  4 of 4 realizations" in text


def test_a_bar_in_the_C_locale_is_plain_text(terminal, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    text = show_progress(terminal)
    assert "4 of 4 realizations" in text
    assert text.isascii()


def test_quiet_shows_no_progress(terminal):
    assert show_progress(terminal, quiet=True) == ""


@pytest.mark.parametrize(
    ("encoding", "locale", "expected"),
    [
        ("utf-8", "de_DE.UTF-8", "β ≤ 3 ± 1 in é"),
        ("utf-8", "C", "beta <= 3 +/- 1 in é"),
        ("ascii", "C", "beta <= 3 +/- 1 in \\xe9"),
        ("latin-1", "de_DE", "beta <= 3 +/- 1 in \xe9"),
    ],
)
def test_symbols_are_written_out_where_they_cannot_be_shown(monkeypatch, encoding, locale, expected):
    monkeypatch.setenv("LC_ALL", locale)
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    console.prepare_streams()
    console.Console().report("β ≤ 3 ± 1 in é")
    assert buffer.getvalue().decode(encoding) == expected + "\n"


def test_json_is_ascii_and_knows_infinity(capsys):
    console.Console(quiet=True).data({"alpha": float("inf"), "nan": [float("nan")], "who": "é"})
    assert (
        capsys.readouterr().out == '{\n  "alpha": "inf",\n  "nan": [\n    null\n  ],\n  "who": "\\u00e9"\n}\n'
    )


def test_compiling_is_said_once_and_only_when_it_happens(monkeypatch):
    listeners = []
    monkeypatch.setattr(
        compilation.event, "register", lambda kind, listener: listeners.append((kind, listener))
    )
    monkeypatch.setattr(compilation, "_waiting", [])
    said = []
    compilation.on_first_compilation(lambda: said.append("compiling"))
    ((kind, listener),) = listeners
    assert (kind, said) == ("numba:compile", [])
    for _ in range(3):
        listener.on_start(None)
        listener.on_end(None)
    assert said == ["compiling"]


def test_the_listener_hears_numba():
    """The name of Numba's event is not ours: a function that is compiled must reach the listener."""
    said = []
    compilation.on_first_compilation(lambda: said.append("compiling"))
    compiled = numba.njit(lambda x: x + 1)
    assert said == []
    assert compiled(1) == 2
    assert said == ["compiling"]
    assert compiled(2.0) == 3.0
    assert said == ["compiling"]


HELP = [
    (),
    ("--help",),
    ("sweep", "--help"),
    ("sweep", "beta", "--help"),
    ("info", "--help"),
    ("bench", "--help"),
]


@pytest.mark.parametrize("words", HELP, ids=[" ".join(words) or "nothing" for words in HELP])
def test_help_is_plain_text_of_80_columns(run, words):
    done = run(*words)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Usage: hopfieldphase")
    assert done.out.isascii()
    assert max(map(len, done.out.splitlines())) <= 80


def test_help_lists_every_option_in_its_group(run):
    text = run("sweep", "beta", "--help").out
    groups = re.split(r"\n\n(?=\w+:\n)", text)[1:]
    found = {group.split(":")[0]: set(re.findall(r"^  (--[\w-]+)", group, flags=re.M)) for group in groups}
    assert found == {
        "Sweep": {"--alpha", "--betas", "--realizations", "--start-up", "--start-down", "--solver", "--tol",
                  "--device"},
        "Attention": {"--attention", "--k", "--p", "--gamma", "--budget", "--caps"},
        "Patterns": {"--patterns", "--generator", "--M", "--d", "--seed", "--clusters", "--delta", "--noise",
                     "--cosine", "--epsilon", "--degrees-of-freedom"},
        "Output": {"--out", "--force", "--no-plot", "--states", "--json", "--quiet", "--no-color", "--debug"},
        "Options": {"--help"},
    }  # fmt: skip


def test_the_version_is_the_packages(run):
    done = run("--version")
    assert (done.code, done.out, done.err) == (0, f"hopfieldphase {hopfieldphase.__version__}\n", "")


def test_the_shell_completes_commands_and_options(run, monkeypatch, capfd):
    monkeypatch.setenv("_HOPFIELDPHASE_COMPLETE", "complete_bash")
    for words, expected in (("hopfieldphase sw", "sweep"), ("hopfieldphase sweep beta --al", "--alpha")):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        assert run().out.split() == [expected]


def test_a_real_terminal_of_80_columns_shows_the_whole_sweep(tmp_path, small):
    """On a pseudo-terminal: the headline first, then the bar, the words, and where the result is."""
    parent, child = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "LANG": "C.UTF-8", "COLUMNS": "80", "LINES": "40"}
    for name in ("NO_COLOR", "LC_ALL", "LC_CTYPE"):
        environment.pop(name, None)
    process = subprocess.Popen(
        [sys.executable, "-m", "hopfieldphase", "sweep", "beta", *small, "--out", "x", "--no-plot"],
        cwd=tmp_path, env=environment, stdin=child, stdout=child, stderr=child,
    )  # fmt: skip
    os.close(child)
    shown = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:  # Linux says so when the last writer has left
            break
        if not part:
            break
        shown += part
    os.close(parent)
    assert process.wait() == 0
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r", "\n")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    assert lines[0].startswith("sweep beta: alpha 2")
    assert any("of 2 realizations" in line for line in lines)
    assert lines[-1] == "wrote x; see hopfieldphase info x"
    assert max(map(len, lines)) <= 80
    assert "\x1b" in shown.decode()
