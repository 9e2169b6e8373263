"""What README and docs show is true of the program as it is: commands, options, code, links.

Every fenced block names its language: `sh` holds commands, `console` commands (after ``$``) with
their output, `text` output alone. A Python block after ``<!-- executed -->`` is executed.
"""

import itertools
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest
import yaml

import instruction_counts.cli as command_line
from instruction_counts.domain.errors import DataError
from tests.cli.test_help import commands
from tests.process import ROOT, called

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = {"sh", "console", "text", "python", "yaml", "json"}

PROGRAM = re.compile(r"^(?:\S*/?bin/)?(?:python3? main\.py|instruction-counts)(?=\s|$)")
SAFE = ("list", "show", "env", "cache show", "runs list", "operators list", "--help", "--version")

UNCHECKED = {
    *("cp", "dask", "docker", "export", "for", "gh", "git", "kcachegrind", "pip", "pytest"),
    *(".venv/bin/pre-commit", ".venv/bin/python", ".ci/run", "python", "sed", "sha256sum"),
    "sqlite3",
}
"""Commands of other programs, by their first word."""
FOREIGN_OPTIONS = {
    *("--collect-atstart", "--instr-atstart", "--separate-threads", "--tool", "--vgdb"),
    *("--editable", "--no-deps", "--strict", "--check", "--icount-baseline"),
}
"""Options of valgrind, pip, mypy, mkdocs, ruff, pytest, which the docs name in code."""


class Block(NamedTuple):
    """A fenced block of a page, at its file and line."""

    place: str
    language: str
    text: str
    executed: bool


class Line(NamedTuple):
    """A command of a page, continued lines joined."""

    place: str
    text: str

    @property
    def words(self) -> list[str]:
        """As a shell would split it, up to the first pipe or redirection."""
        lexer = shlex.shlex(self.text, posix=True, punctuation_chars="|>&;")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        return [*itertools.takewhile(lambda word: not set(word) <= set("|>&;"), lexer)]

    @property
    def arguments(self) -> list[str] | None:
        """What this program is given, or None if it is another program's command."""
        found = PROGRAM.match(" ".join(self.words))
        return None if found is None else self.words[len(found[0].split()) :]


FENCE = re.compile(
    r"^(?P<executed><!-- executed -->\n+)?(?P<indent> *)```(?P<language>[^\n`]*)\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
TEXTS = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in PAGES}
PROSE = {name: FENCE.sub("", text) for name, text in TEXTS.items()}
BLOCKS = [
    Block(
        f"{name}:{text.count(chr(10), 0, found.start('language')) + 1}",
        *(found["language"].strip(), found["text"], bool(found["executed"])),
    )
    for name, text in TEXTS.items()
    for found in FENCE.finditer(text)
]


def _lines() -> Iterator[Line]:
    for block in BLOCKS:
        if block.language == "console":
            shown = block.text.replace("\\\n", " ").splitlines()
            yield from (Line(block.place, line[2:]) for line in shown if line.startswith("$ "))
        elif block.language == "sh":
            yield from (Line(block.place, command) for command in _commands(block.text))
    for name, text in PROSE.items():
        for found in re.finditer(r"`(python main\.py [^`]+)`", text):
            yield Line(name, " ".join(found[1].split()))


def _commands(text: str) -> Iterator[str]:
    """Joins the lines that a backslash or an open quote continues."""
    waiting = ""
    for line in text.replace("\\\n", " ").splitlines():
        waiting = f"{waiting}\n{line}" if waiting else line
        try:
            words = shlex.split(waiting, comments=True)
        except ValueError:
            continue
        if words:
            yield waiting
        waiting = ""
    assert not waiting, f"a quote is never closed: {waiting}"


LINES = list(_lines())
OWN = list({tuple(line.arguments): line for line in LINES if line.arguments is not None}.values())


def _parse(arguments: list[str]) -> None:
    command, context = command_line._main, None
    while True:
        context = command.make_context(command.name, arguments, context)
        if not isinstance(command, click.Group):
            return
        rest = [*context._protected_args, *context.args]
        _, command, arguments = command.resolve_command(context, rest)


@pytest.mark.parametrize("line", OWN, ids=lambda line: " ".join(line.words))
def test_a_command_parses(line: Line) -> None:
    """Its options exist, and its arguments are valid."""
    arguments = list(line.arguments or [])
    problem = ""
    try:
        _parse(arguments)
    except (click.exceptions.Exit, DataError):  # help, and a file that is not there
        pass
    except click.ClickException as error:
        problem = error.format_message()

    assert not problem or "does not exist" in problem, line


def test_every_other_command_is_known() -> None:
    """A command that is not checked stands in the list above, with its reason."""
    names = re.findall(r"^([a-z-][a-z -]*):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = {target for line in names for target in line.split()}
    known = {*UNCHECKED, "make"}
    unknown = [line for line in LINES if line.arguments is None and {*line.words[:1]} - known]
    made = {word for line in LINES if line.words[:1] == ["make"] for word in line.words[1:]}

    assert unknown == []
    assert {word for word in made - targets if "=" not in word} == set()


def test_every_option_that_is_named_exists() -> None:
    """In the text between the blocks, in some command."""
    # A command keeps the help option that it had first.
    settings = command_line._main.context_settings
    known = FOREIGN_OPTIONS | {
        option
        for _, command in commands()
        for parameter in command.get_params(click.Context(command, **settings))
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    named = {
        (name, option)
        for name, text in PROSE.items()
        for code in re.findall(r"`([^`]+)`", text)
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", code)
    }

    assert [(page, option) for page, option in sorted(named) if option not in known] == []


def test_every_block_names_its_language() -> None:
    """Output is `text`; a command without its mark would not be checked."""
    assert [block.place for block in BLOCKS if block.language not in LANGUAGES] == []


@pytest.mark.parametrize(
    "block",
    [block for block in BLOCKS if block.language in {"python", "yaml", "json"}],
    ids=lambda block: block.place,
)
def test_code_can_be_read(block: Block) -> None:
    """Python compiles, also where it is not executed; JSON is YAML, too."""
    if block.language == "python":
        compile(block.text, block.place, "exec")
    else:
        assert yaml.safe_load(block.text) is not None


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the docs name, and no trace of the user's own."""
    folder = tmp_path_factory.mktemp("docs")
    for name in ("examples", "definitions"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "path" / "to").mkdir(parents=True)
    (folder / "path" / "to" / "standard.py").symlink_to(ROOT / "definitions" / "standard.py")
    definitions = next(b for b in BLOCKS if b.executed and "BENCHMARKS" in b.text)
    (folder / "my_cases.py").write_text(definitions.text, encoding="utf-8")
    return folder


def _executed() -> Iterator[Any]:
    for line in OWN:
        given = line.arguments or []
        if " ".join(given).startswith(SAFE):
            yield pytest.param([str(ROOT / "main.py"), *given], id=" ".join(given))
    for block in BLOCKS:
        if block.executed and block.language == "python":
            yield pytest.param(["-c", block.text], id=block.place)


@pytest.mark.parametrize("arguments", list(_executed()))
def test_what_only_reads_or_is_marked_is_executed(arguments: list[str], sandbox: Path) -> None:
    """Commands, and Python; in a folder of its own, on an empty database."""
    variables = {"XDG_DATA_HOME": str(sandbox / "data"), "PYTHONPATH": str(ROOT)}
    done = called([sys.executable, *arguments], sandbox, variables)

    assert done.returncode == 0, done.stderr


def test_every_file_that_is_named_exists() -> None:
    """Modules, by their path in the repository or the package; and links outside the site.

    The site checks its own links.
    """
    path = re.compile(r"`((?:instruction_counts|core|worker|tests)/[\w./-]+|[a-z_]+/[a-z_/]+\.py)`")
    link = re.compile(r"\]\(([^)#:]+?)(?:#[^)]*)?\)")
    changes = FENCE.sub("", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    outside = [PROSE["README.md"], PROSE["CONTRIBUTING.md"], changes]
    named = {target for text in PROSE.values() for target in path.findall(text)}
    named |= {target for text in outside for target in link.findall(text)}
    tops = [ROOT, ROOT / "instruction_counts"]

    assert [] == [target for target in named if not any((top / target).exists() for top in tops)]


@pytest.mark.slow
def test_the_site_can_be_built(tmp_path: Path) -> None:
    """Strictly: no page, link or anchor that leads nowhere; and no request to another host."""
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = called(build, ROOT, {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr

    foreign = re.compile(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//")
    assert [
        page.name for page in tmp_path.rglob("*.html") if foreign.search(page.read_text())
    ] == []
