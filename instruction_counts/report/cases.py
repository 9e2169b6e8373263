"""A case for people: what it is called, what selects it, its code, and what unfolds below it."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.core.api import TORCH, TimerArgs
from instruction_counts.core.facts import subject_values
from instruction_counts.core.labels import WARM_LOOP
from instruction_counts.core.types import AutogradMode, Case, CaseKey, Language, RuntimeMode
from instruction_counts.domain.metrics import LAUNCHES, metrics
from instruction_counts.domain.outcomes import Outcome, Status, Times
from instruction_counts.domain.records import Record
from instruction_counts.report import causes
from instruction_counts.report.document import (
    Block,
    Column,
    Document,
    Line,
    Role,
    Row,
    Section,
    Table,
)
from instruction_counts.report.format import ABSENT, duration, plural

KEY_NAMES = ("label", "language", "runtime", "autograd", "num_threads")
_USUAL = (Language.PYTHON, RuntimeMode.EAGER, AutogradMode.FORWARD)


def name_of(key: CaseKey) -> str:
    """A case by its label, as ``--only`` takes it, and the modes that are not the usual ones."""
    return " · ".join([key.path, *unusual_modes(key)])


def unusual_modes(key: CaseKey, *, with_language: bool = True) -> Iterator[str]:
    """Its modes that have a name and are not the usual ones; threads where there are several."""
    for mode, usual in zip(key.modes, _USUAL, strict=True):
        if mode is not usual and mode.value and (with_language or usual is not Language.PYTHON):
            yield mode.option if isinstance(mode, AutogradMode) else mode.value
    if key.num_threads > 1:
        yield plural(key.num_threads, "thread")


def selector(key: CaseKey, others: Iterable[CaseKey]) -> str:
    """What selects a case on the command line: its label, and modes where ``others`` share it."""
    siblings = [other.as_values for other in others if other.label == key.label]
    options = (
        f"--{name.replace('_', '-')} {value}"
        for name, value in key.as_values.items()
        if any(other[name] != value for other in siblings)
    )
    return " ".join([shlex.quote(key.path), *options])


def key_cells(key: CaseKey) -> tuple[Any, ...]:
    """What a case is called, as CSV has it: `KEY_NAMES`."""
    return key.path, *(key.as_values[name] for name in KEY_NAMES[1:])


def list_document(cases: Sequence[Case]) -> Document:
    """One line for each case: its label as ``--only`` takes it, and its modes."""
    rows = (Row([name_of(case.key)], case.title) for case in cases)
    table = Table("cases", "", [Column("case", "")], rows)
    return Document("cases", sections=[table], data=[_as_values(case) for case in cases])


def code_document(cases: Sequence[Case]) -> Document:
    """The code of each case, part by part, as it will be executed."""
    blocks = (Block(case.title, _code_lines(case), preformatted=True) for case in cases)
    return Document("code", sections=blocks, data=[_as_values(case) for case in cases])


def _code_lines(case: Case) -> Iterator[Line]:
    args = case.timer_args
    head = {
        "definition": case.definition_hash,
        "artefact (made inside the build)": case.model_source,
        "counted": "" if args.kind == WARM_LOOP else args.kind,
        "imported before": "" if args.imports == TORCH else ", ".join(args.imports) or "nothing",
    }
    for name, code in {**head, **_parts(case.timer_args)}.items():
        if code:
            yield Line(name, indent=2)
            yield from (Line(line.rstrip(), indent=4) for line in code.splitlines())


def _parts(found: TimerArgs | Record) -> dict[str, str]:
    return {"global setup": found.global_setup, "setup": found.setup, "statement": found.stmt}


def _as_values(case: Case) -> dict[str, Any]:
    """Identity fields and code, with the keys that result files have."""
    return {
        **case.key.as_values,
        "definition_hash": case.definition_hash,
        "stmt": case.timer_args.stmt,
        "setup": case.timer_args.setup,
        "global_setup": case.timer_args.global_setup,
        "kind": case.timer_args.kind,
        "imports": list(case.timer_args.imports),
        "metadata": dict(case.metadata),
        "subject": subject_values(case.subject),
        "expected": [attrs.asdict(tensor) for tensor in case.expected],
    }


_ON_CUDA = "cuda: what the CPU executes and asks for, up to CUDA's libraries, which are stand-ins. "
_NO_KERNEL_RUNS = "No kernel runs, and nothing here says how long one takes."
_ON_A_GPU = "Times are of a GPU, with CUDA's own libraries."


def about_cuda(records: Iterable[Record | None]) -> tuple[Line, ...]:
    """What heads every table with cases on CUDA: a line where one of these is."""
    found = [each.outcome for each in records if each and LAUNCHES.name in each.outcome.metrics]
    if not found:
        return ()
    has_times = any(outcome.times is not None for outcome in found)
    return (Line(_ON_CUDA + (_ON_A_GPU if has_times else _NO_KERNEL_RUNS), Role.DIM),)


def details(difference: Difference) -> Iterator[Section]:
    """What unfolds below a compared case on a page: figures of both sides, causes, and its code."""
    rows = [
        Row([name, *(text or ABSENT for text in texts)], name)
        for name, *texts in _figures(difference)
        if any(texts)
    ]
    if rows:
        columns = Column("fact", ""), Column("base", "base"), Column("new", "new")
        yield Table("figures", "", columns, rows)
    if difference.causes:
        yield Block("Causes", causes.texts(difference.causes))
    base, new = (_code(record) for record in (difference.base, difference.new))
    if base and new and base != new:
        yield Block("Code in base", base, preformatted=True)
        yield Block("Code in new", new, preformatted=True)
    elif base or new:
        yield Block("Code", new or base, preformatted=True)


def _figures(difference: Difference) -> Iterator[tuple[str, ...]]:
    """The name of a figure, and its texts in base and new; empty where it is not known."""
    outcomes = [
        Outcome(Status.SKIPPED) if record is None else record.outcome
        for record in (difference.base, difference.new)
    ]
    counted = (found.instructions.windows if found.instructions else () for found in outcomes)
    windows = ([f"{each.instructions:,} / {each.runs}" for each in side] for side in counted)
    yield ("windows (instructions / iterations)", *map(" · ".join, windows))
    if (layouts := difference.layouts) is not None:
        counts = ([f"{count:,}" for count in side] for side in (layouts.base, layouts.new))
        yield ("in other memory layouts", *map(" · ".join, counts))
    yield ("median time (95% interval)", *(_time(found.times) for found in outcomes))
    if (time := difference.time) is not None and time.verdict is not None:
        yield "timed in turns", "", f"{time.verdict.value} ({time.reason})"
    if (cycles := difference.cycles) is not None:
        in_layouts = ([f"{each:,}" for each in of.layouts] for of in (cycles.base, cycles.new))
        yield ("estimated cycles in memory layouts", *map(" · ".join, in_layouts))
        yield "what they say", "", f"{cycles.verdict.value} ({cycles.relative:+.2%})"
    for metric in metrics():
        yield metric.title, *(metric.text(found.metrics.get(metric.name)) for found in outcomes)


def _time(times: Times | None) -> str:
    if times is None:
        return ""
    ends = " to ".join(map(duration, times.median_bounds_s or ()))
    return f"{duration(times.median_s)} ({ends})" if ends else duration(times.median_s)


def _code(record: Record | None) -> list[str]:
    parts = {} if record is None else _parts(record)
    texts = (f"# {name}\n{text}" for name, text in parts.items() if text)
    return "\n".join(texts).splitlines()
