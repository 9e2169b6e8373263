"""Loading definitions: a module or a file with ``BENCHMARKS``, expanded into cases."""

import contextlib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import attrs

from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case
from instruction_counts.core.utils import flatten
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.selection import Selection, select
from instruction_counts.sources.registry import Source, file_source
from instruction_counts.system.program import HOME

STANDARD = "definitions.standard"
_FIX = "Fix the definition file."
_GIVE = "Give a module, or a .py, .yaml or .json file."


Definitions: TypeAlias = str | Source | tuple[Case, ...]
"""A module or file by its name, another source of cases, or these."""


def load(definitions: Definitions) -> tuple[Case, ...]:
    """The cases of a definition module (``definitions.standard``), a file, or another source.

    Raises:
        UsageError: there is none, or another source has a mistake.
        DefinitionError: a mistake in the definitions, with its file and line, or label.
        DataError: the file cannot be run, or has no ``BENCHMARKS``.
    """
    name = definitions
    if isinstance(name, str):
        name = file_source(name) or name
    if not isinstance(name, str):
        return name if isinstance(name, tuple) else name.cases()
    with dsl_names():
        try:
            benchmarks = getattr(_run(name), "BENCHMARKS", None)
            if not isinstance(benchmarks, Mapping):
                raise DataError(
                    f"{name}: BENCHMARKS is missing, or not a mapping",
                    "For an example, see definitions/ad_hoc.py.",
                )
            return materialize(flatten(benchmarks))
        except RecursionError:
            raise DataError(
                f"{name}: BENCHMARKS is nested too deeply, or contains itself", _FIX
            ) from None
        except DefinitionError as error:
            raise attrs.evolve(error, source=_place_of(name, error)) from None


def load_cases(definitions: Definitions | None, selection: Selection) -> tuple[Case, ...]:
    """The selected cases of ``definitions``; None is the standard suite.

    Raises:
        DefinitionError, DataError: the definitions cannot be used.
        UsageError: there are no such definitions, or the selection leaves no case.
    """
    return select(load(STANDARD if definitions is None else definitions), selection)


# The packages that definition files import, ``core`` and ``definitions``


@contextlib.contextmanager
def dsl_names() -> Iterator[None]:
    """Let ``core`` and ``definitions`` be imported, from a checkout as from an installed program.

    Other packages of these names are set aside meanwhile, and are back in place afterwards.
    """
    others = _taken_out()
    sys.path.insert(0, str(HOME))
    try:
        try:
            importlib.import_module("core")
            importlib.import_module("definitions")
        finally:
            sys.path.remove(str(HOME))  # what else lies there has no such names
        yield
    finally:
        _taken_out()
        sys.modules.update(others)


def _taken_out() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] in {"core", "definitions"}]
    return {name: sys.modules.pop(name) for name in names}


# Files


def _run(name: str) -> ModuleType:
    is_file = name.endswith(".py") or "/" in name
    # What it prints is no part of a result, and this program still needs both streams afterwards.
    with contextlib.redirect_stdout(sys.stderr), contextlib.redirect_stderr(sys.stderr):
        try:
            return _run_file(Path(name)) if is_file else importlib.import_module(name)
        except (DefinitionError, UsageError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a definition file may fail in any way
            absent = error.name if isinstance(error, ModuleNotFoundError) else None
            if absent and not is_file and f"{name}.".startswith(f"{absent}."):
                raise UsageError(
                    f'--definitions: no module named "{name}"', "Name a module, or a file by path."
                ) from None
            text = error.msg if isinstance(error, SyntaxError) else str(error)
            problem = f"{_place_of(name, error)}: {type(error).__name__}: {text}"
            raise DataError(problem, _FIX) from error


def _run_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise UsageError(f"--definitions: file not found: {path}", _GIVE)
    module_name = f"definitions_of_{path.stem}"
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"--definitions: {path} is not a Python file", _GIVE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    folder, known = str(path.absolute().parent), {*sys.modules}
    writes_none = sys.dont_write_bytecode
    sys.path.append(folder)  # as of a script, but behind all that is installed
    # Bytecode passes for that of a file with an edit of the same size in the same second.
    sys.dont_write_bytecode = True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = writes_none
        sys.path.remove(folder)
        for name in sys.modules.keys() - known:  # those of the next file are others, or edited
            if str(Path(getattr(sys.modules[name], "__file__", None) or "").parent) == folder:
                del sys.modules[name]
    return module


def _place_of(name: str, error: BaseException) -> str:
    """The file, with the last line of itself that was being run."""
    is_file = name.endswith(".py")
    path = str(Path(name).absolute()) if is_file else f"{name.replace('.', '/')}.py"
    frames = traceback.extract_tb(error.__traceback__)
    line = next((frame.lineno for frame in reversed(frames) if frame.filename.endswith(path)), None)
    if isinstance(error, SyntaxError):
        line = error.lineno or line
    return f"{name}, line {line}" if line else name
