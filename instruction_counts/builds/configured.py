"""Builds as their users name them: on the command line, or in a file."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import attrs
import cattrs
import yaml

from instruction_counts.domain.build import DEFAULT_NAME, Build
from instruction_counts.domain.errors import BuildError, DataError, UsageError


@attrs.frozen
class _ConfigFile:
    builds: list[Build]


def parse_build(text: str) -> Build:
    """A build from ``NAME=PYTHON``, or from the path of an interpreter or virtual environment.

    Raises:
        UsageError: there is no interpreter at that path.
    """
    name, separator, path = text.partition("=")
    if not separator:
        name, path = DEFAULT_NAME, text
    if not name or not path:
        raise UsageError(
            f'--build "{text}" is not NAME=PYTHON', "For example: new=.venv/bin/python"
        )
    return Build(name, find_interpreter(name, path))


def find_interpreter(name: str, path: str) -> str:
    """The absolute path of an interpreter: a file, a command on PATH, or a virtual environment.

    The path is not resolved: a virtual environment is told by the link that is started.
    """
    candidate = Path(path).expanduser()
    if candidate.is_dir():
        candidate = candidate / "bin" / "python"
    found = shutil.which(str(candidate)) if candidate.name == path else None
    interpreter = Path(found) if found else candidate
    if not interpreter.is_file():
        raise BuildError(
            f'build "{name}": there is no interpreter at {path}',
            "Give the path of a python executable or of a virtual environment.",
        )
    return str(interpreter.absolute())


def read_builds(path: Path) -> tuple[Build, ...]:
    """The builds of a YAML file: ``builds``, each with name, python or source_cmd, and env.

    Raises:
        DataError: the file is missing, is no YAML, or holds something else.
    """
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}", "--config takes a YAML file.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not YAML: {error}") from error
    converter = cattrs.Converter(forbid_extra_keys=True)
    converter.register_structure_hook(str, _text)
    try:
        builds = converter.structure(data, _ConfigFile).builds
    except cattrs.BaseValidationError as error:
        problems = "\n  ".join(cattrs.transform_error(error, path="$"))
        raise DataError(f"{path}: not a list of builds\n  {problems}", _EXAMPLE) from error
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{path}: not a list of builds", _EXAMPLE) from error
    if not builds:
        raise DataError(f"{path}: no build in the list", _EXAMPLE)
    return tuple(_checked(build, path) for build in builds)


_EXAMPLE = "Expected:\n    builds:\n      - name: base\n        python: /usr/bin/python3"


def _text(value: object, _: type) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected text, found {value!r}")  # noqa: TRY004 - cattrs shows it
    return value


def _checked(build: Build, path: Path) -> Build:
    if build.python is None and build.source_cmd is None:
        raise DataError(
            f'{path}: build "{build.name}" has neither python nor source_cmd',
            "Name an interpreter, or a command that puts one on PATH.",
        )
    for name, value in build.env.items():
        if not name or "=" in name or "\0" in name + value:
            raise DataError(
                f'{path}: build "{build.name}" has an env that no process can have: {name!r}',
                "A name has no =, and neither name nor value a null character.",
            )
    if build.python is None:
        return build
    return attrs.evolve(build, python=find_interpreter(build.name, build.python))
