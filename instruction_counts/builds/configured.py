"""Builds as their users name them: on the command line, or in a file."""

from __future__ import annotations

import shutil
from pathlib import Path

import attrs

from instruction_counts.domain.build import DEFAULT_NAME, Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.reading.documents import read
from instruction_counts.reading.nodes import Node, Problems, fields, items, path_of, text
from instruction_counts.reading.structure import strict_converter, structured


def parse_build(named: str) -> Build:
    """A build from ``NAME=PYTHON``, or from the path of an interpreter or virtual environment.

    Raises:
        UsageError: no interpreter at that path.
    """
    name, separator, path = named.partition("=")
    if not separator:
        name, path = DEFAULT_NAME, named
    if not name or not path:
        raise UsageError(
            f'--build "{named}" is not NAME=PYTHON', "For example: new=.venv/bin/python"
        )
    return Build(name, find_interpreter(name, path))


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


def read_builds(path: Path) -> tuple[Build, ...]:
    """The builds of a YAML file: ``builds``, each with name, python or source_cmd, and env.

    Raises:
        DataError: the file is missing.
        ValidationError: it holds something else; all of it is named.
    """
    root = read(path, _EXAMPLE)
    problems = Problems()
    parts = problems.attempt(fields, root, ("builds",), otherwise={})
    builds = problems.attempt(builds_of, parts["builds"], Path()) if parts else ()
    problems.raise_any(_EXAMPLE)
    return tuple(builds)


_EXAMPLE = "Expected:\n    builds:\n      - name: base\n        python: /usr/bin/python3"
_CONVERTER = strict_converter()


def builds_of(node: Node, folder: Path) -> tuple[Build, ...]:
    """The builds that a list in a file names; interpreters are looked for from ``folder``.

    Raises:
        ValidationError: it holds something else; all of it is named.
    """
    if not items(node):
        raise node.unlike("at least one build", "none")
    builds: dict[str, Build] = {}
    problems = Problems()
    for below in items(node):
        build = problems.attempt(_build, below, folder)
        if build is not None and build.name in builds:
            problems.note(below, "unique names", f'"{build.name}" again')
        elif build is not None:
            builds[build.name] = build
    problems.raise_any()
    return tuple(builds.values())


def _build(node: Node, folder: Path) -> Build:
    build = structured(node, Build, _CONVERTER)
    for name in ("name", "python", "source_cmd"):
        if getattr(build, name) is not None:
            text(node.value[name])
    for name, value in build.env.items():
        if not name or "=" in name or "\0" in name + value:
            expected = "a variable whose name has no '=', with no null character in name or value"
            raise node.value["env"].value[name].unlike(expected, f'"{name}"')
    if build.python is None:
        if build.source_cmd is None:
            raise node.unlike("python, or a source_cmd that puts one on PATH", "neither")
        return build
    return attrs.evolve(build, python=_interpreter(build.name, node.value["python"], folder))


def _interpreter(name: str, node: Node, folder: Path) -> str:
    whole = path_of(node, folder)
    try:
        # A bare word is a command; all else is a path.
        is_command = "/" not in node.value and not whole.exists()
        return find_interpreter(name, node.value if is_command else str(whole))
    except (UsageError, OSError) as error:
        expected = "the path of an interpreter or of a virtual environment"
        raise node.unlike(expected) from error
