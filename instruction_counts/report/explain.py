"""Where the instructions of a case go on one side, or what changed from one side to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import attrs

from instruction_counts.analysis.attribution.causes import (
    executed_on_both,
    nameless_libraries,
    top_causes,
)
from instruction_counts.analysis.attribution.functions import (
    FunctionChange,
    FunctionKey,
    Share,
    rounded,
    shown,
)
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.attribution.names import short
from instruction_counts.analysis.attribution.profiles import speedscope
from instruction_counts.analysis.verdicts.sides import Side, disagreements
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.executed import Executed, SourceChange
from instruction_counts.domain.metrics import ALLOCATIONS
from instruction_counts.domain.outcomes import Instructions
from instruction_counts.domain.records import Record
from instruction_counts.gate.gate import changed_files as file_changes
from instruction_counts.report import source_lines
from instruction_counts.report.causes import texts, title
from instruction_counts.report.comparison import changed_files
from instruction_counts.report.document import (
    Block,
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
from instruction_counts.report.format import count, relative
from instruction_counts.report.renderers.markdown import LONGEST_COMMENT
from instruction_counts.session.explaining import Explained

FORMAT_VERSION = 1
"""Of the JSON of explanations."""

SECTIONS = ("python", "operator", "layer", "library", "function")
SOURCE = "source"
"""A section that is shown on request alone."""

SHOWN = 15
"""So many functions are shown on a screen."""

_SIDES = ("base", "new")
_Change = TypeVar("_Change")

_EXPLAINED_CALLERS = 3
_CALLERS = 5
_LONGEST_VALUE = 24
_LONGEST_NAME = 48
_TOTALS = ("python", "bytecodes", "operator_calls")
_RECORD = ("function", "library", "layer", "base", "new", "change", "base_calls", "new_calls")


def explanation_document(
    explained: Explained,
    sections: Sequence[str] = SECTIONS,
    sources: Sequence[SourceChange] | None = None,
    *,
    with_profiles: bool = False,
) -> Document:
    """What a case executes and where its instructions go; of two sides, what changed.

    ``sources`` are the lines of Python functions that changed; None where nobody asked for them.
    """
    wanted = {*sections, *(() if sources is None else (SOURCE,))}
    parts = {
        "python": _python(explained),
        "operator": _operators(explained),
        SOURCE: source_lines.blocks(sources or ()),
        "layer": _shares(explained, "layers", "by layer", explained.difference.by_layer()),
        "library": _shares(explained, "libraries", "by library", explained.difference.by_library()),
        "function": _functions(explained),
    }
    data = _values(explained, sources)
    records = ([function[name] for name in _RECORD] for function in data["functions"])
    return Document(
        "explanation",
        explained.key.title,
        answer=_answer(explained),
        facts=_facts(explained),
        sections=(part for name, found in parts.items() if name in wanted for part in found),
        notes=_notes(explained, wanted),
        longest=LONGEST_COMMENT,
        data=data,
        records=records_table("functions", _RECORD, records),
        profiles=_profiles(explained) if with_profiles else None,
    )


def _is_pair(explained: Explained) -> bool:
    return len(explained.sides) > 1


def _records_of(explained: Explained) -> list[Record]:
    return [side.records[explained.key] for side in explained.sides]


def _counts(explained: Explained) -> list[Instructions]:
    counts = [record.outcome.instructions for record in _records_of(explained)]
    assert all(counts), "a case that was not counted is not explained"
    return [found for found in counts if found is not None]


def _executed(explained: Explained) -> list[Executed | None]:
    return [record.outcome.executed for record in _records_of(explained)]


def _answer(explained: Explained) -> Iterator[Line]:
    if not _is_pair(explained):
        return
    base, new = (found.per_run for found in _counts(explained))
    if base == new:
        yield Line("no change in instructions per iteration", Role.STRONG)
        return
    share = f" ({relative((new - base) / base)})" if base else ""
    yield Line(f"{new - base:+,} instructions per iteration{share}", Role.of_change(new - base))


def _facts(explained: Explained) -> Table:
    names = {"base": "base", "new": "new"} if _is_pair(explained) else {"value": ""}
    titles = [
        "" if side.title == name else side.title
        for side, name in zip(explained.sides, names, strict=True)
    ]
    rows = [
        *([Row(["", *titles])] if any(titles) else []),
        Row(["torch", *(side.fingerprint.torch for side in explained.sides)]),
        Row(["instructions", *map(count, _counts(explained))]),
    ]
    return Table("facts", "", [Column("fact", ""), *map(Column, names, names.values())], rows)


def _notes(explained: Explained, wanted: set[str]) -> Iterator[Line]:
    """What to know before the numbers are believed."""
    if _is_pair(explained):
        yield from map(Line, _doubts_of_pair(explained))
    unknown = [
        side.title
        for side, executed in zip(explained.sides, _executed(explained), strict=True)
        if executed is None
    ]
    if unknown and wanted & {"python", "operator"}:
        titles = " and ".join(unknown)
        yield Line(f"Python functions and operators were not stored for {titles}.")
    for side, found in zip(explained.sides, _counts(explained), strict=True):
        if doubt := changed_files(side):
            yield Line(f"{side.title}: files changed during the run: {doubt}", Role.WARNING)
        if not found.exact:
            names = ", ".join(short(name, 40) for name in found.varying)
            yield Line(
                f"~ {side.title}: the windows do not agree (spread {found.spread:,}"
                f"{f'; {names}' if names else ''})."
            )
        functions = side.records[explained.key].outcome.functions
        if functions is not None and not functions.calls:
            yield Line(f"{side.title} was stored without calls: no callers, flat flame graphs.")
    yield Line(
        "Flame graph: --output FILE.html, or FILE.speedscope.json for speedscope.app", Role.DIM
    )


def _doubts_of_pair(explained: Explained) -> Iterator[str]:
    base, new = explained.sides
    if not _same_definition(explained):
        yield "The definitions differ: base and new did not run the same code."
    differing = [
        found.name
        if max(len(found.base), len(found.new)) > _LONGEST_VALUE
        else f"{found.name} ({found.base or '–'} → {found.new or '–'})"
        for found in disagreements(base, new)
    ]
    if differing:
        yield f"What differs: {'; '.join(differing)}."
    nameless = nameless_libraries(explained.difference)
    if nameless:
        named = ", ".join(f"{library} ({side})" for library, side in sorted(nameless.items()))
        yield (
            f"Most functions of {named} have no names and are shown as ???. "
            "Compare these libraries as a whole."
        )
    before, after = (found.per_run for found in _counts(explained))
    if abs(explained.difference.delta - (after - before)) >= 1:
        yield (
            f"The functions' changes add up to {round(explained.difference.delta):+,}, and not to "
            "that of the counts: the engine counted them in other windows."
        )


def _same_definition(explained: Explained) -> bool:
    return len({record.definition_hash for record in _records_of(explained)}) == 1


@attrs.frozen
class _Item:
    """A row: a name, what it costs on the two sides (base is None of one), and more columns."""

    name: str
    base: int | None
    new: int | None
    more: tuple[str, ...] = ()
    remark: str = ""

    @property
    def change(self) -> int:
        return (self.new or 0) - (self.base or 0)


def _table(
    explained: Explained,
    name: str,
    title: str,
    unit: str,
    items: Sequence[_Item],
    more: Sequence[str] = (),
    *,
    shown_rows: int | None = SHOWN,
) -> Table:
    """Rows with base, new and change, or with one amount and its share; their sums come last."""
    is_pair = _is_pair(explained)
    base, new = (sum(getattr(item, side) or 0 for item in items) for side in _SIDES)
    if is_pair:
        columns = [
            Column("base", "base", Unit.COUNT),
            Column("new", "new", Unit.COUNT),
            Column("change", "change", Unit.CHANGE, bars=not more),
        ]
    else:
        columns = [Column(unit, unit, Unit.COUNT), Column("share", "share", Unit.SHARE)]

    def row(item: _Item, role: Role = Role.PLAIN) -> Row:
        change, remark = item.change, item.remark
        amounts = (
            (item.base, item.new, Cell(change, Role.of_change(change), remark=remark))
            if is_pair
            else (Cell(item.new, remark=remark), (item.new or 0) / new if new else "")
        )
        last = item.more or ("",) * len(more)
        return Row([item.name, *amounts, *(Cell(text, Role.DIM) for text in last)], "", (), 2, role)

    return Table(
        name,
        title,
        [Column("name", ""), *columns, *(Column(heading, heading) for heading in more)],
        map(row, items),
        total=row(_Item("sum", base, new), Role.STRONG) if len(items) > 1 else None,
        remark=unit if is_pair else "",
        shown=shown_rows,
    )


def _rounded(changes: Sequence[_Change]) -> Iterator[tuple[_Change, int | None, int | None]]:
    """Each with its amounts as whole numbers that add up as the amounts do; None stays None."""
    sides = []
    for side in _SIDES:
        amounts = [getattr(change, side) for change in changes]
        known = [amount for amount in amounts if amount is not None]
        whole = iter(rounded(known, round(sum(known))))
        sides.append([None if amount is None else next(whole) for amount in amounts])
    return zip(changes, *sides, strict=True)


def _python(explained: Explained) -> Iterator[Section]:
    sides = _executed(explained)
    known = [side for side in sides if side is not None and side.bytecodes is not None]
    versions = {side.python for side in known}
    if len(known) < len(sides):
        return
    if len(versions) > 1:
        text = f"by Python function: Python {' and '.join(sorted(versions))} cannot be compared"
        yield Block("", [text])
        return
    yield _changed(explained, known, CauseKind.PYTHON, "python", "by Python function")


def _operators(explained: Explained) -> Iterator[Section]:
    known = [side for side in _executed(explained) if side is not None]
    if len(known) == len(explained.sides):
        yield _changed(explained, known, CauseKind.OPERATOR, "operators", "by operator")


def _executed_causes(base: Executed, new: Executed, kind: CauseKind) -> list[Cause]:
    return [cause for cause in executed_on_both(base, new) if cause.kind is kind]


def _changed(
    explained: Explained, known: Sequence[Executed], kind: CauseKind, name: str, heading: str
) -> Section:
    """A table of what changed, or of all that one side has; a line where nothing changed."""
    base = known[0] if _is_pair(explained) else Executed((), (), known[-1].python)
    every = _executed_causes(base, known[-1], kind)
    items = [
        _Item(
            title(cause),
            round(cause.base or 0) or None,
            round(cause.new or 0) or None,
            remark="edited" if cause.edited else "",
        )
        for cause in every
        if cause.edited or cause.change
    ]
    if not items:
        return Block("", [f"{heading}: none of {len(every):,} changed"])
    many = f", {len(items):,} of {len(every):,} changed" if _is_pair(explained) else ""
    return _table(explained, name, f"{heading}{many}", kind.unit.value, items)


def _shares(
    explained: Explained, name: str, title: str, shares: Sequence[Share]
) -> Iterator[Section]:
    remarks = {Layer.ALLOCATOR.value: _allocations(explained)}
    items = [
        _Item(share.title, before, after, remark=remarks.get(share.title, ""))
        for share, before, after in _rounded([share for share in shares if share.base or share.new])
    ]
    yield _table(explained, name, title, "instructions", items, shown_rows=None)


def _allocations(explained: Explained) -> str:
    found = [record.outcome.metrics.get(ALLOCATIONS.name) for record in _records_of(explained)]
    amounts = [f"{amount:,}" for amount in dict.fromkeys(found) if amount is not None]
    if None in found:
        return ""
    return f"{' → '.join(amounts)} allocation{'' if amounts == ['1'] else 's'}"


def _functions(explained: Explained) -> Iterator[Section]:
    difference, is_pair = explained.difference, _is_pair(explained)
    found = [
        (function, _item(function.key, function, before, after, is_pair=is_pair))
        for function, before, after in _rounded(difference.functions)
    ]
    found = [pair for pair in found if (pair[1].change if is_pair else pair[1].new)]
    if is_pair and not found:
        yield Block("", ["No function costs more or less than before."])
        return
    changed = f", {len(found):,} of {len(difference.functions):,} changed"
    heading = f"by function{changed if is_pair else f' ({len(found):,})'}"
    found.sort(key=lambda pair: -abs(pair[1].change))
    items = [item for _, item in found]
    yield _table(explained, "functions", heading, "instructions", items, ("calls", "layer"))
    if not is_pair:
        return
    called = [(function, difference.callers(function.key)) for function, _ in found[:SHOWN]]
    for function, callers in [pair for pair in called if pair[1]][:_EXPLAINED_CALLERS]:
        items = [
            _item(call.caller, call, before, after) for call, before, after in _rounded(callers)
        ]
        heading = f"callers of {short(function.key.name, _LONGEST_NAME)}, inclusive"
        columns = ("calls", "layer")
        yield _table(explained, "callers", heading, "", items, columns, shown_rows=_CALLERS)


def _item(
    key: FunctionKey,
    change: FunctionChange,
    base: int | None,
    new: int | None,
    *,
    is_pair: bool = True,
) -> _Item:
    """A function with its calls on both sides; once where that is the same."""
    calls = [change.base_calls, change.new_calls]
    if not is_pair or calls[0] == calls[1]:
        text = "" if calls[1] is None else shown(calls[1])
    else:
        text = " → ".join("?" if number is None else shown(number) for number in calls)
    return _Item(short(key.name, _LONGEST_NAME), base, new, (text, key.layer.value))


def _profiles(explained: Explained) -> dict[str, Any]:
    """Flame graphs of base, new, what grew and what shrank; of one side alone, its own."""
    found = speedscope(explained.key.title, explained.difference)
    return found if _is_pair(explained) else {**found, "profiles": found["profiles"][1:2]}


def _values(explained: Explained, sources: Sequence[SourceChange] | None) -> dict[str, Any]:
    """All functions and calls, those that did not change, too; of one side, base is null."""
    difference = explained.difference
    *before, new = explained.sides
    base = before[0] if before else None
    counts = [found.per_run for found in _counts(explained)]
    return {
        "explain_version": FORMAT_VERSION,
        **explained.key.as_values,
        "base": base and _side_values(explained, base),
        "new": _side_values(explained, new),
        "change": base and counts[-1] - counts[0],
        "same_definition": _same_definition(explained),
        "disagreements": [
            {"name": found.name, "base": found.base, "new": found.new}
            for found in (disagreements(base, new) if base else ())
        ],
        "causes": list(texts(top_causes(difference))) if base else [],
        "executed": _executed_values(explained),
        "sources": sources and [attrs.asdict(source) for source in sources],
        "layers": [_changes(share, name=share.title) for share in difference.by_layer()],
        "libraries": [_changes(share, name=share.title) for share in difference.by_library()],
        "functions": [
            _changes(
                function,
                function=function.key.name,
                library=function.key.library,
                layer=function.key.layer.value,
                **_calls(function),
            )
            for function in difference.functions
        ],
        "calls": [
            _changes(
                call,
                caller=call.caller.name,
                caller_library=call.caller.library,
                callee=call.key.name,
                callee_library=call.key.library,
                **_calls(call),
            )
            for call in difference.calls
        ],
    }


def _changes(found: Any, **names: Any) -> dict[str, Any]:
    amounts = {"base": found.base, "new": found.new, "change": found.delta}
    return {**names, **{name: _number(amount) for name, amount in amounts.items()}}


def _calls(found: FunctionChange) -> dict[str, Any]:
    return {"base_calls": _number(found.base_calls), "new_calls": _number(found.new_calls)}


def _side_values(explained: Explained, side: Side) -> dict[str, Any]:
    outcome = side.records[explained.key].outcome
    found = outcome.instructions
    return {
        "title": side.title,
        "engine": side.engine,
        "torch": side.fingerprint.torch,
        "changed_files": file_changes(side),
        "instructions": found and found.per_run,
        "exact": found and found.exact,
        "spread": found and found.spread,
        "metrics": dict(outcome.metrics),
    }


def _executed_values(explained: Explained) -> dict[str, Any]:
    """Totals of a side as far as known; rows where both are, of functions if Python is the same."""
    *before, new = _executed(explained)
    base = before[0] if before else None
    functions = operators = None
    if new is not None and (base is not None or not before):
        old = base or Executed((), (), new.python)
        operators = [
            {"backward": cause.backward, **_named(cause)}
            for cause in _executed_causes(old, new, CauseKind.OPERATOR)
        ]
        if new.bytecodes is not None and old.python == new.python:
            functions = [
                {"file": cause.where, "line": cause.line, "edited": cause.edited, **_named(cause)}
                for cause in _executed_causes(old, new, CauseKind.PYTHON)
            ]
    totals = {
        name: side and {key: getattr(side, key) for key in _TOTALS}
        for name, side in (("base", base), ("new", new))
    }
    return {**totals, "functions": functions, "operators": operators}


def _named(cause: Cause) -> dict[str, Any]:
    return {"name": cause.name, "base": cause.base, "new": cause.new, "change": cause.change}


def _number(amount: Fraction | None) -> int | float | None:
    if amount is None:
        return None
    return float(amount) if amount.denominator > 1 else int(amount)
