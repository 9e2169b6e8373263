"""One operator over a range of sizes."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import attrs

from instruction_counts.core.api import GroupedBenchmark
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Label
from instruction_counts.domain.build import default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import Run
from instruction_counts.domain.selection import Selection, select
from instruction_counts.session.builds import BuildRunner
from instruction_counts.sources.inputs import sizes_in
from instruction_counts.sources.operators.calls import Overrides, calls
from instruction_counts.sources.operators.catalogue import Schemas, load_schemas
from instruction_counts.sources.operators.entries import (
    SIZE,
    OperatorEntry,
    Template,
    read_operators,
)
from instruction_counts.sources.operators.sizes import at_size, check_sizes, templates, usual_sizes
from instruction_counts.sources.operators.source import definitions_of, selected
from instruction_counts.system.cache import Cache


@attrs.frozen
class MeasuredSizes:
    """An operator that was measured at each size, and the size of each label."""

    entry: OperatorEntry
    sizes: tuple[int, ...]
    size_of: Mapping[Label, int] = attrs.field(hash=False)
    run: Run


def measure_sizes(
    operator: str,
    modes: Selection,
    made: Callable[[], BuildRunner],
    *,
    sizes: str,
    scale: Sequence[str],
    overrides: Overrides,
    file: Path | None,
) -> MeasuredSizes:
    """Measure an operator at each size, by a runner that is ``made`` once these are known.

    ``modes`` are eager and forward where they do not say. ``sizes`` are a range or a list, and
    ``scale`` the shapes that grow, both as the options are written; empty is what the entry
    suggests. ``file`` has the operators; None is the standard one.

    Raises:
        UsageError: there is no such operator, or no such sizes.
        KeyboardInterrupt: it was interrupted; what was finished is stored.
    """
    entry = _one_entry(operator, file)
    shapes = templates(entry, scale)
    stated = sizes_in(sizes) if sizes else () if scale else entry.sizes
    found = stated or usual_sizes(shapes)
    check_sizes(shapes, found)
    modes = attrs.evolve(
        modes, runtimes=modes.runtimes or ("Eager",), autograds=modes.autograds or ("Forward",)
    )
    schemas = load_schemas(default_build(), Cache())
    by_size = over_sizes(entry, overrides, shapes, found, schemas, named=bool(scale))
    groups = {label: group for several in by_size.values() for label, group in several.items()}
    cases, runner = select(materialize(groups), modes), made()
    runner.observer.note(_shapes(shapes))
    measured = runner.run(runner.orders(cases)).finished()
    size_of = {label: size for size, several in by_size.items() for label in several}
    return MeasuredSizes(entry, tuple(found), size_of, measured.run)


def over_sizes(
    entry: OperatorEntry,
    asked: Overrides,
    shapes: Mapping[str, Template],
    sizes: Sequence[int],
    schemas: Schemas,
    *,
    named: bool,
) -> dict[int, dict[Label, GroupedBenchmark]]:
    """The definitions of an operator at each of ``sizes``.

    Labels have the shapes that grow where these are ``named``, and the dtype that was asked for:
    what is another case has another label.
    """
    made: dict[int, dict[Label, GroupedBenchmark]] = {}
    growing = [_shapes(shapes)] if named else []
    for size in sizes:
        variant = ", ".join([*growing, f"{SIZE}={size}"])
        found = calls(entry, attrs.evolve(asked, inputs=(at_size(shapes, size),)))
        renamed = [attrs.evolve(call, variant=variant) for call in found]
        made[size] = definitions_of(renamed, schemas)
    return made


def _shapes(shapes: Mapping[str, Template]) -> str:
    return ", ".join(f"{name}=[{', '.join(map(str, shape))}]" for name, shape in shapes.items())


def _one_entry(operator: str, file: Path | None) -> OperatorEntry:
    entries = selected(read_operators(file), (operator,))
    exact = [entry for entry in entries if entry.name.lower() == operator.lower()]
    if len(exact or entries) > 1:
        names = ", ".join(entry.name for entry in entries[:5])
        raise UsageError(f"{operator} matches several operators: {names}", "Name one of them.")
    return (exact or list(entries))[0]
