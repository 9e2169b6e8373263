"""What limits make of a comparison, and what baselines hold, as documents."""

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from instruction_counts.analysis.models import Models
from instruction_counts.analysis.verdicts.comparison import Comparison, SharedCauses, shared_causes
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.sides import fact_name
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.metrics import ALLOCATIONS
from instruction_counts.gate.accept import Acceptance
from instruction_counts.gate.baseline import Baseline, BaselineCase, sorted_keys
from instruction_counts.gate.limits import CHECK_VERSION, Finding, Gate, Level
from instruction_counts.report import causes
from instruction_counts.report import comparison as report
from instruction_counts.report.cases import name_of
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
)
from instruction_counts.report.format import plural
from instruction_counts.system.program import PROGRAM, program_name

_ROLES = {
    Level.FAILS: Role.BAD,
    Level.EDGE: Role.WARNING,
    Level.SOFT: Role.WARNING,
    Level.UNGUARDED: Role.WARNING,
    Level.WITHIN: Role.STRONG,
}


def check_document(gate: Gate, *, interrupted: bool = False) -> Document:
    """A check: its verdict, what fails first, then all else that is no longer as it was."""
    comparison = gate.comparison
    compared, shared = report.comparison_document(comparison), shared_causes(comparison.differences)
    verdict = Line(*_verdict(gate, interrupted=interrupted))
    return attrs.evolve(
        compared,
        kind="check",
        answer=[verdict, *compared.answer],
        sections=(*causes.tables(shared), *_sections(gate, shared)),
        notes=(*report.skipped_notes(comparison), *_notes(comparison)),
        data={**_values(gate, compared.data["causes"]), "interrupted": interrupted},
        tests=case_tests(gate),
    )


def _values(gate: Gate, shared_causes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The JSON of a check: everything that is known, case by case, and what cases share."""
    skipped = gate.comparison.skipped_by_budget
    compared = {finding.key for finding in gate.findings}
    return {
        "check_version": CHECK_VERSION,
        "fails": gate.fails,
        "compares": gate.compares,
        "has_failed_cases": gate.has_failed_cases,
        "layouts": gate.comparison.layouts,
        "changed_files": gate.comparison.new.changed_files,
        "cases": [
            {
                **report.difference_figures(finding.difference),
                "level": finding.level.value,
                "why": finding.why,
                "exceeded_before": finding.key in gate.carried,
            }
            for finding in gate.findings
        ],
        "causes": shared_causes,
        "skipped_by_budget": [
            {**key.as_values, "time_budget": budget, "exceeded_before": key in gate.carried}
            for key, budget in skipped.items()
        ],
        "not_selected": [
            {**key.as_values, "exceeded_before": True}
            for key in sorted_keys(gate.carried - compared - skipped.keys())
        ],
    }


def _notes(comparison: Comparison) -> Iterator[Line]:
    remedy = f"check the build: {program_name()} baseline check FILE --build PYTHON"
    return report.unverified_note(comparison.differences, remedy)


def _sections(gate: Gate, shared: SharedCauses) -> Iterator[Table]:
    models = Models(gate.comparison.base.records.values())
    others = [(each, report.ROLES[each]) for each in (Verdict.BETTER, Verdict.AMBIGUOUS)]
    groups: list[tuple[Level | Verdict, Role]] = [*_ROLES.items(), *others]
    for group, role in groups:
        said = []
        for finding in gate.findings:
            difference = finding.difference
            if group in {finding.level, difference.verdict}:
                own = "" if finding.why == difference.reason.value else finding.why
                parts = report.why(difference, shared, models)
                # A row has room for a few words: of what fails, its cause says more than its limit.
                said.append((difference, [*parts, own] if group is Level.FAILS else [own, *parts]))
        if said:
            name = group.name.lower()
            folded, sure = group is not Level.FAILS, report.how_sure(case for case, _ in said)
            yield report.cases_table(name, group.value.upper(), role, said, sure, folded=folded)


def limits_block(gate: Gate) -> Block:
    """What limits make of a comparison: the verdict, then each case that is over one."""
    lines = (
        Line(f"{level.value}: {name_of(finding.key)}: {finding.why}", _ROLES[level])
        for level in (Level.FAILS, Level.EDGE, Level.SOFT)
        for finding in gate.at(level)
    )
    title, role = _verdict(gate)
    return Block(title, lines, role)


def _verdict(gate: Gate, *, interrupted: bool = False) -> tuple[str, Role]:
    """The whole in one line: ``FAILS: 2 of 300 cases fail the limits; 1 at the edge …``."""
    failing, failed = len(gate.at(Level.FAILS)), gate.comparison.tally[Verdict.FAILED]
    cases = plural(len(gate.findings), "case")
    obstacles = {
        "INTERRUPTED": interrupted,
        "FAILS": gate.fails,
        "INCOMPLETE": gate.has_failed_cases,
        "NOTHING WAS COMPARED": not gate.compares,
    }
    said = next((title for title, is_so in obstacles.items() if is_so), "")
    unguarded = (finding.difference.verdict for finding in gate.at(Level.UNGUARDED))
    parts = {
        "failed": failed,
        "over the limit (not enforced)": 0 if gate.fails else failing,
        "at the edge of a hard limit": len(gate.at(Level.EDGE)),
        "above a soft limit": len(gate.at(Level.SOFT)),
        "not guarded": sum(verdict is not Verdict.FAILED for verdict in unguarded),
        "skipped by the time budget": len(gate.comparison.skipped_by_budget),
    }
    found = [f"{number:,} {what}" for what, number in parts.items() if number]
    first = f"{failing:,} of {cases} fail the limits" if gate.fails else cases
    return "; ".join([f"{said or 'PASSES'}: {first}", *found]), Role.BAD if said else Role.STRONG


def case_tests(gate: Gate) -> tuple[CaseTest, ...]:
    """Each case as a test: a failure where it fails the check, an error where it failed itself.

    Where nothing was compared, that is an error, too: where all others are skipped, CI systems show
    what passed.
    """
    skipped = gate.comparison.skipped_by_budget.items()
    nothing = CaseTest(PROGRAM, "comparison", "error", "nothing was compared")
    return (
        *(_test(finding, gate) for finding in gate.findings),
        *(_named(key, "skipped", f"time budget of {budget}") for key, budget in skipped),
        *(() if gate.compares else (nothing,)),
    )


def _named(key: CaseKey, outcome: str = "", message: str = "", details: str = "") -> CaseTest:
    suite = ".".join([PROGRAM, *key.label[:-1]])
    return CaseTest(suite, key.title, outcome, message, details)


def _test(finding: Finding, gate: Gate) -> CaseTest:
    difference, key = finding.difference, finding.key
    base, new, change = difference.base_count, difference.new_count, difference.change
    figures = f"{base:,} → {new:,} ({change:+,}): " if change is not None else ""
    said = f"{figures}{finding.why}" if finding.why else ""
    if difference.verdict is Verdict.FAILED:
        return _named(key, "error", report.reason_of(difference))
    if finding.level is Level.FAILS and gate.enforced:
        return _named(key, "failure", said, "\n".join(causes.texts(difference.causes)))
    if finding.level is Level.UNGUARDED:
        is_skipped = difference.reason is Reason.SKIPPED
        return _named(key, "skipped", report.reason_of(difference) if is_skipped else finding.why)
    return _named(key, details=said)


def acceptance_document(found: Acceptance, absent: str = "kept") -> Document:
    """What accepting changes in a baseline, case by case, with the reason.

    ``absent`` says what becomes of cases that are not in the run.
    """
    before, after = found.before, found.after
    said = [
        (difference, _accepted(difference, found, before.cases.get(difference.key)))
        for difference in found.comparison.differences
        if before is not None
        and after.cases.get(difference.key) not in (None, before.cases.get(difference.key))
    ]
    changed = [report.cases_table("cases", "ACCEPTED", Role.STRONG, said)] if said else []
    doubt = report.changed_files(found.comparison.new)
    doubts = [Line(f"The run may have counted other code: {doubt}", Role.BAD)] if doubt else []
    if not found.comparison.new.is_whole:
        doubts.append(Line("The run does not have all cases.", Role.WARNING))
    if found.mixed:
        mixed = f"The cases that stay were recorded with another build: {'; '.join(found.mixed)}"
        doubts.append(Line(mixed, Role.WARNING))
    cases = {
        "Counts kept, as they differ by noise alone": found.kept,
        f"Not in the run, and {absent}": found.absent,
        "Not counted in the run, and kept": found.uncounted,
    }
    notes = (f"{text}: {plural(len(keys), 'case')}" for text, keys in cases.items() if keys)
    return Document("acceptance", sections=changed, notes=[*doubts, *notes])


def _accepted(
    difference: Difference, found: Acceptance, was: BaselineCase | None
) -> tuple[str, ...]:
    texts = causes.texts(difference.causes[: causes.CAUSES])
    if difference.key in found.kept:
        return "keeps its count", "its noise is better known"
    if not difference.change and was is not None:
        return "the same count", "other layers, noise or code", *texts
    return difference.verdict.value, difference.reason.value, *texts


def baseline_document(baseline: Baseline) -> Document:
    """What a baseline holds: what it was recorded with, and a line for each case."""
    columns = (
        Column("case", ""),
        Column("instructions", "instructions", Unit.COUNT),
        Column("allocations", "allocs", Unit.COUNT),
        Column("noise", "±", Unit.SPREAD),
        Column("layouts", "layouts", Unit.COUNT),
    )
    rows = []
    for key in sorted_keys(baseline.cases):
        case = baseline.cases[key]
        count = Cell(case.instructions, approximate=not case.exact)
        known = case.metrics.get(ALLOCATIONS.name, ""), case.noise_floor
        rows.append(Row([name_of(key), count, *known, case.layouts or "not known"], key.title))
    head = attrs.asdict(baseline.head).items()
    facts = (
        Row([fact_name(name), "none" if value in {None, ""} else str(value)])
        for name, value in head
    )
    return Document(
        "baseline",
        facts=Table("facts", "", [Column("fact", ""), Column("value", "")], facts),
        sections=[Table("cases", "", columns, rows)],
        notes=[plural(len(baseline.cases), "case")],
    )
