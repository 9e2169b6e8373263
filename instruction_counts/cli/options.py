"""Options that several commands share, and how files, durations and effects are written."""

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import click

from instruction_counts.builds.configured import named_builds
from instruction_counts.cli import console
from instruction_counts.core.labels import DEVICES, Mode, by_option
from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.bounds import seconds_of
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.sources.definitions import STANDARD, Definitions
from instruction_counts.sources.operators.calls import Overrides
from instruction_counts.sources.operators.entries import DTYPES, VARIANTS
from instruction_counts.sources.registry import file_source
from instruction_counts.system.program import DATABASE_VARIABLE

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


def gathered(
    name: str,
    options: Sequence[Decorator],
    make: Callable[..., Any],
    like: Callable[..., Any] | None = None,
) -> Decorator:
    """Adds ``options`` to a command, which gets what ``make`` makes of them as ``name``.

    The parameters of ``like``, which is ``make`` itself where it is not given, are called as the
    options are; ``make`` gets those that there are.
    """
    own = tuple(inspect.signature(like or make).parameters)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            given = {option: kwargs.pop(option) for option in own if option in kwargs}
            return function(*args, **{name: make(**given)}, **kwargs)

        decorated: Callable[..., Any] = wrapper
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


# How values are written

FILE = click.Path(path_type=Path, dir_okay=False)
"""A path, which need not exist yet."""
EXISTING_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)


class Written(click.ParamType[Any]):
    """What ``parse`` reads; it raises ValueError with what can be written instead."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """What the text means."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


DURATION = Written("duration", seconds_of)
"""In seconds: ``90``, ``90s``, ``10m``, ``1h``."""


def option(flags: str, metavar: str | None, text: str, **more: Any) -> Decorator:
    """An option with its help; ``flags`` are its names, and perhaps that of the parameter.

    The help says whether it can be repeated, and its default.
    """
    if more.get("multiple"):
        sentence, bracket, default = text.partition("  [")
        text = f"{sentence} Repeatable.{bracket}{default}"
    is_shown = more.get("default") is not None
    return click.option(*flags.split(), metavar=metavar, help=text, show_default=is_shown, **more)


several = functools.partial(option, multiple=True)
"""An option that can be repeated."""


def flag(flags: str, text: str) -> Decorator:
    """An option without a value."""
    return option(flags, None, text, is_flag=True)


def choice(flags: str, values: Iterable[str], text: str, **more: Any) -> Decorator:
    """An option that takes one of some values, or several if it is ``multiple``."""
    kind = click.Choice(list(values), case_sensitive=False)
    return option(flags, more.pop("metavar", None), text, type=kind, **more)


min_effect_option = option(
    "--min-effect",
    "EFFECT",
    "Smallest change of interest. A percentage, an instruction count, or both: 0.05%,3.",
    type=Written("effect", Effect.parse),
    default="0.05%,3",
)
time_budget_option = option(
    "--time-budget",
    "DURATION",
    "Start no case after this time: 90, 10m, 1h. Quick cases are measured first.",
    type=DURATION,
)

# Which cases


def _modes(flags: str, modes: type[Mode], meaning: str) -> Decorator:
    known = by_option(modes)
    return choice(
        flags,
        known,
        f"{', '.join(known)}.",
        metavar=meaning.upper(),
        multiple=True,
        callback=lambda _context, _option, names: tuple(known[name].value for name in names),
    )


_MODES = (
    _modes("--language languages", Language, "Language"),
    _modes("--runtime runtimes", RuntimeMode, "Runtime"),
    _modes("--autograd autograds", AutogradMode, "Autograd"),
    several("--num-threads", "N", "Number of threads of the case.", type=click.IntRange(min=1)),
)
mode_options = gathered("selection", _MODES, Selection)
"""The options that narrow a label down to modes; the command gets ``selection``."""

_ONLY = several("--only", "GLOB", "Cases whose label matches: 'Pointwise/*/add'.")
case_options = gathered("selection", (_ONLY, *_MODES), Selection)
"""The same, and ``--only``."""


def device(flags: str, text: str, **more: Any) -> Decorator:
    """An option that says where tensors are."""
    return choice(flags, DEVICES, text, metavar="DEVICE", **more)


device_option = device("--device", "Where the tensors are.")


def _overrides(dtype: str | None, device: str | None) -> Overrides:
    return Overrides(dtypes=(dtype,) if dtype else (), devices=(device,) if device else ())


overrides_options = gathered(
    "overrides",
    (
        choice("--dtype", DTYPES, "dtype of the inputs  [default: float32]", metavar="DTYPE"),
        device_option,
    ),
    _overrides,
)
"""What is asked for in place of what the entry of one operator says; it gets ``overrides``."""

operators_file_option = option(
    "--operators-file",
    "FILE",
    "File of operators  [default: definitions/operators.yaml]",
    type=FILE,
)


def _definitions(
    definitions: str | None,
    operators: tuple[str, ...],
    operators_file: Path | None,
    shape: tuple[str, ...],
    dtype: tuple[str, ...],
    inputs: tuple[str, ...],
    devices: tuple[str, ...] = (),
) -> Definitions | None:
    if not operators:
        shapes = {"--shape": shape, "--dtype": dtype, "--input": inputs, "--device": devices}
        for name, given in {"--operators-file": operators_file, **shapes}.items():
            if given:
                raise UsageError(f"{name} is for operators", "Name some: --operators torch.add")
        return definitions and (file_source(definitions) or definitions)
    if definitions:
        raise UsageError("--definitions and --operators exclude each other", "Drop one.")
    from instruction_counts.sources.operators import source  # noqa: PLC0415 - would slow each start

    return source.operators(
        *operators,
        shapes=shape,
        dtypes=dtype,
        inputs=source.shapes_of(inputs),
        devices=devices,
        file=operators_file,
        note=console.note,
    )


_WHICH = (
    option(
        "--definitions",
        "MODULE",
        "Module or file with the cases: .py, .yaml, .json. YAML and JSON are specifications.  "
        f"[default: {STANDARD}]",
    ),
    several(
        "--operators",
        "PATTERN",
        "Operators of torch: torch.add, 'torch.fft.*'. Replaces --definitions.",
    ),
    operators_file_option,
    choice(
        "--shape",
        [*VARIANTS, "all"],
        "Shapes of the operator's inputs.  [default: typical]",
        multiple=True,
    ),
    choice(*("--dtype", DTYPES, "dtype of the operator's inputs."), metavar="DTYPE", multiple=True),
    several("--input inputs", "NAME=SIZES", "Shape of one of the inputs: input=32,3,256,256."),
)
definitions_on_cpu_options = gathered("definitions", _WHICH, _definitions)
"""The same as the next, for a command that means something else by ``--device``."""
definitions_options = gathered(
    "definitions",
    (
        *_WHICH,
        device("--device devices", "Where the tensors of operators are.", multiple=True),
    ),
    _definitions,
)
"""The options that say which definitions; the command gets them, None where none are named."""


def selection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select cases; the command gets ``definitions`` and ``selection``."""
    return definitions_options(case_options(function))


# Which builds


def _builds(build: tuple[str, ...]) -> tuple[Build, ...]:
    return named_builds(build)


_BUILD = (
    "Interpreter, environment or lock file (.txt, .lock). Or FILE.yaml: builds, each with name, "
    "python, lock or source_cmd, env, compiler."
)
ordered_builds_option = several("--build", "NAME=PYTHON", f"{_BUILD} The oldest first.")
"""Builds for a command that needs several."""
compiler_option = option(
    "--compiler",
    "NAME",
    "Compiler of C++ cases: clang, g++, or a path.  [default: CXX, else clang 19 or later, else "
    "g++]",
    callback=lambda _context, _option, name: name or "",
)
_WHICH_BUILD = f"{_BUILD}  [default: this interpreter]"
build_options = gathered("builds", (several("--build", "NAME=PYTHON", _WHICH_BUILD),), _builds)
"""The options that name builds; the command gets ``builds``, empty where none is named."""
one_build_options = gathered(
    "builds",
    # Of several, click would take the last one.
    (click.option("--build", metavar="NAME=PYTHON", help=_WHICH_BUILD, multiple=True),),
    _builds,
)
"""The same, for a command that takes one; see `only_build`."""


def only_build(builds: Sequence[Build], what: str) -> Build:
    """The build that is named, or this interpreter, for a command that takes one.

    Raises:
        UsageError: several are named.
    """
    if len(builds) > 1:
        names = ", ".join(build.name for build in builds)
        raise UsageError(f"{what} needs one build, not several: {names}", "Name one.")
    return builds[0] if builds else default_build()


# What is shown and stored

store_option = option(
    "--db",
    "FILE_OR_URL",
    "Database of runs: SQLite file or postgresql:// URL  "
    f"[default: {DATABASE_VARIABLE}, or runs.db in the user's data folder]",
)


def limit_option(shown: str, default: int | None = None) -> Decorator:
    """The option for how much is shown of ``shown``; without a default, documents say it."""
    text = f"{shown}. 0 shows all."
    return option("--limit", "N", text, type=click.IntRange(min=0), default=default)
