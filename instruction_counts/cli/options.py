"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import attrs
import click

from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.builds.build import Build, default_build, parse_build, read_builds
from instruction_counts.definitions import STANDARD
from instruction_counts.errors import UsageError
from instruction_counts.select import Selection

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

_LANGUAGES = {"python": Language.PYTHON.value, "c++": Language.CPP.value}
_RUNTIMES = {
    "eager": RuntimeMode.EAGER.value,
    "torchscript": RuntimeMode.JIT.value,
    "explicit": RuntimeMode.EXPLICIT.value,
}
_AUTOGRADS = {
    "forward": AutogradMode.FORWARD.value,
    "backward": AutogradMode.FORWARD_BACKWARD.value,
    "explicit": AutogradMode.EXPLICIT.value,
}


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select cases; the command gets ``definitions`` and ``selection``."""

    @click.option(
        "--definitions",
        default=STANDARD,
        show_default=True,
        metavar="MODULE_OR_FILE",
        help="Where the definitions are: a module, or a .py file with BENCHMARKS.",
    )
    @click.option(
        "--only",
        multiple=True,
        metavar="GLOB",
        help="Cases whose label path matches, or lies below a match: 'Pointwise/*/add'. "
        "Repeatable.",
    )
    @mode_options
    @wraps(function)
    def wrapper(*args: Any, only: tuple[str, ...], modes: Selection, **kwargs: Any) -> Any:
        return function(*args, selection=attrs.evolve(modes, only=only), **kwargs)

    return wrapper


def mode_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that narrow a label down to modes; the command gets them as ``modes``."""

    @_choices("--language", _LANGUAGES)
    @_choices("--runtime", _RUNTIMES)
    @_choices("--autograd", _AUTOGRADS)
    @click.option(
        "--num-threads", multiple=True, type=click.IntRange(min=1), help="Thread count. Repeatable."
    )
    @wraps(function)
    def wrapper(
        *args: Any,
        language: tuple[str, ...],
        runtime: tuple[str, ...],
        autograd: tuple[str, ...],
        num_threads: tuple[int, ...],
        **kwargs: Any,
    ) -> Any:
        modes = Selection(
            (),
            tuple(_LANGUAGES[name] for name in language),
            tuple(_RUNTIMES[name] for name in runtime),
            tuple(_AUTOGRADS[name] for name in autograd),
            num_threads,
        )
        return function(*args, modes=modes, **kwargs)

    return wrapper


def build_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name builds; the command gets ``builds``."""

    @click.option(
        "--build",
        "build",
        multiple=True,
        metavar="NAME=PYTHON",
        help="A build to measure: an interpreter or a virtual environment. Repeatable. "
        "Default: the current interpreter.",
    )
    @click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        help="A YAML file of builds: name, python or source_cmd, env.",
    )
    @wraps(function)
    def wrapper(*args: Any, build: tuple[str, ...], config: Path | None, **kwargs: Any) -> Any:
        return function(*args, builds=_builds(build, config), **kwargs)

    return wrapper


def store_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that names the database of runs; the command gets ``db``."""
    decorator: _Decorator = click.option(
        "--db",
        envvar="INSTRUCTION_COUNTS_DB",
        show_envvar=True,
        metavar="FILE_OR_URL",
        help="The database of runs: a file (SQLite), or postgresql://USER@HOST/NAME. "
        "Default: runs.db in the user's data folder.",
    )
    return decorator(function)


def _choices(option: str, names: dict[str, str]) -> _Decorator:
    kind = click.Choice(list(names), case_sensitive=False)
    decorator: _Decorator = click.option(option, multiple=True, type=kind, help="Repeatable.")
    return decorator


def _builds(texts: tuple[str, ...], config: Path | None) -> tuple[Build, ...]:
    builds = (*(read_builds(config) if config else ()), *(parse_build(text) for text in texts))
    names = [build.name for build in builds]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'two builds are called "{name}"', "Give each a name of its own.")
    return builds or (default_build(),)
