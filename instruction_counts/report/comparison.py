"""A comparison as a document: the answer, what explains it, then one line for each case."""

import math
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from instruction_counts.analysis.models import Models
from instruction_counts.analysis.verdicts.beside import (
    CyclesChange,
    CyclesVerdict,
    TimeChange,
    TimeVerdict,
)
from instruction_counts.analysis.verdicts.comparison import Comparison, SharedCauses, shared_causes
from instruction_counts.analysis.verdicts.difference import (
    FAR_BEYOND,
    ON_COUNTS,
    OTHER_PROGRAMS,
    Difference,
    Reason,
    Verdict,
)
from instruction_counts.analysis.verdicts.sides import Side, disagreements
from instruction_counts.domain.build import Fingerprint
from instruction_counts.domain.metrics import CYCLES, OF_CYCLES, metrics
from instruction_counts.domain.records import Record
from instruction_counts.report import causes
from instruction_counts.report.cases import KEY_NAMES, about_cuda, details, name_of, selector
from instruction_counts.report.document import (
    Block,
    CaseTest,
    Cell,
    Column,
    Document,
    Line,
    Role,
    Row,
    Table,
    Unit,
    records_table,
)
from instruction_counts.report.format import count_cell, duration, plural, relative
from instruction_counts.report.renderers.markdown import LONGEST_COMMENT
from instruction_counts.system.program import program_name

FORMAT_VERSION = 1
"""Of the JSON of comparisons."""

SHOWN = 20
"""So many cases of a verdict are shown on a screen."""
_NAMED = 20
"""So many skipped cases are named."""

ROLES = {
    Verdict.WORSE: Role.BAD,
    Verdict.BETTER: Role.GOOD,
    Verdict.AMBIGUOUS: Role.WARNING,
    Verdict.INCOMPARABLE: Role.WARNING,
    Verdict.FAILED: Role.BAD,
    Verdict.ADDED: Role.STRONG,
    Verdict.MISSING: Role.STRONG,
}
_GROUPS = {
    "output": ("OUTPUT DIFFERS", Role.BAD, "the builds compute different values"),
    **{verdict.value: (verdict.value.upper(), role, "") for verdict, role in ROLES.items()},
    "metrics": ("OTHER METRICS CHANGED", Role.WARNING, "verdict on instructions: same"),
    "times": ("TIMES CHANGED", Role.WARNING, "timed in turns"),
    "cycles": ("ESTIMATED CYCLES CHANGED", Role.WARNING, "in all memory layouts"),
}
_CHANGED = {Verdict.WORSE, Verdict.BETTER}
_SAID_BY_THE_TABLE = {
    *(Reason.EXACT_DIFFERENCE, Reason.BEYOND_LAYOUTS, Reason.FAR_BEYOND_LAYOUTS),
    *(Reason.ONLY_IN_NEW, Reason.ONLY_IN_BASE),
}
_OTHER_CODE = {Reason(program.value) for program in OTHER_PROGRAMS}
_COLUMNS = (
    Column("case", "", of=lambda case: name_of(case.key)),
    Column("base", "base", Unit.COUNT, of=lambda case: _count(case.base_count, case.base)),
    Column("new", "new", Unit.COUNT, of=lambda case: _count(case.new_count, case.new)),
    Column("change", "change", Unit.CHANGE, of=lambda case: change_cell(case.change, case)),
    Column("relative", "%", Unit.RELATIVE, of=lambda case: change_cell(case.relative, case)),
    Column("noise", "±", Unit.SPREAD, of=lambda case: (case.noise_origin and case.noise) or ""),
    Column("cycles", "cycles", Unit.RELATIVE, of=lambda case: _beside(case.cycles)),
    Column("time", "time", Unit.RELATIVE, of=lambda case: _beside(case.time)),
)
_LEGEND = (
    "Instructions per iteration. Python, eager and forward unless stated otherwise. "
    "±: how far noise moves a case."
)


_TIME_LEGEND = (
    " time: timed in turns; = no difference above 1%, ? cannot tell (verdicts on counts stand)."
)
_CYCLES_LEGEND = " cycles: estimated by simulating caches; = no difference above 2%, ? cannot tell."
_EQUAL, _UNKNOWN = Cell("=", Role.DIM), Cell("?")
_NO_CHANGE: dict[TimeVerdict | CyclesVerdict | None, Cell] = {
    None: Cell(""),
    **dict.fromkeys((TimeVerdict.NO_DIFFERENCE, CyclesVerdict.NO_DIFFERENCE), _EQUAL),
    **dict.fromkeys((TimeVerdict.CANNOT_TELL, CyclesVerdict.CANNOT_TELL), _UNKNOWN),
}
"""What stands for verdicts on time and cycles that are no change; None is that there is none."""


def comparison_document(
    comparison: Comparison,
    names: Sequence[str] = (),
    tests: tuple[CaseTest, ...] | None = None,
    limits: Block | None = None,
    *,
    interrupted: bool = False,
) -> Document:
    """All that a comparison says, or what it says so far where it was ``interrupted``.

    ``names`` are what its sides are called on the command line, ``tests`` and ``limits`` what
    limits make of it.
    """
    shared = shared_causes(comparison.differences)
    compared = comparison.differences
    cases = [case_values(difference) for difference in compared]
    tables = tuple(_tables(comparison, shared))
    return Document(
        "comparison",
        answer=[
            tally(comparison),
            *_tally_of("estimated cycles", CyclesVerdict, (each.cycles for each in compared)),
            *_tally_of("times", TimeVerdict, (each.time for each in compared)),
            *about_cuda(difference.new for difference in comparison.differences),
        ],
        facts=facts([comparison.base, comparison.new]),
        sections=[*causes.tables(shared), *tables, *([] if limits is None else [limits])],
        notes=_notes(comparison, has_tables=bool(tables)),
        next_command=_next(comparison.differences, tables, names),
        longest=LONGEST_COMMENT,
        data={
            "format_version": FORMAT_VERSION,
            "base": side_values(comparison.base),
            "new": side_values(comparison.new),
            "disagreements": comparison.disagreements,
            "min_effect": comparison.min_effect,
            "layouts": comparison.layouts,
            "interrupted": interrupted,
            "tally": {verdict.value: number for verdict, number in comparison.tally.items()},
            "mean_change": _mean_change(_counted(comparison)),
            "cases": cases,
            "causes": causes.every_as_values(shared, comparison.differences),
            "skipped_by_budget": [
                {**key.as_values, "time_budget": budget}
                for key, budget in comparison.skipped_by_budget.items()
            ],
        },
        records=_records(cases),
        tests=tests,
    )


def facts(sides: Sequence[Side]) -> Table:
    """What is shown, in a column for each side: what is the same on both is left out."""
    is_pair = len(sides) > 1
    rows = [Row(["torch", *(torch_of(side.fingerprint) for side in sides)])]
    for found in disagreements(*sides) if is_pair else ():
        if not found.expected:
            remark = "counts cannot be compared" if found.prevents else ""
            role = Role.BAD if found.prevents else Role.WARNING
            after = Cell(found.new or "none", remark=remark)
            rows.append(Row([found.name, found.base or "none", after], role=role))
    changed = [changed_files(side) for side in sides]
    if any(changed):
        rows.append(Row(["changed during the run", *changed], role=Role.WARNING))
    roles = {"base": "base: ", "new": "new: "} if is_pair else {"value": ""}
    columns = (
        Column(role, role if side.title == role else f"{start}{side.title}")
        for (role, start), side in zip(roles.items(), sides, strict=True)
    )
    return Table("facts", "", [Column("fact", ""), *columns], rows)


def torch_of(found: Fingerprint) -> str:
    """The version of torch, with its commit where that is known."""
    return f"{found.torch} ({found.torch_git[:10]})" if found.torch_git else found.torch


def changed_files(side: Side) -> str:
    """What makes the counts of a side doubtful: they may be of other code. Mostly empty."""
    return "" if side.changed_files is None else side.changed_files.summary


def tally(comparison: Comparison) -> Line:
    """``250 cases: 231 same · 12 better · 4 worse · in all -0.21%``."""
    counts = comparison.tally
    parts = [f"{counts[verdict]:,} {verdict.value}" for verdict in Verdict if counts[verdict]]
    counted = _counted(comparison)
    mean = _mean_change(counted)
    # Of cases that are the same within noise, the mean is noise.
    if mean is not None and any(difference.verdict in _CHANGED for difference in counted):
        parts.append(f"in all {relative(round(mean, 4))}")
    number = plural(len(comparison.differences), "case")
    return Line(f"{number}: {' · '.join(parts) or 'nothing to compare'}", Role.STRONG)


def _tally_of(
    what: str,
    verdicts: type[TimeVerdict | CyclesVerdict],
    changes: Iterable[TimeChange | CyclesChange | None],
) -> Iterator[Line]:
    """``times: 3 slower · 150 no difference above 1%``, where there are verdicts."""
    counts = Counter(change.verdict for change in changes if change is not None)
    parts = [f"{counts[verdict]:,} {verdict.value}" for verdict in verdicts if counts[verdict]]
    if parts:
        yield Line(f"{what}: {' · '.join(parts)}")


def _counted(comparison: Comparison) -> list[Difference]:
    """The cases whose counts were compared: those of other code or output say nothing."""
    return [case for case in comparison.differences if case.verdict in ON_COUNTS]


def _mean_change(differences: Iterable[Difference]) -> float | None:
    """By how much the cases changed on average, as a factor less 1: a geometric mean."""
    counts = ((case.base_count or 0, case.new_count or 0) for case in differences)
    logs = [math.log(new / base) for base, new in counts if base > 0 and new > 0]
    return math.expm1(math.fsum(logs) / len(logs)) if logs else None


def cases_table(
    name: str,
    title: str,
    role: Role,
    cases: Iterable[tuple[Difference, Iterable[str]]],
    remark: str = "",
    *,
    folded: bool = False,
) -> Table:
    """Cases with what is said of each, the largest relative change first."""
    rows = (
        Row(
            [column.of(case) for column in _COLUMNS],
            name_of(case.key),
            causes.why(said, clipped=case.verdict is not Verdict.FAILED),
            indent=2,
            details=tuple(details(case)),
        )
        for case, said in sorted(cases, key=lambda pair: -abs(pair[0].relative or 0))
    )
    return Table(
        name, title, _COLUMNS, rows, role, remark=remark, shown=SHOWN, folded=folded
    ).without_empty_columns()


def change_cell(amount: float | None, difference: Difference | None) -> Cell:
    """A change of a case, absolute or relative; nothing where it is not known."""
    if amount is None or difference is None:
        return Cell("")
    return Cell(amount, Role.of_change(difference.change))


def _beside(change: TimeChange | CyclesChange | None) -> Cell:
    """The change of time or cycles where one was found; nothing where there is no verdict."""
    verdict = None if change is None else change.verdict
    if change is None or verdict in _NO_CHANGE:
        return _NO_CHANGE[verdict]
    return Cell(change.relative, Role.of_change(change.relative))


def _count(count: int | None, record: Record | None) -> Cell:
    if count is None or record is None:
        return Cell("")
    return attrs.evolve(count_cell(record.outcome.instructions), value=count)


def why(difference: Difference, shared: SharedCauses, models: Models) -> Iterator[str]:
    """What is said of a case: its reason, where that is not the change alone, and its causes."""
    yield from _said_of_times_in_turns(difference)
    yield from _said_of_cycles(difference)
    # The first cause names the code that differs.
    is_said = difference.reason in _OTHER_CODE and difference.verified and difference.causes
    if difference.verdict in {Verdict.FAILED, Verdict.INCOMPARABLE}:
        yield reason_of(difference)
    elif difference.reason not in _SAID_BY_THE_TABLE and not is_said:
        effect = difference.effect
        amount = f" ({effect:+,})" if effect and effect != difference.change else ""
        yield f"{difference.reason.value}{amount}"
    if difference.output is not None and difference.output.differs:
        yield f"output: {difference.output.text}"
    yield from causes.of_case(difference, shared)
    for change in difference.metrics:
        before, after = (change.metric.text(amount) for amount in (change.base, change.new))
        yield f"{change.metric.title}: {before} → {after} ({change.verdict})"
    yield from models.impacts(difference.base, difference.change)
    if (time := difference.time) and time.verdict is None and time.significant:
        seconds = f"{duration(time.base_s)} → {duration(time.new_s)}"
        yield f"time {seconds} ({relative(time.relative)})"


def _said_of_times_in_turns(difference: Difference) -> Iterator[str]:
    """What the column does not say: that time and instructions disagree."""
    time, change = difference.time, difference.change or 0
    verdict = time and time.verdict
    if time and verdict and verdict not in _NO_CHANGE and change * time.relative <= 0:
        start = f"{'fewer' if change < 0 else 'more'} instructions, {verdict.value}: "
        seconds = f"{duration(time.base_s)} → {duration(time.new_s)}"
        yield f"{start if change else ''}time {seconds} ({time.reason})"


def _said_of_cycles(difference: Difference) -> Iterator[str]:
    """Estimated cycles that changed, and what changed most beside instructions."""
    change = difference.cycles
    if change is None or change.verdict in _NO_CHANGE:
        return
    yield f"cycles: {change.base.median:,.0f} → {change.new.median:,.0f}"
    before, after = (
        record.outcome.metrics for record in (difference.base, difference.new) if record
    )
    changes = {
        metric: abs(after[metric.name] - before[metric.name])
        for metric in OF_CYCLES
        if metric is not CYCLES and metric.name in before and metric.name in after
    }
    if changes and any(changes.values()):
        most = max(changes, key=lambda metric: changes[metric])
        yield f"{most.title}: {before[most.name]:,} → {after[most.name]:,}"


def reason_of(difference: Difference) -> str:
    """The reason, with the message of a failure."""
    for record in (difference.new, difference.base):
        if record is not None and record.outcome.failure is not None:
            return f"{difference.reason.value}: {record.outcome.failure.summary}"
    return difference.reason.value


def _tables(comparison: Comparison, shared: SharedCauses) -> Iterator[Table]:
    models = Models(comparison.base.records.values())
    groups: dict[str, list[Difference]] = defaultdict(list)
    for case in comparison.differences:
        name = "output" if case.reason is Reason.OUTPUT_DIFFERS else case.verdict.value
        time = None if case.time is None else case.time.verdict
        if name == Verdict.SAME.value and case.metrics:
            name = "metrics"
        elif name == Verdict.SAME.value or (case.reason is Reason.NOT_COUNTED and time):
            has_others = case.cycles is not None and case.cycles.verdict not in _NO_CHANGE
            name = "cycles" if has_others else Verdict.SAME.value
            name = "times" if time not in _NO_CHANGE else name
        groups[name].append(case)
    for name, (title, role, remark) in _GROUPS.items():
        if mine := groups[name]:
            said = [(case, why(case, shared, models)) for case in mine]
            folded = name not in {"output", "worse", "metrics"}
            yield cases_table(name, title, role, said, remark or how_sure(mine), folded=folded)


def how_sure(cases: Iterable[Difference]) -> str:
    """How many of those that changed, or may have, were verified, and how."""
    differences = [case for case in cases if case.verdict in {*_CHANGED, Verdict.AMBIGUOUS}]
    numbers = sorted({len(case.layouts.new) for case in differences if case.layouts is not None})
    counted = sum(case.layouts is not None for case in differences)
    far = sum(
        case.reason is Reason.FAR_BEYOND_LAYOUTS and case.layouts is None for case in differences
    )
    certain = sum(case.verified for case in differences) - counted - far
    memory = f"memory layout{'' if numbers == [1] else 's'}"
    parts = {
        f"verified in {' or '.join(map(str, numbers))} {memory}": counted,
        "certain: different code is executed": certain,
        f"certain: over {FAR_BEYOND:.0%}, far more than layouts move": far,
        "not verified": len(differences) - counted - certain - far,
    }
    known = {text: many for text, many in parts.items() if many}
    return ", ".join(known if len(known) == 1 else (f"{n:,} {text}" for text, n in known.items()))


def skipped_notes(comparison: Comparison) -> Iterator[Line]:
    """A line for what a time budget skipped, if it skipped anything."""
    budgets = {key.title: budget for key, budget in comparison.skipped_by_budget.items()}
    return skipped_lines(budgets, len(comparison.differences))


def skipped_lines(budgets: dict[str, str], measured: int) -> Iterator[Line]:
    """``12 of 300 cases measured within 60 s; …``: the skipped ones by name, with the budgets.

    No line where nothing was skipped.
    """
    if budgets:
        within = " and ".join(dict.fromkeys(budgets.values()))
        named = ", ".join(list(budgets)[:_NAMED])
        more = f", and {len(budgets) - _NAMED:,} more" if len(budgets) > _NAMED else ""
        whole = plural(measured + len(budgets), "case")
        text = f"{measured:,} of {whole} measured within {within}; skipped: {len(budgets):,}"
        yield Line(f"{text}: {named}{more}", Role.WARNING)


def _notes(comparison: Comparison, *, has_tables: bool) -> Iterator[Line]:
    yield from skipped_notes(comparison)
    least = f"its noise and the minimum effect, {comparison.min_effect}"
    other = "other " if has_tables else ""
    rest = f"No {other}case changed by more than {least}."
    if any(map(_is_of_other_machine, comparison.differences)):
        yield Line("Estimated cycles are not compared: they are those of different machines.")
    timed = any(case.time and case.time.verdict for case in comparison.differences)
    has_cycles = any(case.cycles for case in comparison.differences)
    legend = f"{_LEGEND}{_CYCLES_LEGEND if has_cycles else ''}{_TIME_LEGEND if timed else ''}"
    yield Line(f"{legend} {rest}" if has_tables else rest, Role.DIM)
    command = f"measure both builds: {program_name()} compare BASE_PYTHON NEW_PYTHON"
    yield from unverified_note(comparison.differences, command)


def unverified_note(differences: Iterable[Difference], remedy: str) -> Iterator[Line]:
    """A line where something that changed was not verified."""
    if not all(case.verified for case in differences if case.verdict in _CHANGED):
        yield Line(f"Not verified: a difference may be noise. To verify, {remedy}", Role.WARNING)


def _is_of_other_machine(case: Difference) -> bool:
    known = [side is not None and side.outcome.cycles is not None for side in (case.base, case.new)]
    return all(known) and case.cycles is None


def _next(differences: Sequence[Difference], tables: Sequence[Table], names: Sequence[str]) -> str:
    """How to explain the first case that is shown and was counted on both sides."""
    keys = {name_of(case.key): case.key for case in differences if case.change}
    shown = (keys[row.key] for table in tables for row in table.rows if row.key in keys)
    first = next(shown, None)
    if first is None or not names:
        return ""
    return f"explain {shlex.join(names)} {selector(first, [case.key for case in differences])}"


def side_values(side: Side) -> dict[str, Any]:
    """A side by names, without its cases."""
    names = ("title", "engine", "fingerprint", "changed_files")
    return {name: getattr(side, name) for name in names}


def case_values(difference: Difference) -> dict[str, Any]:
    """A compared case by names."""
    return {
        **difference_figures(difference),
        "layouts": difference.layouts,
        "cycles": _named(difference.cycles, *_OF_CYCLES),
        "time": _named(difference.time, *_OF_TIMES),
        "output": difference.output,
        "metrics": {
            change.metric.name: {"base": change.base, "new": change.new, "verdict": change.verdict}
            for change in difference.metrics
        },
    }


def difference_figures(difference: Difference) -> dict[str, Any]:
    """What all JSON says of a compared case."""
    return {
        **difference.key.as_values,
        **verdict_figures(difference),
        "noise": difference.noise,
        "noise_origin": difference.noise_origin and difference.noise_origin.value,
        "causes": list(causes.texts(difference.causes)),
    }


def verdict_figures(difference: Difference) -> dict[str, Any]:
    """The verdict and the counts that it is about."""
    return {
        "verdict": difference.verdict.value,
        "reason": difference.reason.value,
        "verified": difference.verified,
        "base": difference.base_count,
        "new": difference.new_count,
        "change": difference.change,
        "relative": difference.relative,
    }


_OF_CYCLES = ("base", "new", "relative", "verdict")
_OF_TIMES = ("base_s", "new_s", "ratio", "low", "high", "verdict", "reason", "paired")


def _named(change: object | None, *names: str) -> dict[str, Any] | None:
    return None if change is None else {name: getattr(change, name) for name in names}


def _records(cases: Iterable[dict[str, Any]]) -> Table:
    """One line for each of these `case_values`."""
    figures = ("verdict", "reason", "verified", "base", "new", "change", "relative")
    named = (*KEY_NAMES[1:], *figures, "noise", "noise_origin")
    sides = ("base", "new")
    judged = [(metric.name, side) for metric in metrics() if metric.judged for side in sides]
    rows = (
        [
            "/".join(values["label"]),
            *(values[name] for name in named),
            *(values["time"] and values["time"][f"{side}_s"] for side in sides),
            " · ".join(values["causes"]),
            *(values["metrics"].get(name, {}).get(side) for name, side in judged),
        ]
        for values in cases
    )
    last = (f"{side}_{name}" for name, side in judged)
    return records_table(("label", *named, "base_s", "new_s", "causes", *last), rows)
