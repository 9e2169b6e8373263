"""A comparison as a document: the answer, what explains it, then one line for each case."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from instruction_counts.analysis.models import Models
from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.shared_causes import SharedCauses, shared_causes
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.domain.metrics import metrics
from instruction_counts.gate import gate
from instruction_counts.report import causes
from instruction_counts.report.case_details import details
from instruction_counts.report.document import (
    Block,
    CaseTest,
    Cell,
    Column,
    Document,
    Line,
    Role,
    Row,
    Section,
    Table,
    Unit,
    records_table,
)
from instruction_counts.report.format import duration, plural, relative
from instruction_counts.report.renderers.markdown import LONGEST_COMMENT
from instruction_counts.system.program import program_name

FORMAT_VERSION = 1
"""Of the JSON of comparisons."""

SHOWN = 20
"""So many cases of a verdict are shown on a screen."""

ROLES = {
    Verdict.WORSE: Role.BAD,
    Verdict.BETTER: Role.GOOD,
    Verdict.AMBIGUOUS: Role.WARNING,
    Verdict.INCOMPARABLE: Role.WARNING,
    Verdict.FAILED: Role.BAD,
    Verdict.NEW: Role.STRONG,
    Verdict.MISSING: Role.STRONG,
}
_WITHOUT_COUNTS = {Verdict.FAILED, Verdict.INCOMPARABLE}
_SAID_BY_THE_TABLE = {
    *(Reason.EXACT_DIFFERENCE, Reason.BEYOND_LAYOUTS, Reason.ONLY_IN_NEW, Reason.ONLY_IN_BASE),
}
_USUAL = (Language.PYTHON, RuntimeMode.EAGER, AutogradMode.FORWARD)
_BACKWARD = "backward"
_LEGEND = (
    "Instructions per iteration. Python, eager and forward unless stated otherwise; "
    "backward: forward and backward together. ±: how far noise moves a case."
)


def comparison_document(
    comparison: Comparison,
    names: Sequence[str] = (),
    tests: Sequence[CaseTest] | None = None,
    limits: Block | None = None,
) -> Document:
    """All that a comparison says.

    ``names`` are what its sides are called on the command line, ``tests`` and ``limits`` what
    limits make of it.
    """
    differences = comparison.differences
    shared = shared_causes(differences)
    models = Models(comparison.base.records.values())
    values = [difference_values(difference) for difference in differences]
    sections = tuple(_sections(comparison, shared, models))
    return Document(
        "comparison",
        answer=(tally(comparison),),
        facts=facts(comparison),
        sections=(*cause_sections(shared), *sections, *([] if limits is None else [limits])),
        notes=tuple(_notes(comparison, has_tables=bool(sections))),
        next_command=_next(differences, sections, names),
        longest=LONGEST_COMMENT,
        data=_values(comparison, shared, values),
        records=records(values),
        tests=None if tests is None else tuple(tests),
    )


# ------------------------------------------------------------------------------------ the head


def facts(comparison: Comparison) -> Table:
    """What is compared, in two columns: what is the same on both sides is left out."""
    sides = comparison.base, comparison.new
    rows = [
        _fact("torch", [_torch(side) for side in sides]),
        *(
            _fact(
                found.name,
                [found.base or "none", found.new or "none"],
                Role.BAD if found.prevents else Role.WARNING,
                "counts cannot be compared" if found.prevents else "",
            )
            for found in comparison.disagreements
            if not found.expected
        ),
        _fact("changed during the run", [changed_files(side) for side in sides], Role.WARNING),
    ]
    headings = [_heading(side, role) for side, role in zip(sides, ("base", "new"), strict=True)]
    columns = (Column("fact", ""), Column("base", headings[0]), Column("new", headings[1]))
    return Table("facts", "", columns, tuple(row for row in rows if row is not None))


def _fact(
    name: str, values: Sequence[str], role: Role = Role.PLAIN, remark: str = ""
) -> Row | None:
    if not any(values):
        return None
    base, new = values
    return Row((Cell(name), Cell(base), Cell(new, remark=remark)), role=role)


def _heading(side: Side, role: str) -> str:
    """What a side is called, where that says more than its role does."""
    return role if side.title == role else f"{role}: {side.title}"


def _torch(side: Side) -> str:
    found = side.fingerprint
    return f"{found.torch} ({found.torch_git[:10]})" if found.torch_git else found.torch


def changed_files(side: Side) -> str:
    """What makes the counts of a side doubtful: they may be of other code. Mostly empty."""
    return "" if side.changed_files is None else side.changed_files.summary


def tally(comparison: Comparison) -> Line:
    """``250 cases: 231 same · 12 better · 4 worse · in all -0.21%``."""
    counts = comparison.tally
    parts = [f"{counts[verdict]:,} {verdict.value}" for verdict in Verdict if counts[verdict]]
    mean = _geometric_mean(comparison.differences)
    if mean is not None and any(difference.change for difference in comparison.differences):
        parts.append(f"in all {relative(mean)}")
    number = plural(len(comparison.differences), "case")
    return Line(f"{number}: {' · '.join(parts) or 'nothing to compare'}", Role.STRONG)


def _geometric_mean(differences: Iterable[Difference]) -> float | None:
    """By how much the cases changed on average, as a factor less 1."""
    logs = [
        math.log(difference.new_count / difference.base_count)
        for difference in differences
        if (difference.base_count or 0) > 0 and (difference.new_count or 0) > 0
        if difference.base_count is not None and difference.new_count is not None
    ]
    return math.expm1(math.fsum(logs) / len(logs)) if logs else None


def cause_sections(shared: SharedCauses) -> tuple[Table, ...]:
    """What explains most of the changes, where cases share anything."""
    return (causes.table(shared),) if shared.leading else ()


# ----------------------------------------------------------------------------------- the cases


def name_of(key: CaseKey) -> str:
    """A case by its label, as ``--only`` takes it, and the modes that are not the usual ones."""
    modes = [
        _BACKWARD if mode is AutogradMode.FORWARD_BACKWARD else mode.value
        for mode, usual in zip(key.modes, _USUAL, strict=True)
        if mode is not usual and mode.value
    ]
    threads = [plural(key.num_threads, "thread")] if key.num_threads > 1 else []
    return " · ".join([key.path, *modes, *threads])


def cases_table(
    name: str,
    title: str,
    role: Role,
    cases: Iterable[tuple[Difference, tuple[str, ...]]],
    remark: str = "",
    *,
    folded: bool = False,
) -> Table:
    """Cases with what is said of each, the largest relative change first."""
    found = sorted(cases, key=lambda case: -abs(case[0].relative or 0))
    columns = (
        Column("case", ""),
        Column("base", "base", Unit.COUNT),
        Column("new", "new", Unit.COUNT),
        Column("change", "change", Unit.CHANGE),
        Column("relative", "%", Unit.RELATIVE),
        Column("noise", "±", Unit.SPREAD),
    )
    rows = [_row(difference, said) for difference, said in found]
    kept = [
        place
        for place in range(len(columns))
        if not place or any(row.cells[place].value != "" for row in rows)
    ]
    return Table(
        name,
        title,
        tuple(columns[place] for place in kept),
        tuple(attrs.evolve(row, cells=tuple(row.cells[place] for place in kept)) for row in rows),
        role,
        remark=remark,
        shown=SHOWN,
        more="--limit 0 shows all",
        folded=folded,
    )


def _row(difference: Difference, said: tuple[str, ...]) -> Row:
    base, new, change = difference.base_count, difference.new_count, difference.change
    role = Role.PLAIN if not change else Role.BAD if change > 0 else Role.GOOD
    cells = (
        Cell(name_of(difference.key)),
        _count(base, difference.base),
        _count(new, difference.new),
        Cell("" if change is None else change, role),
        Cell("" if difference.relative is None else difference.relative, role),
        Cell(difference.noise if difference.noise_origin and difference.noise else ""),
    )
    below, found = causes.why(said), details(difference)
    return Row(cells, name_of(difference.key), below, indent=2, details=found)


def _count(count: int | None, record: Any) -> Cell:
    if count is None:
        return Cell("")
    return Cell(count, approximate=not record.outcome.instructions.exact)


def why(difference: Difference, shared: SharedCauses, models: Models | None) -> tuple[str, ...]:
    """What is said of a case: its reason, where that is not the change alone, and its causes."""
    parts = []
    if difference.verdict in _WITHOUT_COUNTS:
        parts.append(reason_of(difference))
    elif difference.reason not in _SAID_BY_THE_TABLE and not _is_said_by_causes(difference):
        effect = difference.effect
        amount = f" ({effect:+,})" if effect and effect != difference.change else ""
        parts.append(f"{difference.reason.value}{amount}")
    if difference.output is not None and (
        difference.output.differs or difference.reason is Reason.OUTPUT_DIFFERS
    ):
        parts.append(f"output: {difference.output.text}")
    parts += causes.of_case(difference, shared)
    parts += metric_texts(difference)
    if models is not None:
        found = models.impacts(difference.base, difference.change)
        parts += [impact.text for impact in found]
    time = difference.time
    if time is not None and time.significant:
        parts.append(
            f"time {duration(time.base_s)} → {duration(time.new_s)} ({relative(time.ratio - 1)})"
        )
    return tuple(parts)


def _is_said_by_causes(difference: Difference) -> bool:
    """Whether the first cause names the code that differs."""
    is_code = difference.reason in {Reason.PYTHON_DIFFERS, Reason.OPERATORS_DIFFER}
    return is_code and difference.verified and bool(difference.causes)


def metric_texts(difference: Difference) -> Iterator[str]:
    """What changed beside instructions: ``bytecodes: 97 → 24 (better)``."""
    for change in difference.metrics:
        before, after = (change.metric.text(amount) for amount in (change.base, change.new))
        yield f"{change.metric.title}: {before} → {after} ({change.verdict})"


def reason_of(difference: Difference) -> str:
    """The reason, with the message of a failure."""
    failures = [
        record.outcome.failure
        for record in (difference.new, difference.base)
        if record is not None and record.outcome.failure is not None
    ]
    message = f": {failures[0].summary}" if failures else ""
    return difference.reason.value + message


def _sections(comparison: Comparison, shared: SharedCauses, models: Models) -> Iterator[Section]:
    """What differs, the worst first."""
    by_output: dict[bool, list[Difference]] = {True: [], False: []}
    for difference in comparison.differences:
        by_output[difference.reason is Reason.OUTPUT_DIFFERS].append(difference)
    differing, others = by_output[True], by_output[False]
    changed = [case for case in others if case.verdict is Verdict.SAME and case.metrics]
    groups = [
        ("output", "OUTPUT DIFFERS", Role.BAD, differing, "the builds compute different values"),
        *(
            (verdict.value, verdict.value.upper(), role, mine, _how_sure(mine))
            for verdict, role in ROLES.items()
            if (mine := [case for case in others if case.verdict is verdict])
        ),
        ("metrics", "OTHER METRICS CHANGED", Role.WARNING, changed, "with as many instructions"),
    ]
    for name, title, role, mine, remark in groups:
        if mine:
            said = [(case, why(case, shared, models)) for case in mine]
            folded = name not in {"output", "worse", "metrics"}
            yield cases_table(name, title, role, said, remark, folded=folded)


def _how_sure(differences: Sequence[Difference]) -> str:
    if differences[0].verdict not in {Verdict.WORSE, Verdict.BETTER, Verdict.AMBIGUOUS}:
        return ""
    numbers = sorted({len(case.layouts.new) for case in differences if case.layouts is not None})
    counted = sum(case.layouts is not None for case in differences)
    certain = sum(case.verified for case in differences) - counted
    number = " or ".join(map(str, numbers))
    memory = f"memory layout{'' if numbers == [1] else 's'}"
    parts = [
        (counted, f"verified in {number} {memory}"),
        (certain, "certain: different code is executed"),
        (len(differences) - counted - certain, "not verified"),
    ]
    known = [(many, text) for many, text in parts if many]
    if len(known) == 1:
        return known[0][1]
    return ", ".join(f"{many:,} {text}" for many, text in known)


def skipped_note(comparison: Comparison) -> Line | None:
    """What a time budget skipped; None where nothing was."""
    budgets = {key.title: budget for key, budget in comparison.skipped_by_budget.items()}
    return skipped_line(budgets, len(comparison.differences))


def skipped_line(budgets: dict[str, str], measured: int) -> Line | None:
    """``12 of 300 cases measured within 60 s; …``: the skipped ones by name, each with its budget.

    None where nothing was skipped.
    """
    if not budgets:
        return None
    within = " and ".join(dict.fromkeys(budgets.values()))
    named = ", ".join(list(budgets)[:_NAMED])
    more = f", and {len(budgets) - _NAMED:,} more" if len(budgets) > _NAMED else ""
    return Line(
        f"{measured:,} of {plural(measured + len(budgets), 'case')} measured within {within}; "
        f"skipped: {len(budgets):,}: {named}{more}",
        Role.WARNING,
    )


_NAMED = 20


def _notes(comparison: Comparison, *, has_tables: bool) -> Iterator[Line]:
    if skipped := skipped_note(comparison):
        yield skipped
    least = f"its noise and the minimum effect, {comparison.min_effect}"
    rest = f"No other case changed by more than {least}."
    yield Line(f"{_LEGEND} {rest}" if has_tables else rest, Role.DIM)
    if any(
        difference.verdict in {Verdict.WORSE, Verdict.BETTER} and not difference.verified
        for difference in comparison.differences
    ):
        command = f"{program_name()} compare BASE_PYTHON NEW_PYTHON"
        yield Line(
            f"Not verified: a difference may be noise. To verify, measure both builds: {command}",
            Role.WARNING,
        )


def _next(
    differences: Sequence[Difference], sections: Sequence[Section], names: Sequence[str]
) -> str:
    """How to explain the first case that is shown and was counted on both sides."""
    keys = {name_of(difference.key): difference for difference in differences}
    rows = (row for section in sections if isinstance(section, Table) for row in section.rows)
    first = next((keys[row.key] for row in rows if keys[row.key].change), None)
    if first is None or not names:
        return ""
    return f"explain {shlex.join(names)} {selector(first.key, [case.key for case in differences])}"


def selector(key: CaseKey, others: Iterable[CaseKey]) -> str:
    """What selects a case on the command line: its label, and modes where ``others`` share it."""
    siblings = [other for other in others if other.label == key.label]
    language, runtime, autograd = key.modes
    options = {
        f"--language {language.option}": any(other.language is not language for other in siblings),
        f"--runtime {runtime.option}": any(other.runtime is not runtime for other in siblings),
        f"--autograd {autograd.option}": any(other.autograd is not autograd for other in siblings),
        f"--num-threads {key.num_threads}": any(
            other.num_threads != key.num_threads for other in siblings
        ),
    }
    needed = [option for option, is_needed in options.items() if is_needed]
    return " ".join([shlex.quote(key.path), *needed])


# ------------------------------------------------------------------------------------- files


def _values(
    comparison: Comparison, shared: SharedCauses, cases: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "base": side_values(comparison.base),
        "new": side_values(comparison.new),
        "disagreements": [attrs.asdict(found) for found in comparison.disagreements],
        "min_effect": attrs.asdict(comparison.min_effect),
        "layouts": comparison.layouts,
        "tally": {verdict.value: number for verdict, number in comparison.tally.items()},
        "mean_change": _geometric_mean(comparison.differences),
        "cases": list(cases),
        "causes": causes.every_as_values(shared, comparison.differences),
        "skipped_by_budget": [
            {**key.as_values, "time_budget": budget}
            for key, budget in comparison.skipped_by_budget.items()
        ],
    }


def side_values(side: Side) -> dict[str, Any]:
    """A side by names."""
    return {
        "title": side.title,
        "engine": side.engine,
        "fingerprint": attrs.asdict(side.fingerprint),
        "changed_files": gate.changed_files(side),
    }


def difference_values(difference: Difference) -> dict[str, Any]:
    """A compared case by names."""
    time = difference.time
    return {
        **gate.difference_figures(difference, causes.texts(difference.causes)),
        "layouts": None if difference.layouts is None else attrs.asdict(difference.layouts),
        "time": None if time is None else attrs.asdict(time),
        "output": None if difference.output is None else attrs.asdict(difference.output),
        "metrics": {
            change.metric.name: {
                "base": change.base,
                "new": change.new,
                "verdict": change.verdict,
            }
            for change in difference.metrics
        },
    }


_FIGURES = (
    *("verdict", "reason", "verified", "base", "new", "change", "relative"),
    *("noise", "noise_origin"),
)


def records(cases: Sequence[dict[str, Any]]) -> Table:
    """One line for each case, with numbers as they are."""
    judged = [(metric.name, side) for metric in metrics() if metric.judged for side in _SIDES]
    rows = [
        [
            "/".join(values["label"]),
            *(values[name] for name in (*KEY_NAMES[1:], *_FIGURES)),
            *((values["time"] or {}).get(f"{side}_s") for side in _SIDES),
            " · ".join(values["causes"]),
            *(values["metrics"].get(name, {}).get(side) for name, side in judged),
        ]
        for values in cases
    ]
    last = (f"{side}_{name}" for name, side in judged)
    return records_table("cases", (*KEY_NAMES, *_FIGURES, "base_s", "new_s", "causes", *last), rows)


_SIDES = ("base", "new")
KEY_NAMES = ("label", "language", "runtime", "autograd", "num_threads")


def key_cells(key: CaseKey) -> Iterator[Any]:
    """What a case is called, as CSV has it: `KEY_NAMES`."""
    values = key.as_values
    yield key.path
    yield from (values[name] for name in KEY_NAMES[1:])
