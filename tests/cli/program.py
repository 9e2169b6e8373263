"""The program, called in this process as its console script calls it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import click
import pytest
from click.testing import CliRunner

from instruction_counts import cli


@attrs.frozen
class Answer:
    """The exit code of a call, and what it wrote to both streams."""

    code: int
    out: str
    err: str


@attrs.frozen
class Program:
    """Calls the program; ``command`` comes before the arguments of every call."""

    capsys: pytest.CaptureFixture[str]
    command: tuple[str, ...] = ()

    def __call__(self, *args: str | Path) -> Answer:
        """Call it; what was written before is forgotten."""
        self.capsys.readouterr()
        code = cli.main([*self.command, *map(str, args)])
        return Answer(code, *self.capsys.readouterr())

    def output(self, *args: str | Path) -> str:
        """What a call that succeeds writes to standard output."""
        answer = self(*args)
        assert 0 == answer.code, answer.err
        return answer.out

    def error(self, *args: str | Path) -> str:
        """The message of a call that ends with 1: no traceback, and nothing on standard output."""
        answer = self(*args)
        assert 1 == answer.code, answer.err
        assert "" == answer.out
        assert "Traceback" not in answer.err
        return answer.err


def given(options: Callable[..., Any], *args: str, stdin: bytes = b"", **variables: str) -> Any:
    """What a command gets of ``options``, which give it one value, for these words."""
    got: list[Any] = []

    @click.command()
    @options
    def command(**values: Any) -> None:
        got.extend(values.values())

    runner = CliRunner(env=variables)
    result = runner.invoke(command, args, input=stdin, catch_exceptions=False)
    assert 0 == result.exit_code, result.output
    (value,) = got
    return value
