"""Help: what fits a screen, what is shown on request, and commands that do not exist."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from instruction_counts import cli


def commands(command: click.Command, name: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of a command and of all below it."""
    yield name
    if isinstance(command, click.Group):
        for below in command.list_commands(click.Context(command)):
            found = command.get_command(click.Context(command), below)
            assert found is not None
            yield from commands(found, (*name, below))


@pytest.mark.parametrize("name", list(commands(cli._main)), ids=" ".join)
def test_help_fits_a_screen(name: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Of 40 lines; what few people need is shown on request."""
    cli.main([*name, "--help"])
    lines = capsys.readouterr().out.splitlines()

    assert len(lines) <= 40


def test_rare_options_are_shown_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    """Under a heading of their own."""
    cli.main(["run", "--help"])
    usual = capsys.readouterr().out
    cli.main(["run", "--help-all"])
    everything = capsys.readouterr().out

    assert "--pin-isa" not in usual
    assert "--help-all" in usual
    assert "--pin-isa" in everything.partition("\nAdvanced:\n")[2]


@pytest.mark.parametrize(
    ("typed", "nearest"), [("rnu", "run"), ("basline", "baseline"), ("Compare", "compare")]
)
def test_a_mistyped_command_is_answered_with_the_nearest(
    typed: str, nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is wrong usage."""
    assert 2 == cli.main([typed])
    assert f'There is no command "{typed}". Did you mean "{nearest}"?' in capsys.readouterr().err


def test_a_command_that_is_like_none_is_answered_with_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Those of its group."""
    assert 2 == cli.main(["runs", "xyz"])
    assert "There are: delete, export, import, list, show, tag, untag." in capsys.readouterr().err
