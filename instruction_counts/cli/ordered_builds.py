"""The builds of a bisection in their order, and what makes each of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from instruction_counts.builds.configured import parse_build, read_builds
from instruction_counts.cli import console
from instruction_counts.cli.options import is_build_file
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.session.build_series import check_build_command, made_build


def makers_of(
    texts: Sequence[str], commits: TextIO | None, build_cmd: str | None
) -> dict[str, Callable[[], Build]]:
    """What makes each build, by its name and in order.

    Raises:
        UsageError: the options contradict each other, or name fewer than two builds.
    """
    if (commits is None) is not (build_cmd is None) or (texts and commits is not None):
        raise UsageError(
            "builds are either given, or made of commits",
            "Give --build; or both --commits and --build-cmd.",
        )
    makers: dict[str, Callable[[], Build]] = {}
    for name, maker in _makers(texts, commits, build_cmd):
        if name in makers:
            raise UsageError(f'two builds are called "{name}"', "Give each a name of its own.")
        makers[name] = maker
    if len(makers) < 2:
        raise UsageError("a bisection needs at least two builds", "Give --build or --commits.")
    return makers


def _makers(
    texts: Sequence[str], commits: TextIO | None, build_cmd: str | None
) -> Iterator[tuple[str, Callable[[], Build]]]:
    if commits is not None and build_cmd is not None:
        check_build_command(build_cmd)
        made: dict[str, str] = {}
        for name in _lines(commits):
            yield name, functools.partial(made_build, build_cmd, name, made, console.note)
    for text in texts:
        if is_build_file(text):
            for build in read_builds(Path(text)):
                yield build.name, functools.partial(lambda known: known, build)
            continue
        name, separator, _ = text.partition("=")
        if not separator or not name:
            raise UsageError(
                f'--build "{text}" is not NAME=PYTHON', "For example: new=.venv/bin/python"
            )
        yield name, functools.partial(parse_build, text)


def _lines(stream: TextIO) -> list[str]:
    try:
        texts = [line.partition("#")[0].strip() for line in stream]
    except UnicodeDecodeError as error:
        raise UsageError(f"--commits {stream.name} is not text", "One commit per line.") from error
    return [text for text in texts if text]
