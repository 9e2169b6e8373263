"""What programs may give to the functions of `instruction_counts.api`, as the use cases want it."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.builds.configured import named_builds
from instruction_counts.core.errors import quoted
from instruction_counts.core.expand import materialize
from instruction_counts.core.labels import Mode, by_option
from instruction_counts.core.types import AutogradMode, Case, Language, RuntimeMode
from instruction_counts.core.utils import flatten
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import Run
from instruction_counts.domain.selection import Selection
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.sources.definitions import Definitions
from instruction_counts.sources.registry import Source

Cases: TypeAlias = str | Path | Mapping[Any, Any] | Source | Case | Iterable[Case]
"""Definitions as a mapping, a module by name or a file by path; another source; or cases."""


def definitions_of(given: Cases) -> Definitions:
    """The cases, or where they are defined.

    Raises:
        UsageError: it is something else.
    """
    if isinstance(given, str | Path) and str(given):
        return str(given)
    if isinstance(given, Mapping):
        return materialize(flatten(given))
    cases: tuple[Any, ...] = (given,)
    if isinstance(given, Iterable) and not isinstance(given, str):
        cases = tuple(given)
    elif not isinstance(given, str | Path | Case) and hasattr(given, "cases"):
        return given
    if all(isinstance(case, Case) for case in cases):
        return cases
    raise _wrong("definitions", given, "labels with what is measured, or a file or module")


def number_of(name: str, given: Any, least: int) -> int | None:
    """A whole number that may be None.

    Raises:
        UsageError: it is something else, or smaller.
    """
    if given is not None and (type(given) is not int or given < least):
        raise _wrong(name, given, f"a whole number of at least {least}, or None")
    return given


def _wrong(name: str, given: object, expected: str) -> UsageError:
    return UsageError(f"{name}: {quoted(reprlib.repr(given))}", f"Expected: {expected}.")


Texts: TypeAlias = str | Sequence[str]
StoredLike: TypeAlias = str | int | Path | Run | Side
"""A run of one build, a side of a comparison (see `side`), a result file, or the number or tag of a
stored run (``RUN:BUILD`` where it has several builds)."""
SideLike: TypeAlias = StoredLike | Build
"""The same, or a build that is measured now."""


class Select(TypedDict, total=False):
    """Which cases; what is left out keeps everything."""

    only: Texts
    """Globs over the label path, such as ``"Pointwise/*/add"``."""
    languages: Texts
    """``"python"``, ``"c++"``."""
    runtimes: Texts
    """``"eager"``, ``"torchscript"``, ``"explicit"``, or others that are registered."""
    autograds: Texts
    """``"forward"``, ``"forward+backward"``, ``"explicit"``."""


class Comparing(Select, total=False):
    """How two sides are compared."""

    min_effect: str
    """The smallest change that gets a verdict: ``"0.5%"``, ``"20"``, ``"0.5%,20"``."""
    layouts: int | None
    """In how many memory layouts cases that differ are counted again, each in servers of its own;
    None: in three of the servers that measured them. 0 trusts the first count."""


def selection_of(
    only: Texts = (), languages: Texts = (), runtimes: Texts = (), autograds: Texts = ()
) -> Selection:
    """The cases that globs and modes select.

    Raises:
        UsageError: there is no such mode.
    """
    return Selection(
        _texts(only),
        tuple(mode_of("language", Language, name) for name in _texts(languages)),
        tuple(mode_of("runtime", RuntimeMode, name) for name in _texts(runtimes)),
        tuple(mode_of("autograd mode", AutogradMode, name) for name in _texts(autograds)),
    )


def comparison_request(
    definitions: Cases, settings: MeasurementSettings, how: Comparing
) -> ComparisonRequest:
    """What is compared, and how.

    Raises:
        UsageError: an argument cannot be read.
    """
    select: Any = {"min_effect": str(MIN_EFFECT), "layouts": None, **how}
    layouts = number_of("layouts", select.pop("layouts"), 0)
    figures = effect_of(select.pop("min_effect")), layouts
    return ComparisonRequest(
        definitions_of(definitions), selection_of(**select), settings, *figures
    )


def mode_of(kind: str, modes: type[Mode], name: str) -> str:
    """The value of the mode that is spelled ``name``, as options are.

    Raises:
        UsageError: there is no such mode.
    """
    known = by_option(modes)
    if name not in known:
        raise UsageError(f'there is no {kind} "{name}"', f"Choose from: {', '.join(known)}")
    return str(known[name].value)


def _texts(given: Texts) -> tuple[str, ...]:
    texts = (given,) if isinstance(given, str) else given
    if not (isinstance(texts, Iterable) and all(isinstance(text, str) for text in texts)):
        raise _wrong("a selection", given, "a text or several")
    return tuple(texts)


def builds_of(given: str | Build | Sequence[str | Build]) -> tuple[Build, ...]:
    """The builds; the interpreter that runs this if none is named.

    Raises:
        UsageError: a text names no build, or two have the same name.
    """
    return named_builds((given,) if isinstance(given, str | Build) else given) or (default_build(),)


def effect_of(given: str) -> Effect:
    """The smallest change that gets a verdict.

    Raises:
        UsageError: a text cannot be read.
    """
    try:
        return Effect.parse(str(given))
    except ValueError as error:
        raise UsageError(f"min_effect={given!r}", str(error)) from error


def side(run: Run, build: str | None = None, title: str = "") -> Side:
    """One build of a run, as a side of a comparison.

    Args:
        run: measured, or read from somewhere.
        build: its name; it need not be given where the run has one build.
        title: what reports call it; by default the name of the build.

    Raises:
        UsageError: it is no run, has no such build, or several and none is named.
    """
    if not isinstance(run, Run):
        raise _wrong("side", run, "a run; a file, number or tag of one is a side as it is")
    names = tuple(run.builds)
    if build is None and len(names) == 1:
        (build,) = names
    if build is None or build not in names:
        asked = "several builds" if build is None else f'no build "{build}"'
        raise UsageError(f"the run has {asked}", f"Name one of: {', '.join(names)}")
    return side_of(run, build, title or build)


def given_side(given: SideLike) -> str | Side | Build:
    """A side as a value, to be measured, or the text that names a file or a stored run.

    Raises:
        UsageError: it is something else.
    """
    if isinstance(given, Run):
        return side(given)
    if isinstance(given, str | Path | int):
        return str(given)
    if isinstance(given, Side | Build):
        return given
    raise _wrong("a side", given, "a run, a build, a file, or the number or tag of a stored run")
