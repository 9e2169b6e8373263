"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click
from click.core import ParameterSource

from core.modes import by_option
from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.builds.configured import parse_build, read_builds
from instruction_counts.cli import console
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.sources.definitions import STANDARD, Definitions, opened
from instruction_counts.sources.operators.entries import DTYPES, LARGEST_SEED, VARIANTS
from instruction_counts.sources.registry import (
    OperatorRequest,
    operator_source,
    operator_sources,
)

if TYPE_CHECKING:
    from instruction_counts.sources.specification.values import Specification

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select cases; the command gets ``definitions`` and ``selection``."""
    return definitions_options(case_options(function))


def case_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that narrow cases by label and modes; the command gets ``selection``."""

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


def definitions_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which definitions; the command gets ``definitions``."""

    @click.option(
        "--definitions",
        metavar="MODULE_OR_FILE",
        help="Where the definitions are: a module, a .py file with BENCHMARKS, or a "
        "specification (.yaml, .json). "
        f"Default: {STANDARD}.",
    )
    @click.option(
        "--operators",
        multiple=True,
        metavar="PATTERN",
        help="Operators of torch instead: torch.add, 'torch.fft.*', category:reduction, '*'. "
        "Repeatable.",
    )
    @click.option(
        "--source",
        type=click.Choice(operator_sources()),
        help="Where the inputs of operators come from: a file of operators, or the samples that "
        "torch tests itself with. Default: yaml.",
    )
    @click.option(
        "--samples",
        type=click.IntRange(min=1),
        metavar="N",
        help="How many samples of an operator, with --source op_db. Default: 3.",
    )
    @click.option(
        "--operators-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="Another file of operators than definitions/operators.yaml.",
    )
    @click.option(
        "--shape",
        multiple=True,
        type=click.Choice([*VARIANTS, "all"]),
        help="Which shapes of an operator. Repeatable. Default: typical.",
    )
    @click.option(
        "--dtype",
        multiple=True,
        type=click.Choice(DTYPES),
        help="Of an operator's inputs. Repeatable.",
    )
    @click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="NAME=[SIZES]",
        help="The shape of an operator's input: input=[32,3,256,256]. Repeatable.",
    )
    @click.option(
        "--seed",
        type=click.IntRange(0, LARGEST_SEED),
        help="Of an operator's inputs. Default: 0.",
    )
    @click.option(
        "--overrides",
        type=click.Path(path_type=Path, dir_okay=False),
        help="A YAML file of shape, dtype, input and seed; options win over it.",
    )
    @wraps(function)
    def wrapper(*args: Any, definitions: str | None, **kwargs: Any) -> Any:
        own = {name: kwargs.pop(name) for name in _OF_OPERATORS}
        if not own["operators"]:
            for name, value in own.items():
                if value not in (None, ()):
                    option = "--input" if name == "inputs" else f"--{name}"
                    raise UsageError(
                        f"{option.replace('_', '-')} is for operators",
                        "Name some: --operators torch.add",
                    )
            return function(*args, definitions=opened(definitions or STANDARD), **kwargs)
        if definitions:
            raise UsageError("--definitions and --operators exclude each other", "Drop one.")
        return function(*args, definitions=_operators(**own), **kwargs)

    return wrapper


_OF_OPERATORS = (
    "operators",
    "source",
    "samples",
    "operators_file",
    "shape",
    "dtype",
    "inputs",
    "seed",
    "overrides",
)


def _operators(
    operators: tuple[str, ...],
    source: str | None,
    samples: int | None,
    operators_file: Path | None,
    shape: tuple[str, ...],
    dtype: tuple[str, ...],
    inputs: tuple[str, ...],
    seed: int | None,
    overrides: Path | None,
) -> Definitions:
    return operator_source(
        source,
        OperatorRequest(
            *(operators, shape, dtype, inputs, seed, overrides, samples, operators_file),
            note=console.note,
        ),
    )


def mode_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that narrow a label down to modes; the command gets them as ``modes``."""

    @_choices("--language", by_option(Language))
    @_choices("--runtime", by_option(RuntimeMode))
    @_choices("--autograd", by_option(AutogradMode))
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
            tuple(by_option(Language)[name].value for name in language),
            tuple(by_option(RuntimeMode)[name].value for name in runtime),
            tuple(by_option(AutogradMode)[name].value for name in autograd),
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
        stated = specification_of(kwargs.get("definitions"))
        if stated is not None and stated.builds and not build and config is None:
            return function(*args, builds=stated.builds, **kwargs)
        return function(*args, builds=_builds(build, config), **kwargs)

    return wrapper


def store_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that names the database of runs; the command gets ``db``."""

    @click.option(
        "--db",
        envvar="INSTRUCTION_COUNTS_DB",
        show_envvar=True,
        metavar="FILE_OR_URL",
        help="The database of runs: a file (SQLite), or postgresql://USER@HOST/NAME. "
        "Default: runs.db in the user's data folder.",
    )
    @wraps(function)
    def wrapper(*args: Any, db: str | None, **kwargs: Any) -> Any:
        stated = specification_of(kwargs.get("definitions"))
        if stated is not None and stated.reporters.database and not is_given("db"):
            db = stated.reporters.database
        return function(*args, db=db, **kwargs)

    return wrapper


def specification_of(definitions: Definitions | None) -> Specification | None:
    """The specification that a command was given; None where it got other definitions."""
    # No import of its class, which would cost every start.
    return getattr(definitions, "specification", None)


def is_given(option: str) -> bool:
    """Whether the command line says it: that wins over a specification, and nothing else does."""
    source = click.get_current_context().get_parameter_source(option)
    return source is ParameterSource.COMMANDLINE


def _choices(option: str, names: Iterable[str]) -> _Decorator:
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
