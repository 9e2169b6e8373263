"""The options that name builds in order, and what makes each of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from instruction_counts.builds.configured import parse_build, read_builds
from instruction_counts.cli import console
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.session.made_builds import check_build_command, made_build


def makers_of(
    texts: Sequence[str], config: Path | None, commits: TextIO | None, build_cmd: str | None
) -> dict[str, Callable[[], Build]]:
    """What makes each build, by its name and in order.

    Raises:
        UsageError: the options contradict each other, or name fewer than two builds.
    """
    makers: list[tuple[str, Callable[[], Build]]] = []
    if commits is not None or build_cmd is not None:
        if commits is None or build_cmd is None or texts or config is not None:
            raise UsageError(
                "builds are either given, or made of commits",
                "Give --build or --builds; or both --commits and --build-cmd.",
            )
        check_build_command(build_cmd)
        made: dict[str, str] = {}
        makers += [
            (name, functools.partial(made_build, build_cmd, name, made, console.note))
            for name in _lines(commits)
        ]
    else:
        builds = read_builds(config) if config is not None else ()
        makers += [(build.name, functools.partial(_same, build)) for build in builds]
        makers += [(_name(text), functools.partial(parse_build, text)) for text in texts]
    names = [name for name, _ in makers]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f'two builds are called "{twice}"', "Give each a name of its own.")
    if len(makers) < 2:
        raise UsageError(
            "a bisection needs at least two builds", "Give --build, --builds or --commits."
        )
    return dict(makers)


def _name(text: str) -> str:
    name, separator, _ = text.partition("=")
    if not separator or not name:
        raise UsageError(
            f'--build "{text}" is not NAME=PYTHON', "For example: new=.venv/bin/python"
        )
    return name


def _same(build: Build) -> Build:
    return build


def _lines(stream: TextIO) -> list[str]:
    try:
        texts = [line.partition("#")[0].strip() for line in stream]
    except UnicodeDecodeError as error:
        raise UsageError(f"--commits {stream.name} is not text", "One commit per line.") from error
    return [text for text in texts if text]
