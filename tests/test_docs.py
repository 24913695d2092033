"""What the README and the documentation name exists: files, pages, figures, commands and their options."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from hopfieldphase.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
BUILT = ("_build", "generated")
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in BUILT),
]
SCRIPTS = sorted((DOCS / "gallery").rglob("*.py"))
LEAST_SCRIPTS = 15
STANDS_FOR_A_NAME = {"COMMAND"}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def text(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text(page), flags=re.MULTILINE | re.DOTALL)


def is_built(target: Path) -> bool:
    return target.is_relative_to(DOCS) and target.relative_to(DOCS).parts[0] in BUILT


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_and_pictures_exist(page):
    targets = re.findall(r"\]\(([^)\s]+)\)", prose(page))
    for target in targets:
        if not re.match(r"[a-z]+:|#", target):
            file = (page.parent / target.partition("#")[0]).resolve()
            assert file.exists() or is_built(file), f"{name(page)} points at {target}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_pages_that_are_named_exist(page):
    entries = [
        line
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
        if line and line[0] != ":"
    ]
    named = [found[1] or found[0] for found in re.findall(r"\{doc\}`([^`<]*)(?:<([^>]+)>)?`", prose(page))]
    for target in entries + named:
        file = (page.parent / target).resolve()
        there = any(file.with_name(file.name + suffix).exists() for suffix in (".md", ".rst"))
        assert there or is_built(file), f"{name(page)} names {target}"


def commands_named(page: Path) -> list[str]:
    """Every command line of the program in blocks and in running text."""
    blocks = re.findall(r"^```(?:bash|text)\n(.*?)^```$", text(page), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    inline = re.findall(r"`(hopfieldphase [^`]+)`", prose(page))
    return [line.strip() for line in lines + inline if line.strip().startswith("hopfieldphase ")]


def check_command(line: str) -> None:
    words = shlex.split(line.replace("…", ""), comments=True)[1:]
    command = get_command(app)
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        first = words.pop(0)
        if first in STANDS_FOR_A_NAME:
            return
        for alternative in first.split("|"):
            assert alternative in command.commands, f"{line}: there is no command {alternative}"
        command = command.commands[first.split("|")[0]]
    known = {
        option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
    }
    for word in words:
        if re.match(r"--?[a-zA-Z]", word):
            option = word.partition("=")[0]
            assert option in known | {"--help", "--version"}, f"{line}: there is no option {option}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_that_are_named_exist_with_their_options(page):
    for line in commands_named(page):
        check_command(line)


@pytest.mark.parametrize("line", ["hopfieldphase sweeep beta", "hopfieldphase sweep beta --bets 1:2:1"])
def test_a_command_that_does_not_exist_is_found(line):
    with pytest.raises(AssertionError, match="there is no"):
        check_command(line)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_that_are_named_exist(page):
    targets = set(re.findall(r"^([a-z]+):", text(ROOT / "Makefile"), re.MULTILINE))
    for target in re.findall(r"`make ([a-z]+)`", prose(page)):
        assert target in targets, f"{name(page)} names make {target}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_benchmarks_that_are_named_exist(page):
    for module in re.findall(r"`python -m benchmarks\.(\w+)", prose(page)):
        assert (ROOT / "benchmarks" / f"{module}.py").exists(), f"{name(page)} names benchmarks.{module}"


def test_the_gallery_is_large_enough_and_every_script_shows_a_picture():
    assert len(SCRIPTS) >= LEAST_SCRIPTS
    for script in SCRIPTS:
        assert "plt.show()" in text(script), script


def test_scripts_of_the_gallery_say_what_they_show():
    for script in SCRIPTS:
        title, underline = text(script).splitlines()[1:3]
        assert underline == "=" * len(title), script
