"""The commands, called as the console script calls them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from instruction_counts import __version__, cli

COMMANDS = ["run", "list", "show", "env"]


@pytest.fixture
def definitions(tmp_path: Path) -> str:
    """A definition file with some cases."""
    path = tmp_path / "cases.py"
    path.write_text("""\
from core.api import GroupedSetup, GroupedStmts, TimerArgs
BENCHMARKS = {
    "Pointwise": {
        "add": GroupedStmts(
            "z = x + y", "auto z = x + y;", GroupedSetup("x = y = torch.ones(1)"),
            "f(x, y) -> z", torchscript=True, num_threads=(1, 2),
        ),
        "x[:b:]": TimerArgs("x[:b:]", "x, b = [1], 1  # [red]"),
    },
    "Other": TimerArgs("at::on::x", language="c++"),
}
""")
    return str(path)


# Help


@pytest.mark.parametrize("args", [["--help"], ["-h"], *([name, "--help"] for name in COMMANDS)])
def test_help_is_given(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """For the program and for each command."""
    assert (0, True) == (cli.main(args), "Usage: instruction-counts" in capsys.readouterr().out)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_lists_the_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With what it does."""
    cli.main(["--help"])

    assert [name] == [
        line.split()[0]
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(f"  {name} ")
    ]


@pytest.mark.parametrize("code", ["0", "1", "2", "4", "130"])
def test_the_help_tells_the_exit_codes(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts rely on them."""
    cli.main(["--help"])

    assert f" {code} " in capsys.readouterr().out.partition("Exit codes:")[2]


@pytest.mark.parametrize(
    "option",
    [
        *("--definitions", "--only", "--language", "--runtime", "--autograd", "--num-threads"),
        *("--build", "--builds", "--db", "--engine", "--jobs", "--cores", "--timeout", "--retries"),
        *("--no-counts", "--no-times", "--skip-unavailable", "--output", "--resume"),
    ],
)
def test_the_help_of_run_explains_the_option(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In some words after its name."""
    cli.main(["run", "--help-all"])
    text = " ".join(capsys.readouterr().out.split())

    assert f" {option} " in text


def options(command: click.Command, name: str) -> Iterator[tuple[str, click.Option]]:
    """All options of a command, and of those below it, with the name of their command."""
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield name, parameter
    if isinstance(command, click.Group):
        for below in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), below)
            assert found is not None
            yield from options(found, f"{name} {below}")


def test_every_option_says_what_it_is_for() -> None:
    """Its name alone does not tell."""
    assert [] == [f"{name} {one.opts[0]}" for name, one in options(cli._main, "") if not one.help]


def test_every_default_is_shown() -> None:
    """By click, or in the words of the help."""
    with_default = (
        (name, one)
        for name, one in options(cli._main, "")
        if isinstance(one.default, str | int | float) and not one.is_flag
    )

    assert [] == [
        f"{name} {one.opts[0]}"
        for name, one in with_default
        if not one.show_default and "Default: " not in str(one.help)
    ]


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """As it is in the results."""
    assert (0, f"instruction-counts, version {__version__}\n") == (
        cli.main(["--version"]),
        capsys.readouterr().out,
    )


# Wrong usage


@pytest.mark.parametrize(
    "args",
    [
        ["--no-such-option"],
        ["no-such-command"],
        ["list", "--no-such-option"],
        ["list", "--language", "rust"],
        ["list", "--num-threads", "0"],
        ["list", "--num-threads", "two"],
        ["list", "surplus"],
        ["show"],
        ["run", "--jobs", "0"],
        ["run", "--timeout", "0"],
        ["run", "--cores", "none", "--timeout", "nan"],
        ["run", "--cores", "none", "--timeout", "inf"],
        ["run", "--cores", "none", "--timeout", "1e10"],
        ["run", "--cores", "none", "--time-budget", "nan"],
        ["run", "--cores", "none", "--time-budget", "9" * 400],
        ["watch", "--command", "true", "--every", "nan"],
        ["watch", "--command", "true", "--every", "inf"],
        ["watch", "--command", "true", "--every", "1e10"],
        ["compare", "a.json", "b.json", "--min-effect", "nan%"],
        ["compare", "a.json", "b.json", "--min-effect", "9" * 400 + "%"],
        ["compare", "a.json", "b.json", "--min-effect", "9" * 5000],
        ["run", "--retries", "-1"],
        ["run", "--engine", "none"],
        ["run", "--resume", "/nowhere/r.json"],
    ],
)
def test_wrong_usage_exits_with_2(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With a line that says what was wrong."""
    assert (2, True) == (cli.main(args), "Error: " in capsys.readouterr().err)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["run", "--no-counts", "--no-times"], "leave nothing to measure"),
        (["run", "--output", "r.txt"], "--output r.txt: unknown format"),
        (["run", "--output", "/nowhere/r.json"], "there is no folder /nowhere"),
        (["run", "--output", "/proc/r.json"], "--output /proc/r.json cannot be written"),
        (["run", "--callgrind-out", "/proc/zz/x"], "--callgrind-out /proc/zz/x"),
        (["run", "--cores", "many"], '--cores "many" is not a list of cores'),
        (["run", "--cores", "9999"], "not available here: 9999"),
        (["run", "--builds", "/nowhere/builds.yaml"], "/nowhere/builds.yaml: No such file"),
        (["run", "--build", "new=/nowhere"], 'build "new": no interpreter at /nowhere'),
        (["env", "--build", "/nowhere"], "no interpreter at /nowhere"),
        (
            ["env", "--build", f"a={sys.executable}", "--build", f"a={sys.executable}"],
            'two builds are called "a"',
        ),
        (["list", "--definitions", "/nowhere.py"], "file not found: /nowhere.py"),
        (["list", "--only", "Pointwize/*"], "No case matches --only 'Pointwize/*'. Near: Point"),
        (["list", "--seed", "0"], "--seed is for operators"),
        (["list", "--dtype", "float32"], "--dtype is for operators"),
        (["show", "Pointwise/Math/ad"], "Near: Pointwise/Math/add"),
        (["--only", "Empti"], "Near: Empty"),
    ],
)
def test_an_error_in_use_exits_with_1(
    args: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a message on standard error, and nothing on standard output."""
    code = cli.main(args)
    printed = capsys.readouterr()

    assert (1, True, "") == (code, expected in printed.err, printed.out)


@pytest.mark.parametrize("text", ["", "{", '{"schema_version": 9}', '{"schema_version": 1}'])
def test_a_damaged_file_to_resume_from_exits_with_1(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is measured."""
    path = tmp_path / "r.json"
    path.write_text(text)

    assert (1, True) == (
        cli.main(["run", "--resume", str(path)]),
        capsys.readouterr().err.startswith(str(path)),
    )


# list


def test_the_list_has_a_line_for_each_case(
    definitions: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With its whole identity."""
    cli.main(["list", "--definitions", definitions, "--only", "Pointwise", "--num-threads", "1"])

    assert [
        "Pointwise / add · Python · Eager · Forward · 1 thread",
        "Pointwise / add · C++ · Eager · Forward · 1 thread",
        "Pointwise / add · Python · TorchScript · Forward · 1 thread",
        "Pointwise / add · C++ · TorchScript · Forward · 1 thread",
        "Pointwise / x[:b:] · Python · 1 thread",
    ] == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], 10),
        (["--language", "python"], 5),
        (["--language", "C++", "--language", "python"], 10),
        (["--runtime", "torchscript"], 4),
        (["--runtime", "explicit"], 2),
        (["--autograd", "forward"], 8),
        (["--num-threads", "2", "--runtime", "eager"], 2),
        (["--only", "*/add", "--only", "Other"], 9),
    ],
)
def test_the_list_is_narrowed_by_options(
    definitions: str, args: list[str], expected: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a run is."""
    cli.main(["list", "--definitions", definitions, *args])

    assert expected == len(capsys.readouterr().out.splitlines())


def test_the_number_of_cases_is_no_part_of_the_list(
    definitions: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It goes to standard error, so that the list can be counted and cut."""
    cli.main(["list", "--definitions", definitions])

    assert "10 cases\n" == capsys.readouterr().err


def test_the_list_as_json_has_identity_and_code(
    definitions: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The fields that the files of a run have."""
    cli.main(["list", "--definitions", definitions, "--only", "Other", "--format", "json"])
    (case,) = json.loads(capsys.readouterr().out)

    assert (16, case) == (
        len(case.pop("definition_hash")),
        {
            "label": ["Other"],
            "language": "c++",
            "runtime": "explicit",
            "autograd": "explicit",
            "num_threads": 1,
            "stmt": "at::on::x",
            "setup": case["setup"],
            "global_setup": "",
            "metadata": {},
        },
    )


# show


def test_a_case_is_shown_with_its_code(
    definitions: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exactly as it will be executed; nothing in it becomes a picture or a colour."""
    cli.main(["show", "--definitions", definitions, "pointwise/x[:B:]"])
    lines = capsys.readouterr().out.splitlines()

    assert [
        "Pointwise / x[:b:] · Python · 1 thread",
        "  setup",
        "    x, b = [1], 1  # [red]",
        "  statement",
        "    x[:b:]",
    ] == [line for line in lines if len(line.strip()) != 16 and line != "  definition"]


def test_a_scripted_case_is_shown_with_its_model(
    definitions: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is scripted, and how it is loaded and called."""
    selection = ["--runtime", "torchscript", "--language", "python", "--num-threads", "1"]
    cli.main(["show", "--definitions", definitions, "*/add", *selection])
    shown = capsys.readouterr().out

    assert (True, True, True) == (
        "jit_model = torch.jit.script(f)" in shown,
        "jit_model = torch.jit.load(" in shown,
        "z = jit_model(x, y)" in shown,
    )


@pytest.mark.parametrize("name", ["list", "show", "run"])
def test_a_broken_definition_file_exits_with_1(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the mistake and no traceback."""
    path = tmp_path / "bad.py"
    path.write_text("x = 1\nraise ValueError('on purpose')\n")
    code = cli.main([name, *(["a"] if name == "show" else []), "--definitions", str(path)])

    assert (1, f"{path}, line 2: ValueError: on purpose\n  Fix the definition file.\n") == (
        code,
        capsys.readouterr().err,
    )
