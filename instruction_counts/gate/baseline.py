"""Baselines: what cases cost when that was last accepted, in a file that is committed.

One case a line, in the order of their keys, without times and paths: the difference of two versions
is what changed. Format history: 1, the first.
"""

from __future__ import annotations

import functools
import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.analysis.attribution.causes import causes_of_case, executed_changes
from instruction_counts.analysis.attribution.functions import layer_counts
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.verdicts.changes import OTHER_PROGRAMS
from instruction_counts.analysis.verdicts.comparison import Comparison, compare, verified
from instruction_counts.analysis.verdicts.difference import Difference, noise_floor
from instruction_counts.analysis.verdicts.sides import Disagreement, Side, disagreements
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.bounds import Count
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.metrics import (
    ALLOCATIONS,
    BYTECODES,
    OPERATOR_CALLS,
    Amounts,
    metrics,
)
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Instructions, Outcome, Status
from instruction_counts.domain.records import Complete, Record, as_it_is
from instruction_counts.gate.kept_execution import KeptExecution
from instruction_counts.reading.structure import (
    Inline,
    Mismatch,
    Parsed,
    read_as,
    refuse,
    require_version,
    strict_converter,
)

FORMAT_VERSION = 1

_MUST_AGREE = {
    "C library",
    "Python",
    "compiler",
    "implementation",
    "instruction set of the counts",
}
"""What changes counts without a change of torch, and so has to be allowed by hand."""


@attrs.frozen
class Head:
    """The build of the baseline, as far as it decides what can be compared with it."""

    engine: str
    torch: str
    python: str
    implementation: str
    machine: str
    cpu: str
    libc: str
    compiler: str
    valgrind: str
    allocator: str
    profile_version: int
    pinned_isa: str
    counted_capability: str
    counted_by: str
    caches: str
    aslr_off: bool

    @classmethod
    def of(cls, side: Side) -> Head:
        """The head for what ``side`` holds."""
        names = [field.name for field in attrs.fields(cls) if field.name != "engine"]
        return cls(side.engine, **{name: getattr(side.fingerprint, name) for name in names})

    def fingerprint(self, like: Fingerprint) -> Fingerprint:
        """As a fingerprint; of what a baseline does not keep it says what ``like`` says."""
        mine = attrs.asdict(self)
        del mine["engine"]
        return attrs.evolve(like, **mine, torch_git="", tool_version=f"baseline {FORMAT_VERSION}")


@attrs.frozen
class BaselineCase:
    """What one case costs."""

    key: Inline[CaseKey]
    definition_hash: str
    instructions: Count
    exact: bool
    spread: Count
    """What windows, or fresh servers, disagree by; at most the count, as what layouts move."""
    metrics: Amounts
    layouts: Count
    """In how many further memory layouts it was counted; 0 says that nothing is known of them."""
    layout_spread: Count
    """Instructions that these moved it by."""
    layers: Mapping[Layer, int]
    """Instructions by layer, which add up; empty where the costs of functions are not known."""
    executed: KeptExecution | None
    """What an iteration executed; None where that is not known."""

    def __attrs_post_init__(self) -> None:
        """Refuse figures that contradict each other."""
        refuse(self._contradictions())

    def _contradictions(self) -> Iterator[Mismatch]:
        for name in ("spread", "layout_spread"):
            if getattr(self, name) > self.instructions:  # every change would pass as noise
                yield Mismatch(f"at most {self.instructions}, the count", at=(name,))
        total = sum(self.layers.values())
        if self.layers and total != self.instructions:
            yield Mismatch(f"layers that add up to {self.instructions}", str(total), ("layers",))
        executed = None if self.executed is None else self.executed.executed
        if executed is not None:
            for metric, number, part in (
                (BYTECODES, executed.bytecodes, "functions"),
                (OPERATOR_CALLS, executed.operator_calls, "operators"),
            ):
                expected = self.metrics.get(metric.name, number)
                if number != expected:
                    text = f"{part} that add up to {expected}, as in metrics"
                    yield Mismatch(text, str(number), ("executed", part))

    @classmethod
    def of(cls, record: Record, noises: Sequence[Noise] = ()) -> BaselineCase:
        """The case that a counted ``record`` makes, with what is known of its noise."""
        counted = record.outcome.instructions
        assert counted is not None, "asked of counted cases only"
        seen = [noise for noise in noises if noise.layouts]
        fresh = max((noise.server_spread for noise in noises), default=0.0)
        moved = max((noise.layout_spread for noise in seen), default=0.0)
        return cls(
            record.key,
            record.definition_hash,
            counted.per_run,
            counted.exact,
            min(counted.per_run, max(counted.spread, math.ceil(fresh * counted.per_run))),
            _kept(record.outcome.metrics),
            max((noise.layouts for noise in seen), default=0),
            min(counted.per_run, math.ceil(moved * counted.per_run)),
            layer_counts(record),
            kept_execution(record),
        )

    @property
    def noise(self) -> Noise:
        """What is known of its noise."""
        relative = self.layout_spread / max(1, self.instructions)
        return Noise(layout_spread=relative, layouts=self.layouts)

    @property
    def noise_floor(self) -> int:
        """Instructions by which it may differ without any change of code."""
        counted = self._instructions
        return noise_floor(counted, counted, self.key.language, [self.noise]).instructions

    @property
    def record(self) -> Record:
        """The case as a record, without its code."""
        executed = None if self.executed is None else self.executed.executed
        outcome = Outcome(
            *(Status.OK, self._instructions),
            metrics=self.metrics,
            executed=executed,
            executed_digests=None if executed is None else executed.digests,
        )
        return Record(
            **attrs.asdict(self.key, recurse=False),
            definition_hash=self.definition_hash,
            build="baseline",
            stmt="",
            setup="",
            global_setup="",
            outcome=outcome,
            noise=self.noise,
        )

    @property
    def _instructions(self) -> Instructions:
        return Instructions(self.instructions, self.exact, (), self.spread)


def kept_execution(record: Record) -> KeptExecution | None:
    """What is kept of what a record with its details executed; None where that is not known."""
    executed = record.outcome.executed
    return None if executed is None else KeptExecution.of(executed)


def _kept(amounts: Amounts) -> Amounts:
    names = {metric.name for metric in metrics() if metric.judged and metric.exact} | {
        ALLOCATIONS.name
    }
    return Amounts({name: amount for name, amount in amounts.items() if name in names})


@attrs.frozen
class Baseline:
    """A baseline file."""

    head: Head
    cases: Mapping[CaseKey, BaselineCase]

    def side_for(self, new: Side, title: str) -> Side:
        """The baseline as the side that ``new`` is compared with."""
        records = {key: case.record for key, case in self.cases.items()}
        return Side(title, self.head.engine, self.head.fingerprint(new.fingerprint), records)

    def obstacles(self, new: Side, *, allow_different: bool = False) -> tuple[Disagreement, ...]:
        """What keeps ``new`` from being compared; only what `prevents` cannot be allowed."""
        allowed = set() if allow_different else _MUST_AGREE
        found = disagreements(self.side_for(new, ""), new)
        return tuple(each for each in found if each.prevents or each.name in allowed)

    def compared(self, new: Side, title: str, complete: Complete = as_it_is) -> Comparison:
        """The baseline, called ``title``, with ``new``."""
        causes = functools.partial(self.causes, complete=complete)
        return compare(self.side_for(new, title), new, causes=causes)

    def causes(self, difference: Difference, complete: Complete = as_it_is) -> tuple[Cause, ...]:
        """What a case executes that it did not, then the layers in which it changed.

        In each the largest change comes first.
        """
        case = self.cases.get(difference.key)
        is_changed = difference.change or difference.program in OTHER_PROGRAMS
        if case is None or difference.new is None or not is_changed:
            return ()
        record = complete(difference.new)
        before = case.record.outcome.executed
        executed = causes_of_case(executed_changes(before, record.outcome.executed))
        after = layer_counts(record)
        if not after or not case.layers or not difference.change:
            return executed
        causes = [
            Cause(CauseKind.LAYER, layer.value, case.layers.get(layer, 0), after.get(layer, 0))
            for layer in Layer
        ]
        causes.sort(key=lambda cause: -abs(cause.change))
        return (*executed, *(cause for cause in causes if cause.change))


def verified_against(
    comparison: Comparison, baseline: Baseline, counts: Sequence[Mapping[CaseKey, int]]
) -> Comparison:
    """The comparison after its suspects were counted again in layouts of the new build alone.

    The layouts of the baseline are those that it remembers. It knows how far they moved a case and
    not to which side, so the whole range is taken to lie on the side of the change.
    """
    usual: dict[CaseKey, int] = {}
    edge: dict[CaseKey, int] = {}
    for suspect in comparison.suspects:
        case = baseline.cases[suspect.key]
        worse = (suspect.change or 0) > 0
        usual[suspect.key] = case.instructions
        edge[suspect.key] = case.instructions + (case.noise_floor if worse else -case.noise_floor)
    return verified(comparison, [usual] * len(counts), counts, edge)


def to_json(baseline: Baseline) -> str:
    """The text of the file; `read_baseline` gives the baseline back."""
    head = {"baseline_version": FORMAT_VERSION, **attrs.asdict(baseline.head)}
    lines = (
        json.dumps(_CONVERTER.unstructure(baseline.cases[key]))
        for key in sorted_keys(baseline.cases)
    )
    opening = json.dumps(head, indent=1).removesuffix("\n}")
    body = ",\n  ".join(lines)
    return f'{opening},\n "cases": [\n  {body}\n ]\n}}\n'


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file; `to_json` wrote its text.

    Raises:
        DataError: the file is missing.
        ValidationError: it is not JSON, of another version, or holds something else.
    """
    if not path.exists():
        command = f"baseline accept {shlex.quote(str(path))} RUN"
        raise DataError(f"{path}: no such baseline", "Create it:", command)
    return read_as(path, Baseline, _CONVERTER, _AGAIN, as_json=True)


_AGAIN = (
    "Was it edited, or is a merge unfinished? Restore the committed file, then run:\n"
    "  baseline accept FILE RUN"
)


@attrs.frozen
class _File:
    head: Inline[Head]
    cases: tuple[BaselineCase, ...]


def _baseline(data: Any, _: Any) -> Baseline:
    file = _CONVERTER.structure(data, _File)
    cases: dict[CaseKey, BaselineCase] = {}
    for place, case in enumerate(file.cases):
        if case.key in cases:
            raise Mismatch("unique cases", "a duplicate case", ("cases", place))
        cases[case.key] = case
    return Baseline(file.head, cases)


def sorted_keys(keys: Mapping[CaseKey, object]) -> Iterator[CaseKey]:
    """The keys in the order of the file."""

    def order(key: CaseKey) -> tuple[object, ...]:
        return key.label, *(mode.value for mode in key.modes), key.num_threads

    return iter(sorted(keys, key=order))


def _amounts(data: Any) -> Amounts:
    return Amounts(_CONVERTER.structure(data, dict[str, int | float]))


_CONVERTER = strict_converter()
_CONVERTER.register_structure_hook(Amounts, Parsed(_amounts))
_CONVERTER.register_unstructure_hook(Amounts, dict)
_CONVERTER.register_structure_hook(Baseline, _baseline)
require_version(_CONVERTER, _File, "baseline_version", FORMAT_VERSION)
