"""Help: what fits a screen, what is shown on request, and commands that do not exist."""

from collections.abc import Iterator

import click
import pytest

from instruction_counts import __version__, cli
from tests.cli.program import Program


def commands(
    command: click.Command = cli._main, name: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """A command and all below it, with their names."""
    yield name, command
    if isinstance(command, click.Group):
        for below in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), below)
            assert found is not None
            yield from commands(found, (*name, below))


OPTIONS = [
    (name, option)
    for name, command in commands()
    for option in command.params
    if isinstance(option, click.Option) and not option.hidden
]


@pytest.mark.parametrize("name", [name for name, _ in commands()], ids=" ".join)
def test_help_fits_a_screen(name: tuple[str, ...], program: Program) -> None:
    """Of 40 lines and 80 columns; what few people need is shown on request."""
    lines = program.output(*name, "--help").splitlines()
    everything = program.output(*name, "--help-all").splitlines()

    assert lines[0] == everything[0]
    assert lines[0].startswith("Usage: instruction-counts")
    assert len(lines) <= 40
    assert [] == [line for line in lines + everything if len(line) > 80]


def test_the_help_lists_commands_and_exit_codes(program: Program) -> None:
    """Scripts rely on them; a short option gives the same. The version is as it is in results.

    A mistyped command is answered with the nearest, as click does.
    """
    shown = program.output("--help")
    first = {line.split()[0] for line in shown.splitlines() if line.strip()}

    assert {"run", "list", "show", "env"} <= first
    assert {"0", "1", "2", "4", "130"} <= set(shown.partition("Exit codes:")[2].split())
    assert shown == program.output("-h")
    assert f"instruction-counts, version {__version__}\n" == program.output("--version")
    mistyped = program("rnu")
    assert 2 == mistyped.code
    assert "No such command 'rnu'. Did you mean 'run'?" in mistyped.err


def test_all_help_names_every_option(program: Program) -> None:
    """Of a command that has many; those that few people need under a heading of their own.

    A command that has few shows all of them.
    """
    usual, everything = program.output("run", "--help"), program.output("run", "--help-all")
    words = everything.split()

    assert [] == [
        option.opts[0] for of, option in OPTIONS if of == ("run",) and option.opts[0] not in words
    ]
    assert "--pin-isa" not in usual
    assert "--help-all" in usual
    assert "--db" in program.output("runs", "list", "--help")  # there is room for it
    assert "--pin-isa" in everything.partition("\nAdvanced:\n")[2]


def test_every_option_says_what_it_is_for_and_its_default() -> None:
    """By click, or in the words of the help."""
    assert [] == [(name, option.opts) for name, option in OPTIONS if not option.help]
    assert [] == [
        (name, option.opts)
        for name, option in OPTIONS
        if isinstance(option.default, str | int | float)
        and not option.is_flag
        and not option.show_default
        and "Default: " not in str(option.help)
    ]


def test_an_option_can_be_repeated_where_its_help_says_so() -> None:
    """All but --build where there is one: of several, click would take the last."""
    differ = {
        (name, option.name)
        for name, option in OPTIONS
        if option.multiple != ("Repeatable." in str(option.help))
    }

    assert {"build"} == {option for _, option in differ}
    assert ("compare",) not in {name for name, _ in differ}
