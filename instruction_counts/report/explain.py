"""Where the instructions of a case go on one side, or what changed from one side to another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import attrs

from instruction_counts.analysis.attribution.causes import (
    executed_on_both,
    nameless_libraries,
    top_causes,
)
from instruction_counts.analysis.attribution.functions import (
    CallerChange,
    FunctionChange,
    FunctionKey,
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
from instruction_counts.report.format import count, relative, whole_numbers
from instruction_counts.report.renderers.markdown import LONGEST_COMMENT
from instruction_counts.session.explaining import Explained

FORMAT_VERSION = 1
"""Of the JSON of explanations."""

SECTIONS = ("python", "operator", "layer", "library", "function")
SOURCE = "source"
"""A section that is shown on request alone."""

SHOWN = 15
"""So many functions are shown on a screen."""

_EXPLAINED_CALLERS = 3
_CALLERS = 5
_LONGEST_VALUE = 24
_LONGEST_NAME = 48


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
    parts: dict[str, Callable[[Explained], Iterator[Section]]] = {
        "python": _python,
        "operator": _operators,
        SOURCE: lambda _: source_lines.blocks(sources),
        "layer": _layers,
        "library": _libraries,
        "function": _functions,
    }
    wanted = {*sections, *(() if sources is None else (SOURCE,))}
    return Document(
        "explanation",
        explained.key.title,
        answer=tuple(_answer(explained)),
        facts=_facts(explained),
        sections=tuple(
            part for name, make in parts.items() if name in wanted for part in make(explained)
        ),
        notes=tuple(_notes(explained, wanted)),
        longest=LONGEST_COMMENT,
        data=_values(explained, sources),
        records=_records(explained),
        profiles=_profiles(explained) if with_profiles else None,
    )


# ------------------------------------------------------------------------------------ the head


def _is_pair(explained: Explained) -> bool:
    return len(explained.sides) > 1


def _record(explained: Explained, side: Side) -> Record:
    return side.records[explained.key]


def _counts(explained: Explained) -> list[Instructions]:
    counts = [_record(explained, side).outcome.instructions for side in explained.sides]
    assert all(counts), "a case that was not counted is not explained"
    return [found for found in counts if found is not None]


def _answer(explained: Explained) -> Iterator[Line]:
    if not _is_pair(explained):
        return
    base, new = (found.per_run for found in _counts(explained))
    if base == new:
        yield Line("no change in instructions per iteration", Role.STRONG)
        return
    share = f" ({relative((new - base) / base)})" if base else ""
    yield Line(f"{new - base:+,} instructions per iteration{share}", _role(new - base))


def _facts(explained: Explained) -> Table:
    names = ("base", "new") if _is_pair(explained) else ("value",)
    counts = map(count, _counts(explained))
    facts = {
        "": [
            "" if side.title == name else side.title
            for side, name in zip(explained.sides, names, strict=True)
        ],
        "torch": [side.fingerprint.torch for side in explained.sides],
        "instructions": list(counts),
    }
    rows = [Row((Cell(name), *map(Cell, values))) for name, values in facts.items() if any(values)]
    headings = names if _is_pair(explained) else ("",)
    columns = [
        Column(name, heading, Unit.TEXT) for name, heading in zip(names, headings, strict=True)
    ]
    return Table("facts", "", (Column("fact", ""), *columns), tuple(rows))


def _notes(explained: Explained, wanted: set[str]) -> Iterator[Line]:
    """What to know before the numbers are believed."""
    if _is_pair(explained):
        yield from map(Line, _doubts_of_pair(explained))
    unknown = [side.title for side in explained.sides if _executed(explained, side) is None]
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
        functions = _record(explained, side).outcome.functions
        if functions is not None and not functions.calls:
            yield Line(f"{side.title} was stored without calls: no callers, flat flame graphs.")
    yield Line("Flame graphs: --output FILE.speedscope.json, for speedscope.app", Role.DIM)


def _doubts_of_pair(explained: Explained) -> Iterator[str]:
    base, new = explained.sides
    if len({_record(explained, side).definition_hash for side in explained.sides}) > 1:
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


# -------------------------------------------------------------------------------------- tables


def _role(change: float) -> Role:
    return Role.BAD if change > 0 else Role.GOOD if change < 0 else Role.PLAIN


@attrs.frozen
class _Item:
    """A row: a name, what it costs on the two sides (base is None of one), and more columns."""

    name: str
    base: int | None
    new: int | None
    more: tuple[str, ...] = ()
    remark: str = ""
    key: str = ""

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
    base, new = (sum(amount or 0 for amount in amounts) for amounts in _sides(items))
    if is_pair:
        columns = [
            Column("base", "base", Unit.COUNT),
            Column("new", "new", Unit.COUNT),
            Column("change", "change", Unit.CHANGE, bars=not more),
        ]
    else:
        columns = [Column(unit, unit, Unit.COUNT), Column("share", "share", Unit.SHARE)]
    columns += [Column(heading, heading) for heading in more]

    def row(item: _Item, role: Role = Role.PLAIN) -> Row:
        change = item.change
        amounts = (
            (Cell(item.base), Cell(item.new), Cell(change, _role(change), remark=item.remark))
            if is_pair
            else (Cell(item.new, remark=item.remark), Cell((item.new or 0) / new if new else ""))
        )
        last = item.more or ("",) * len(more)
        cells = (Cell(item.name), *amounts, *(Cell(text, Role.DIM) for text in last))
        return Row(cells, item.key, indent=2, role=role)

    return Table(
        name,
        title,
        (Column("name", ""), *columns),
        tuple(map(row, items)),
        total=row(_Item("sum", base, new), Role.STRONG) if len(items) > 1 else None,
        remark=unit if is_pair else "",
        shown=shown_rows,
    )


def _sides(items: Sequence[_Item]) -> tuple[list[int | None], list[int | None]]:
    return [item.base for item in items], [item.new for item in items]


def _rounded(amounts: Sequence[Fraction | None]) -> list[int | None]:
    """Whole numbers that add up as the amounts do; what is absent stays so."""
    found = iter(whole_numbers([amount for amount in amounts if amount is not None]))
    return [None if amount is None else next(found) for amount in amounts]


def _executed(explained: Explained, side: Side) -> Executed | None:
    return _record(explained, side).outcome.executed


def _python(explained: Explained) -> Iterator[Section]:
    sides = [_executed(explained, side) for side in explained.sides]
    known = [side for side in sides if side is not None and side.bytecodes is not None]
    versions = {side.python for side in known}
    if len(known) < len(sides):
        return
    if len(versions) > 1:
        text = f"by Python function: Python {' and '.join(sorted(versions))} cannot be compared"
        yield Block("", (Line(text),))
        return
    base = known[0] if _is_pair(explained) else Executed((), (), known[-1].python)
    every = _executed_causes(base, known[-1], CauseKind.PYTHON)
    items = [
        _Item(title(cause), *_amounts(cause), remark="edited" if cause.edited else "")
        for cause in every
        if cause.edited or cause.change
    ]
    yield _changed(explained, ("python", "by Python function", "bytecodes"), items, len(every))


def _operators(explained: Explained) -> Iterator[Section]:
    known = [side for side in (_executed(explained, side) for side in explained.sides) if side]
    if len(known) < len(explained.sides):
        return
    base = known[0] if _is_pair(explained) else Executed((), ())
    every = _executed_causes(base, known[-1], CauseKind.OPERATOR)
    items = [_Item(title(cause), *_amounts(cause)) for cause in every if cause.change]
    yield _changed(explained, ("operators", "by operator", "calls"), items, len(every))


def _executed_causes(base: Executed, new: Executed, kind: CauseKind) -> list[Cause]:
    return [cause for cause in executed_on_both(base, new) if cause.kind is kind]


def _amounts(cause: Cause) -> tuple[int | None, int | None]:
    return round(cause.base or 0) or None, round(cause.new or 0) or None


def _changed(
    explained: Explained, names: tuple[str, str, str], items: Sequence[_Item], number: int
) -> Section:
    """A table of what changed, or of all that one side has; a line where nothing changed."""
    name, title, unit = names
    if items:
        many = f", {len(items):,} of {number:,} changed" if _is_pair(explained) else ""
        return _table(explained, name, f"{title}{many}", unit, items)
    return Block("", (Line(f"{title}: none of {number:,} changed"),))


def _layers(explained: Explained) -> Iterator[Section]:
    yield _shares(explained, "layers", "by layer", explained.difference.by_layer())


def _libraries(explained: Explained) -> Iterator[Section]:
    yield _shares(explained, "libraries", "by library", explained.difference.by_library())


def _shares(explained: Explained, name: str, title: str, shares: Sequence[Any]) -> Table:
    present = [share for share in shares if share.base or share.new]
    base, new = (_rounded([getattr(share, side) for share in present]) for side in ("base", "new"))
    remarks = {Layer.ALLOCATOR.value: _allocations(explained)}
    items = [
        _Item(share.title, before, after, remark=remarks.get(share.title, ""))
        for share, before, after in zip(present, base, new, strict=True)
    ]
    return _table(explained, name, title, "instructions", items, shown_rows=None)


def _allocations(explained: Explained) -> str:
    found = [
        _record(explained, side).outcome.metrics.get(ALLOCATIONS.name) for side in explained.sides
    ]
    amounts = [amount for amount in dict.fromkeys(found) if amount is not None]
    if None in found:
        return ""
    shown_amounts = " → ".join(f"{amount:,}" for amount in amounts)
    return f"{shown_amounts} allocation{'' if amounts == [1] else 's'}"


def _functions(explained: Explained) -> Iterator[Section]:
    difference = explained.difference
    functions = difference.functions
    base, new = (
        _rounded([getattr(function, side) for function in functions]) for side in ("base", "new")
    )
    found = [
        (function, _item(function.key, function, before, after))
        for function, before, after in zip(functions, base, new, strict=True)
    ]
    if _is_pair(explained):
        found = [(function, item) for function, item in found if item.change]
        if not found:
            yield Block("", (Line("No function costs more or less than before."),))
            return
        heading = f"by function, {len(found):,} of {len(functions):,} changed"
    else:
        found = [
            (function, attrs.evolve(item, more=(_calls(function.new_calls), *item.more[1:])))
            for function, item in found
            if item.new
        ]
        heading = f"by function ({len(found):,})"
    found.sort(key=lambda pair: -abs(pair[1].change))
    items = [item for _, item in found]
    yield _table(explained, "functions", heading, "instructions", items, ("calls", "layer"))
    if not _is_pair(explained):
        return
    explained_functions = [
        (function, callers)
        for function, _ in found[:SHOWN]
        if (callers := difference.callers(function.key))
    ]
    for function, callers in explained_functions[:_EXPLAINED_CALLERS]:
        before, after = (_rounded([getattr(call, side) for call in callers]) for side in _SIDES)
        called = [
            _item(call.caller, call, old, now)
            for call, old, now in zip(callers, before, after, strict=True)
        ]
        heading = f"callers of {short(function.key.name, _LONGEST_NAME)}, inclusive"
        yield _table(
            explained,
            "callers",
            heading,
            "",
            called,
            ("calls", "layer"),
            shown_rows=_CALLERS,
        )


_SIDES = ("base", "new")


def _item(
    key: FunctionKey, change: FunctionChange | CallerChange, base: int | None, new: int | None
) -> _Item:
    calls = calls_text(change.base_calls, change.new_calls)
    return _Item(short(key.name, _LONGEST_NAME), base, new, (calls, key.layer.value))


def _calls(calls: Fraction | None) -> str:
    return "" if calls is None else shown(calls)


def calls_text(base: Fraction | None, new: Fraction | None) -> str:
    """How often a function is called on both sides; once where that is the same."""
    if base == new:
        return "" if new is None else shown(new)
    return " → ".join("?" if calls is None else shown(calls) for calls in (base, new))


# --------------------------------------------------------------------------------------- files


def _profiles(explained: Explained) -> dict[str, Any]:
    """Flame graphs of base and new; of one side alone, its own."""
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
        "base": None if base is None else _side_values(explained, base),
        "new": _side_values(explained, new),
        "change": None if base is None else counts[-1] - counts[0],
        "same_definition": len(
            {_record(explained, side).definition_hash for side in explained.sides}
        )
        == 1,
        "disagreements": []
        if base is None
        else [
            {"name": found.name, "base": found.base, "new": found.new}
            for found in disagreements(base, new)
        ],
        "causes": [] if base is None else list(texts(top_causes(difference))),
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
                base_calls=function.base_calls,
                new_calls=function.new_calls,
            )
            for function in difference.functions
        ],
        "calls": [
            _changes(
                call,
                caller=call.caller.name,
                caller_library=call.caller.library,
                callee=call.callee.name,
                callee_library=call.callee.library,
                base_calls=call.base_calls,
                new_calls=call.new_calls,
            )
            for call in difference.calls
        ],
    }


def _changes(found: Any, **names: Any) -> dict[str, Any]:
    return {**names, "base": found.base, "new": found.new, "change": found.delta}


def _side_values(explained: Explained, side: Side) -> dict[str, Any]:
    record = _record(explained, side)
    found = record.outcome.instructions
    return {
        "title": side.title,
        "engine": side.engine,
        "torch": side.fingerprint.torch,
        "changed_files": file_changes(side),
        "instructions": found and found.per_run,
        "exact": found and found.exact,
        "spread": found and found.spread,
        "metrics": dict(record.outcome.metrics),
    }


def _executed_values(explained: Explained) -> dict[str, Any]:
    """Totals of a side as far as known; rows where both are, of functions if Python is the same."""
    sides = [_executed(explained, side) for side in explained.sides]
    base, new = (sides[0] if len(sides) > 1 else None), sides[-1]
    totals = {
        name: None
        if side is None
        else {
            "python": side.python,
            "bytecodes": side.bytecodes,
            "operator_calls": side.operator_calls,
        }
        for name, side in (("base", base), ("new", new))
    }
    if new is None or (base is None and len(sides) > 1):
        return {**totals, "functions": None, "operators": None}
    before = base or Executed((), (), new.python)
    is_known = new.bytecodes is not None and before.python == new.python
    functions = [
        {"file": cause.where, "line": cause.line, "edited": cause.edited, **_named_change(cause)}
        for cause in _executed_causes(before, new, CauseKind.PYTHON)
    ]
    operators = [
        {"backward": cause.backward, **_named_change(cause)}
        for cause in _executed_causes(before, new, CauseKind.OPERATOR)
    ]
    return {**totals, "functions": functions if is_known else None, "operators": operators}


def _named_change(cause: Cause) -> dict[str, Any]:
    return {"name": cause.name, "base": cause.base, "new": cause.new, "change": cause.change}


def _records(explained: Explained) -> Table:
    """Every function, with numbers as they are."""
    names = ("function", "library", "layer", "base", "new", "change", "base_calls", "new_calls")
    rows = (
        (
            *(function.key.name, function.key.library, function.key.layer.value),
            *(
                None if amount is None else float(amount) if amount.denominator > 1 else int(amount)
                for amount in (
                    *(function.base, function.new, function.delta),
                    *(function.base_calls, function.new_calls),
                )
            ),
        )
        for function in explained.difference.functions
    )
    return records_table("functions", names, rows)
