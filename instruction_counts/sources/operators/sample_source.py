"""Cases from the samples that torch tests its operators with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from core.expand import materialize
from core.types import Case
from instruction_counts.domain.build import default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators.calls import Call
from instruction_counts.sources.operators.catalogue import (
    PublicOperator,
    load_public_operators,
    load_samples,
    load_schemas,
)
from instruction_counts.sources.operators.definitions import definitions_of, schemas_by_name
from instruction_counts.sources.operators.entries import DEFAULT_DTYPE, OperatorEntry
from instruction_counts.sources.operators.request import OperatorRequest, unheard
from instruction_counts.sources.operators.samples import OP_DB, LeftOut, calls_of, remarks
from instruction_counts.sources.operators.source import asked_for, selected
from instruction_counts.system.cache import Cache


@attrs.frozen
class SampleSource:
    """Public operators by pattern, on the samples of the torch beside this program.

    The same definitions for all builds that are measured, as for `OperatorSource`.
    """

    patterns: tuple[str, ...]
    """``torch.add``, ``add``, ``torch.fft.*``, ``category:*reduction*`` or ``*``."""
    dtypes: tuple[str, ...] = ()
    limit: int = 3
    """Of each operator's variants."""
    seed: int = 0
    note: Callable[[str], None] = attrs.field(default=unheard, eq=False, repr=False)
    """Receives what is left out, and why."""

    def cases(self) -> tuple[Case, ...]:
        """The cases of these operators.

        Raises:
            UsageError: a pattern selects nothing, or No samples to measure.
            DataError: torch does not have a module that its samples need.
        """
        build, cache = default_build(), Cache()
        names = resolved(load_public_operators(build, cache), self.patterns)
        schemas = schemas_by_name(load_schemas(build, cache))
        calls: list[Call] = []
        left_out: list[LeftOut] = []
        for dtype in self.dtypes or ("",):
            asked = dtype or DEFAULT_DTYPE
            found = load_samples(build, list(names), asked, self.limit, cache, requires_grad=True)
            named = [attrs.evolve(sample, name=names[sample.name]) for sample in found]
            sampled = calls_of(named, schemas, dtype, self.seed)
            calls += sampled.calls
            known = {sample.name for sample in found}
            left_out += (
                LeftOut(entry_name, "torch has no samples", is_sample=False)
                for name, entry_name in names.items()
                if name not in known
            )
            left_out += sampled.left_out
        lines = tuple(remarks(left_out))
        if not calls:
            reasons = "\n  ".join(lines)
            raise UsageError("No samples to measure", f"{reasons}\n  Choose other operators.")
        for line in lines:
            self.note(line)
        return materialize(definitions_of(calls, schemas))


def opened(request: OperatorRequest) -> SampleSource:
    """The samples that are asked for.

    Raises:
        UsageError: shapes are asked for, and samples have their own.
        DataError: the overrides hold mistakes.
    """
    asked = asked_for(request)
    stated = {
        "--shape": asked.variants,
        "--input": asked.inputs,
        "--operators-file": request.file,
    }
    for option, value in stated.items():
        if value:
            raise UsageError(
                f"{option} does not apply to --source op_db: its samples have their own shapes",
                "Drop one of the two. --dtype and --samples select among the samples.",
            )
    limit, seed = request.samples or 3, asked.seed or 0
    return SampleSource(request.patterns, asked.dtypes, limit, seed, request.note)


def resolved(public: Sequence[PublicOperator], patterns: Iterable[str]) -> dict[str, str]:
    """The operators that the patterns select: as entries call them, by their public names.

    Raises:
        UsageError: a pattern selects nothing; the error names what is near.
    """
    names = {operator.entry_name: operator.name for operator in public}
    candidates = [
        OperatorEntry(operator.entry_name, operator.category.lower()) for operator in public
    ]
    remedy = f"With --source {OP_DB}, operators go by torch's public names."
    return {names[entry.name]: entry.name for entry in selected(candidates, patterns, remedy)}
