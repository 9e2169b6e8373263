"""Builds as their users name them: on the command line, or in a file."""

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import attrs

from instruction_counts.builds.lock_files import EXPECTED, is_lock_file, read_lock
from instruction_counts.domain.build import DEFAULT_NAME, Build
from instruction_counts.domain.errors import BuildError, DataError, UsageError, ValidationError
from instruction_counts.reading.documents import read
from instruction_counts.reading.structure import (
    Check,
    Mismatch,
    Parsed,
    Text,
    refuse,
    strict_converter,
    structured,
)


def parse_build(named: str) -> Build:
    """A build from ``NAME=PYTHON``, or from the path of an interpreter or virtual environment.

    A path that ends in ``.txt`` or ``.lock`` is that of a lock file.

    Raises:
        UsageError: no interpreter at that path, or no lock file.
    """
    name, separator, path = named.partition("=")
    if not separator:
        name, path = DEFAULT_NAME, named
    if not name or not path:
        raise UsageError(
            f'--build "{named}" is not NAME=PYTHON', "For example: new=.venv/bin/python"
        )
    if is_lock_file(path):
        return Build(name, lock=read_lock(Path(path).expanduser()))
    return Build(name, find_interpreter(name, path))


def is_build_file(text: str) -> bool:
    """Whether what stands for a build names a file of builds."""
    return "=" not in text and text.endswith((".yaml", ".yml", ".json"))


def named_builds(given: Iterable[str | Build]) -> tuple[Build, ...]:
    """The builds that are given: as such, as for `parse_build`, or by a file of builds.

    Raises:
        UsageError: a text names none, or two have the same name.
    """
    builds: list[Build] = []
    for named in given:
        if isinstance(named, Build):
            builds.append(named)
        else:
            builds += read_builds(Path(named)) if is_build_file(named) else [parse_build(named)]
    check_unique([build.name for build in builds])
    return tuple(builds)


def check_unique(names: Sequence[str]) -> None:
    """Refuse two builds of one name: nothing could tell them apart.

    Raises:
        UsageError: there are.
    """
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'two builds are called "{name}"', "Give each a name of its own.")


def find_interpreter(name: str, path: str) -> str:
    """The absolute path of an interpreter: a file, a command on PATH, or a virtual environment.

    The path is not resolved: a virtual environment is recognised by the link that is started.
    """
    candidate = Path(path).expanduser()
    if candidate.is_dir():
        candidate = candidate / "bin" / "python"
    found = shutil.which(str(candidate)) if candidate.name == path else None
    interpreter = Path(found) if found else candidate
    if not interpreter.is_file():
        raise BuildError(
            f'build "{name}": no interpreter at {path}',
            "Give the path of a python executable or of a virtual environment.",
        )
    return str(interpreter.absolute())


# In a file

_CONVERTER = strict_converter()
_EXAMPLE = "Expected:\n    builds:\n      - name: base\n        python: /usr/bin/python3"
_NAME = re.compile(r"[^=\0]+").fullmatch
_VALUE = re.compile(r"[^\0]*").fullmatch
_Variable: TypeAlias = Annotated[str, Check(_NAME, "a name without '=' and null characters")]
_Value: TypeAlias = Annotated[str, Check(_VALUE, "a string without null characters")]


@attrs.frozen
class _StatedBuild:
    name: Text
    python: Path | None = None
    lock: Path | None = None
    source_cmd: Text | None = None
    env: Mapping[_Variable, _Value] = attrs.field(factory=dict)
    compiler: Text = ""

    def __attrs_post_init__(self) -> None:
        if self.python is not None and self.lock is not None:
            raise Mismatch("python or lock", "both")
        if self.python is None and self.lock is None and self.source_cmd is None:
            raise Mismatch("python, lock, or a source_cmd that puts a python on PATH", "neither")


def _build(value: Any) -> Build:
    stated = _CONVERTER.structure(value, _StatedBuild)
    python: str | None = None
    try:
        if stated.python is not None:
            # A bare word is a command; all else is a path.
            is_command = "/" not in value["python"] and not stated.python.exists()
            path = value["python"] if is_command else str(stated.python)
            python = find_interpreter(stated.name, path)
    except (UsageError, OSError) as error:
        expected = "the path of an interpreter or of a virtual environment"
        raise Mismatch(expected, at=("python",)) from error
    lock = "" if stated.lock is None else _lock(stated.lock)
    return Build(stated.name, python, stated.source_cmd, stated.env, stated.compiler, lock)


def _lock(path: Path) -> str:
    try:
        return read_lock(path)
    except ValidationError as error:
        first = error.problems[0]
        found = f"{first.found} in {first.file}:{first.line}"
        raise Mismatch(EXPECTED, found, ("lock",)) from error
    except DataError as error:
        raise Mismatch("a lock file", error.message, ("lock",)) from error


def _builds(value: Any) -> tuple[Build, ...]:
    builds: tuple[Build, ...] = _CONVERTER.structure(value, _Listed)
    names = [build.name for build in builds]
    refuse(
        Mismatch("unique names", f'"{name}" again', (place,))
        for place, name in enumerate(names)
        if name in names[:place]
    )
    return builds


_Listed: TypeAlias = Annotated[
    tuple[Annotated[Build, Parsed(_build)], ...], Check(len, "at least one build")
]
Builds: TypeAlias = Annotated[tuple[Build, ...], Parsed(_builds)]
"""A list of builds in a file; interpreters are looked for from the folder of its paths."""


@attrs.frozen
class _File:
    builds: Builds


def read_builds(path: Path) -> tuple[Build, ...]:
    """The builds of a YAML file: ``builds``, each with name, python or source_cmd, and more.

    Raises:
        DataError: the file is missing.
        ValidationError: it holds something else; all of it is named.
    """
    node = read(path, _EXAMPLE)
    return structured(node, _File, _CONVERTER, folder=Path()).builds
