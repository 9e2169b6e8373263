"""Baselines: what cases cost when that was last accepted, in a file that is committed.

One case a line, in the order of their keys, without times and paths: the difference of two versions
is what changed. Format history: 1, the first.
"""

import json
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.analysis.attribution.functions import layer_counts
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.verdicts.comparison import Comparison, causes_of, compare, verified
from instruction_counts.analysis.verdicts.difference import Difference, noise_floor
from instruction_counts.analysis.verdicts.sides import Disagreement, Side, disagreements
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.bounds import Count, Positive
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.executed import (
    CudaCalls,
    CudaKind,
    Executed,
    OperatorCalls,
    PythonFunction,
)
from instruction_counts.domain.metrics import ALLOCATIONS, Amounts, metrics
from instruction_counts.domain.outcomes import Instructions, Outcome, Status
from instruction_counts.domain.records import Record
from instruction_counts.reading.structure import (
    Mismatch,
    names_of,
    read_as,
    refuse,
    require_version,
    strict_converter,
)

FORMAT_VERSION = 1

_MUST_AGREE = {"C library", "Python", "compiler", "implementation", "instruction set of the counts"}
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
    def of(cls, side: Side) -> "Head":
        """The head for what ``side`` holds."""
        known = {"engine": side.engine, **attrs.asdict(side.fingerprint)}
        return cls(**{field.name: known[field.name] for field in attrs.fields(cls)})


@attrs.frozen
class KeptExecution:
    """What an iteration executed: Python functions by bytecodes, operators and CUDA by calls.

    Without lines, which change with every edit above a function: the difference of two versions of
    the file is what changed.
    """

    python: str
    """The version of Python, without its last part; empty for C++."""
    functions: Mapping[str, Mapping[str, Mapping[str, Positive]]] | None
    """Bytecodes by file, name and digest of the code; None for C++."""
    operators: Mapping[str, Positive]
    backward: Mapping[str, Positive]
    """Operators that nodes of the backward graph call."""
    cuda: Mapping[CudaKind, Mapping[str, Positive]] | None = None
    """What is asked of CUDA, by kind and name; None of cases that are not on it."""

    @classmethod
    def of(cls, executed: Executed | None) -> "KeptExecution | None":
        """What is kept of it; None where it is not known."""
        if executed is None:
            return None
        functions: dict[str, dict[str, Counter[str]]] = {}
        for function in sorted(executed.functions or ()):
            found = functions.setdefault(function.file, {}).setdefault(function.name, Counter())
            found[function.digest] += function.bytecodes
        calls: tuple[dict[str, int], dict[str, int]] = ({}, {})
        for operator in sorted(executed.operators):
            calls[operator.backward][operator.name] = operator.calls
        cuda: dict[CudaKind, dict[str, int]] = {}
        for asked in executed.cuda or ():
            cuda.setdefault(asked.kind, {})[asked.name] = asked.calls
        return cls(
            executed.python,
            functions if executed.functions is not None else None,
            *calls,
            cuda if executed.cuda is not None else None,
        )

    @property
    def executed(self) -> Executed:
        """The same without lines."""
        functions = (
            PythonFunction(file, 0, name, digest, bytecodes)
            for file, names in (self.functions or {}).items()
            for name, digests in names.items()
            for digest, bytecodes in digests.items()
        )
        operators = (
            OperatorCalls(name, backward, calls)
            for backward, side in ((False, self.operators), (True, self.backward))
            for name, calls in side.items()
        )
        cuda = (
            CudaCalls(kind, name, calls)
            for kind, names in (self.cuda or {}).items()
            for name, calls in names.items()
        )
        return Executed(
            None if self.functions is None else tuple(functions),
            tuple(operators),
            self.python,
            None if self.cuda is None else tuple(cuda),
        )


@attrs.frozen
class BaselineCase(CaseKey):
    """A case, and what it costs."""

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

    @classmethod
    def of(cls, record: Record, noises: Sequence[Noise] = ()) -> "BaselineCase":
        """The case that a counted ``record`` makes, with what is also known of its noise."""
        counted = record.outcome.instructions
        assert counted is not None, "asked of counted cases only"
        noises = [*noises, *([] if record.noise is None else [record.noise])]
        judged = {metric.name for metric in metrics() if metric.judged and metric.exact}
        kept = judged | {ALLOCATIONS.name}
        count, seen = counted.per_run, [noise for noise in noises if noise.layouts]
        fresh = max((noise.server_spread for noise in noises), default=0.0)
        moved = max((noise.layout_spread for noise in seen), default=0.0)
        return cls(
            **attrs.asdict(record.key, recurse=False),
            definition_hash=record.definition_hash,
            instructions=count,
            exact=counted.exact,
            spread=min(count, max(counted.spread, _share_of(count, fresh))),
            metrics=Amounts({n: v for n, v in record.outcome.metrics.items() if n in kept}),
            layouts=max((noise.layouts for noise in seen), default=0),
            layout_spread=_share_of(count, moved),
            layers=layer_counts(record),
            executed=KeptExecution.of(record.outcome.executed),
        )

    @property
    def key(self) -> CaseKey:
        """What the case is called."""
        return CaseKey(self.label, *self.modes, self.num_threads)

    @property
    def noise(self) -> Noise:
        """What is known of its noise."""
        relative = self.layout_spread / max(1, self.instructions)
        return Noise(layout_spread=relative, layouts=self.layouts)

    @property
    def noise_floor(self) -> int:
        """Instructions by which it may differ without any change of code."""
        counted = self._instructions
        return noise_floor(counted, counted, self.key, [self.noise])[0]

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
            build="baseline",
            stmt="",
            setup="",
            global_setup="",
            definition_hash=self.definition_hash,
            outcome=outcome,
            noise=self.noise,
        )

    @property
    def _instructions(self) -> Instructions:
        return Instructions(self.instructions, self.exact, (), self.spread)


def _share_of(count: int, share: float) -> int:
    """In instructions, rounded up; what was made a share of them before becomes no more."""
    return math.ceil(round(share * count, 6))


@attrs.frozen
class Baseline:
    """A baseline file."""

    head: Head
    cases: Mapping[CaseKey, BaselineCase]

    def side_for(self, new: Side, title: str) -> Side:
        """The baseline as the side that ``new`` is compared with."""
        records = {key: case.record for key, case in self.cases.items()}
        known = attrs.asdict(self.head)
        engine = known.pop("engine")
        # Of what a baseline does not keep it says what the other side says.
        fingerprint = attrs.evolve(new.fingerprint, **known, torch_git="")
        return Side(title, engine, fingerprint, records)

    def obstacles(self, new: Side, *, allow_different: bool = False) -> tuple[Disagreement, ...]:
        """What keeps ``new`` from being compared; only what `prevents` cannot be allowed."""
        allowed = set() if allow_different else _MUST_AGREE
        found = disagreements(self.side_for(new, ""), new)
        return tuple(each for each in found if each.prevents or each.name in allowed)

    def compared(self, new: Side, title: str) -> Comparison:
        """The baseline, called ``title``, with ``new``."""
        return compare(self.side_for(new, title), new, causes=self.causes)

    def causes(self, difference: Difference) -> tuple[Cause, ...]:
        """What a case executes that it did not, then the layers in which it changed.

        In each the largest change comes first.
        """
        executed = causes_of(difference)
        case = self.cases.get(difference.key)
        if case is None or difference.new is None or not difference.change:
            return executed
        after = layer_counts(difference.new.completed)
        if not after or not case.layers:
            return executed
        layers = [
            Cause(CauseKind.LAYER, layer.value, case.layers.get(layer, 0), after.get(layer, 0))
            for layer in Layer
        ]
        layers.sort(key=lambda cause: -abs(cause.change))
        return (*executed, *(cause for cause in layers if cause.change))


def verified_against(
    comparison: Comparison, baseline: Baseline, counts: Sequence[Mapping[CaseKey, int]]
) -> Comparison:
    """The comparison after its suspects were counted again in layouts of the new build alone.

    The layouts of the baseline are those that it remembers. It knows how far they moved a case and
    not to which side, so the whole range is taken to lie on the side of the change.
    """
    usual, edge = {}, {}
    for suspect in comparison.suspects:
        case = baseline.cases[suspect.key]
        side = 1 if (suspect.change or 0) > 0 else -1
        usual[suspect.key] = case.instructions
        edge[suspect.key] = case.instructions + side * case.noise_floor
    return verified(comparison, [usual] * len(counts), counts, edge)


def to_json(baseline: Baseline) -> str:
    """The text of the file; `read_baseline` gives the baseline back."""
    head = {"baseline_version": FORMAT_VERSION, **attrs.asdict(baseline.head)}
    cases = (baseline.cases[key] for key in sorted_keys(baseline.cases))
    lines = (json.dumps(_CONVERTER.unstructure(case)) for case in cases)
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
    "A run is not a baseline: `baseline accept FILE RUN` makes one of it. Was the file edited, or "
    "is a merge unfinished? Restore the committed file, then accept again."
)


@attrs.frozen
class _File(Head):
    cases: tuple[BaselineCase, ...]


def _baseline(data: Any, _: Any) -> Baseline:
    file = _CONVERTER.structure(data, _File)
    cases: dict[CaseKey, BaselineCase] = {}
    for place, case in enumerate(file.cases):
        if case.key in cases:
            raise Mismatch("unique cases", "a duplicate case", ("cases", place))
        cases[case.key] = case
    return Baseline(Head(**{name: getattr(file, name) for name in names_of(Head)}), cases)


def sorted_keys(keys: Iterable[CaseKey]) -> list[CaseKey]:
    """The keys in the order of the file."""
    return sorted(
        keys, key=lambda key: (key.label, *(mode.value for mode in key.modes), key.num_threads)
    )


_CONVERTER = strict_converter()
_CONVERTER.register_structure_hook(Baseline, _baseline)
require_version(_CONVERTER, _File, "baseline_version", FORMAT_VERSION)
