"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

from instruction_counts.builds.configured import parse_build, read_builds
from instruction_counts.cli import console
from instruction_counts.cli.option_types import FILE
from instruction_counts.core.labels import by_option
from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.sources.definitions import STANDARD, Definitions, opened
from instruction_counts.sources.operators.entries import DTYPES, LARGEST_SEED, VARIANTS
from instruction_counts.system.program import DATABASE_VARIABLE

if TYPE_CHECKING:
    from instruction_counts.sources.specification.reading import Specification

_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select cases; the command gets ``definitions`` and ``selection``.

    ``definitions`` is None where the command line names none.
    """
    return definitions_options(case_options(function))


def case_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that narrow cases by label and modes; the command gets ``selection``."""

    @click.option(
        "--only",
        multiple=True,
        metavar="GLOB",
        help="Cases whose label matches: 'Pointwise/*/add'. Repeatable.",
    )
    @mode_options
    @wraps(function)
    def wrapper(*args: Any, only: tuple[str, ...], modes: Selection, **kwargs: Any) -> Any:
        return function(*args, selection=attrs.evolve(modes, only=only), **kwargs)

    return wrapper


def definitions_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which definitions; the command gets ``definitions``.

    It is None where the command line names none: see `merged`.
    """

    @click.option(
        "--definitions",
        metavar="MODULE",
        help="Module or file with the cases: .py, .yaml, .json. YAML and JSON are specifications.  "
        f"[default: {STANDARD}]",
    )
    @click.option(
        "--operators",
        multiple=True,
        metavar="PATTERN",
        help="Operators of torch: torch.add, 'torch.fft.*'. Replaces --definitions. Repeatable.",
    )
    @operators_file_option
    @click.option(
        "--shape",
        multiple=True,
        type=click.Choice([*VARIANTS, "all"]),
        help="Shapes of the operator's inputs. Repeatable.  [default: typical]",
    )
    @click.option(
        "--dtype",
        multiple=True,
        type=click.Choice(DTYPES),
        help="dtype of the operator's inputs. Repeatable.",
    )
    @click.option(
        "--input",
        "inputs",
        multiple=True,
        metavar="NAME=SIZES",
        help="Shape of one input of the operator: input=32,3,256,256. Repeatable.",
    )
    @click.option(
        "--seed",
        type=click.IntRange(0, LARGEST_SEED),
        help="Random seed of the operator's inputs  [default: 0]",
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
            named = None if definitions is None else opened(definitions)
            return function(*args, definitions=named, **kwargs)
        if definitions:
            raise UsageError("--definitions and --operators exclude each other", "Drop one.")
        return function(*args, definitions=_operators(**own), **kwargs)

    return wrapper


_OF_OPERATORS = (
    "operators",
    "operators_file",
    "shape",
    "dtype",
    "inputs",
    "seed",
)


def _operators(
    operators: tuple[str, ...],
    operators_file: Path | None,
    shape: tuple[str, ...],
    dtype: tuple[str, ...],
    inputs: tuple[str, ...],
    seed: int | None,
) -> Definitions:
    from instruction_counts.sources.operators import source  # noqa: PLC0415 - would slow each start

    return source.operators(
        *operators,
        shapes=shape,
        dtypes=dtype,
        inputs=source.shapes_of(inputs),
        seed=seed or 0,
        file=operators_file,
        note=console.note,
    )


def operators_file_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that names a file of operators; the command gets it, or None."""
    decorator: _Decorator = click.option(
        "--operators-file",
        type=FILE,
        help="File of operators  [default: definitions/operators.yaml]",
    )
    return decorator(function)


def mode_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that narrow a label down to modes; the command gets them as ``modes``."""

    @_choices("--language", by_option(Language), "Language")
    @_choices("--runtime", by_option(RuntimeMode), "Runtime")
    @_choices("--autograd", by_option(AutogradMode), "Autograd")
    @click.option(
        "--num-threads",
        multiple=True,
        type=click.IntRange(min=1),
        metavar="N",
        help="Number of threads of the case. Repeatable.",
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
    """Add the options that name builds; the command gets ``builds``, empty where none is named."""

    @click.option(
        "--build",
        "build",
        multiple=True,
        metavar="NAME=PYTHON",
        help="Interpreter or virtual environment to measure. Or FILE.yaml: builds, each with "
        "name, python or source_cmd, env. Repeatable.  [default: this interpreter]",
    )
    @wraps(function)
    def wrapper(*args: Any, build: tuple[str, ...], **kwargs: Any) -> Any:
        return function(*args, builds=_builds(build), **kwargs)

    return wrapper


def is_build_file(text: str) -> bool:
    """Whether ``--build`` names a file of builds."""
    return "=" not in text and text.endswith((".yaml", ".yml", ".json"))


def store_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option that names the database of runs; the command gets ``db``, or None."""
    decorator: _Decorator = click.option(
        "--db",
        metavar="FILE_OR_URL",
        help="Database of runs: SQLite file or postgresql:// URL  "
        f"[default: {DATABASE_VARIABLE}, or runs.db in the user's data folder]",
    )
    return decorator(function)


def layouts_option(none: str) -> _Decorator:
    """The option for how many memory layouts suspects are verified in; ``none``: what 0 does."""
    return click.option(
        "--layouts",
        type=click.IntRange(min=0),
        metavar="K",
        help=f"Verify candidates in K servers of other layouts. 0 {none}.",
    )


def limit_option(shown: str, default: int | None = None) -> _Decorator:
    """The option for how much is shown of ``shown``; without a default, documents say it."""
    return click.option(
        "--limit",
        type=click.IntRange(min=0),
        default=default,
        show_default=default is not None,
        metavar="N",
        help=f"{shown}. 0 shows all.",
    )


def build_command_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option for the command that makes builds; the command gets ``build_cmd``."""
    decorator: _Decorator = click.option(
        "--build-cmd",
        metavar="COMMAND",
        help="Shell command that makes the build of {commit}. The last line that it prints is the "
        "interpreter or virtual environment.",
    )
    return decorator(function)


def only_build(builds: Sequence[Build], what: str) -> Build:
    """The build that is named, for a command that takes one.

    Raises:
        UsageError: several are named.
    """
    if len(builds) != 1:
        names = ", ".join(build.name for build in builds)
        raise UsageError(f"{what} needs one build, not several: {names}", "Name one.")
    return builds[0]


def specification_of(definitions: Definitions | None) -> Specification | None:
    """The specification that a command was given; None where it got other definitions."""
    # No import of its class, which would cost every start.
    return getattr(definitions, "specification", None)


def _choices(option: str, names: Iterable[str], meaning: str) -> _Decorator:
    kind = click.Choice(list(names), case_sensitive=False)
    decorator: _Decorator = click.option(
        option,
        multiple=True,
        type=kind,
        metavar="MODE",
        help=f"{meaning}: {', '.join(names)}. Repeatable.",
    )
    return decorator


def _builds(texts: tuple[str, ...]) -> tuple[Build, ...]:
    builds: list[Build] = []
    for text in texts:
        builds += read_builds(Path(text)) if is_build_file(text) else [parse_build(text)]
    names = [build.name for build in builds]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f'two builds are called "{name}"', "Give each a name of its own.")
    return tuple(builds)
