"""Where the instructions of a case go on one side, or what changed from one side to another.

Lines of functions that changed stand below each other: ``-`` before base's, ``+`` before new's.
"""

import difflib
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import attrs

from instruction_counts.analysis.attribution.causes import (
    executed_on_both,
    nameless_libraries,
    top_causes,
)
from instruction_counts.analysis.attribution.functions import (
    CallerChange,
    FunctionChange,
    FunctionDifference,
    FunctionKey,
    Share,
    rounded,
    shown,
)
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.attribution.names import short
from instruction_counts.analysis.attribution.profiles import speedscope
from instruction_counts.analysis.verdicts.sides import disagreements
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.executed import Executed, SourceChange, SourceLines
from instruction_counts.domain.metrics import ALLOCATIONS
from instruction_counts.domain.outcomes import Instructions, Outcome
from instruction_counts.report.cases import about_cuda
from instruction_counts.report.causes import texts, title
from instruction_counts.report.comparison import facts, side_values
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

SECTIONS = ("python", "operator", "cuda", "layer", "library", "function", "cycles")
SOURCE = "source"
"""A section that is shown on request alone."""

SHOWN = 15
"""So many functions are shown on a screen."""

_SIDES = ("base", "new")
_Change = TypeVar("_Change")

_EXPLAINED_CALLERS = 3
_CALLERS = 5
_LONGEST_NAME = 48
_FUNCTION_COLUMNS = ("calls", "layer")
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
        "operator": _changed(explained, CauseKind.OPERATOR, "operators", "by operator"),
        "cuda": _cuda(explained),
        SOURCE: _other_pythons(explained, "source") or source_blocks(sources or ()),
        "layer": _shares(explained, "layers", "by layer", explained.difference.by_layer()),
        "library": _shares(explained, "libraries", "by library", explained.difference.by_library()),
        "function": _functions(explained),
        "cycles": _cycles(explained),
    }
    side_facts = facts(explained.sides)
    counts = Row(["instructions", *map(count, _counts(explained))])
    data = _values(explained, sources)
    records = ([function[name] for name in _RECORD] for function in data["functions"])
    return Document(
        "explanation",
        explained.key.title,
        answer=[
            *(_answer(explained) if _is_pair(explained) else ()),
            *about_cuda(side.records[explained.key] for side in explained.sides),
        ],
        facts=attrs.evolve(side_facts, rows=(*side_facts.rows, counts)),
        sections=(part for name, found in parts.items() if name in wanted for part in found),
        notes=_notes(explained, wanted),
        longest=LONGEST_COMMENT,
        data=data,
        records=records_table(_RECORD, records),
        profiles=_profiles(explained) if with_profiles else None,
    )


def _is_pair(explained: Explained) -> bool:
    return len(explained.sides) > 1


def _outcomes(explained: Explained) -> list[Outcome]:
    return [side.records[explained.key].outcome for side in explained.sides]


def _counts(explained: Explained) -> list[Instructions]:
    counts = [outcome.instructions for outcome in _outcomes(explained)]
    assert all(counts), "a case that was not counted is not explained"
    return [found for found in counts if found is not None]


def _answer(explained: Explained) -> Iterator[Line]:
    base, new = (found.per_run for found in _counts(explained))
    if base == new:
        yield Line("no change in instructions per iteration", Role.STRONG)
        return
    share = f" ({relative((new - base) / base)})" if base else ""
    yield Line(f"{new - base:+,} instructions per iteration{share}", Role.of_change(new - base))


def _notes(explained: Explained, wanted: set[str]) -> Iterator[Line]:
    if _is_pair(explained):
        yield from map(Line, _doubts_of_pair(explained))
    for side, found in zip(explained.sides, _counts(explained), strict=True):
        outcome = side.records[explained.key].outcome
        if outcome.executed is None and wanted & {"python", "operator"}:
            yield Line(f"Python functions and operators were not stored for {side.title}.")
        if not found.exact:
            names = "".join(f"; {short(name, 40)}" for name in found.varying)
            why = f"the windows do not agree (spread {found.spread:,}{names})."
            if not found.spread:
                why = "the windows agree, but those of another process may not."
            yield Line(f"~ {side.title}: {why}")
        if outcome.functions is not None and not outcome.functions.calls:
            yield Line(f"{side.title} was stored without calls: no callers, flat flame graphs.")
    yield Line(
        "Flame graph: --output FILE.html, or FILE.speedscope.json for speedscope.app", Role.DIM
    )


def _doubts_of_pair(explained: Explained) -> Iterator[str]:
    if not _same_definition(explained):
        yield "The definitions differ: base and new did not run the same code."
    nameless = nameless_libraries(explained.difference)
    if nameless:
        named = ", ".join(f"{library} ({side})" for library, side in sorted(nameless.items()))
        yield (
            f"Most functions of {named} have no names and are shown as ???. "
            "Compare these libraries as a whole; env says where the interpreter's names are."
        )
    before, after = (found.per_run for found in _counts(explained))
    if abs(explained.difference.delta - (after - before)) >= 1:
        yield (
            f"The functions' changes add up to {round(explained.difference.delta):+,}, and not to "
            "that of the counts: the engine counted them in other windows."
        )


def _same_definition(explained: Explained) -> bool:
    return len({side.records[explained.key].definition_hash for side in explained.sides}) == 1


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
    shown_rows: int | None = SHOWN,
    every: int | None = None,
) -> Section:
    """Rows with base, new and change, or with one amount and its share; their sums come last.

    Where items are those of ``every`` one that changed, it says how many; a line if none did.
    """
    is_pair = _is_pair(explained)
    if every is not None and not items:
        return Block("", [f"{title}: {f'none of {every:,} changed' if every else 'none'}"])
    if every is not None and is_pair:
        title += f", {len(items):,} of {every:,} changed"
    base, new = (sum(getattr(item, side) or 0 for item in items) for side in _SIDES)
    columns = [Column(unit, unit, Unit.COUNT), Column("share", "share", Unit.SHARE)]
    if is_pair:
        columns = [Column(side, side, Unit.COUNT) for side in _SIDES]
        columns.append(Column("change", "change", Unit.CHANGE, bars=not more))
    columns = [Column("name", ""), *columns, *(Column(heading, heading) for heading in more)]

    def row(item: _Item, role: Role = Role.PLAIN) -> Row:
        amounts: tuple[Cell | int | float | str | None, ...]
        amounts = Cell(item.new, remark=item.remark), (item.new or 0) / new if new else ""
        if is_pair:
            change = Cell(item.change, Role.of_change(item.change), remark=item.remark)
            amounts = item.base, item.new, change
        last = (Cell(text, Role.DIM) for text in item.more or ("",) * len(more))
        return Row((item.name, *amounts, *last), indent=2, role=role)

    total = row(_Item("sum", base, new), Role.STRONG) if len(items) > 1 else None
    remark = unit if is_pair else ""
    return Table(
        name, title, columns, map(row, items), total=total, remark=remark, shown=shown_rows
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


def _executed(explained: Explained, kind: CauseKind) -> list[Cause] | None:
    """All that the sides execute of a kind; None where that is not known, or not comparable."""
    *before, new = (outcome.executed for outcome in _outcomes(explained))
    base = before[0] if before else new and Executed((), (), new.python)
    if base is None or new is None:
        return None
    is_known = None not in {base.bytecodes, new.bytecodes} and base.python == new.python
    if kind is CauseKind.PYTHON and not is_known:
        return None
    return [cause for cause in executed_on_both(base, new) if cause.kind is kind]


def _other_pythons(explained: Explained, what: str) -> list[Block]:
    """What is said of functions where sides have different Pythons; empty where they have one."""
    known = [side for outcome in _outcomes(explained) if (side := outcome.executed) is not None]
    versions = sorted({side.python for side in known if side.bytecodes is not None})
    text = f"by {what}: Python {' and '.join(versions)} cannot be compared"
    return [Block("", [text])] if len(versions) > 1 else []


def _python(explained: Explained) -> Iterator[Section]:
    yield from _other_pythons(explained, "Python function")
    yield from _changed(explained, CauseKind.PYTHON, "python", "by Python function")


def _cuda(explained: Explained) -> Iterator[Section]:
    """What is asked of CUDA, where the case is on it."""
    sides = [outcome.executed for outcome in _outcomes(explained)]
    if all(side is not None and side.cuda is not None for side in sides):
        yield from _changed(explained, CauseKind.CUDA, "cuda", "by CUDA call")


def _changed(explained: Explained, kind: CauseKind, name: str, heading: str) -> Iterator[Section]:
    """A table of what changed, or of all that one side has; a line where nothing changed."""
    every = _executed(explained, kind)
    if every is None:
        return
    items = []
    for cause in every:
        if cause.edited or cause.change:
            base, new = (round(amount or 0) or None for amount in (cause.base, cause.new))
            remark = "edited" if cause.edited else ""
            items.append(_Item(title(cause), base, new, remark=remark))
    yield _table(explained, name, heading, kind.unit.value, items, every=len(every))


def _shares(
    explained: Explained, name: str, title: str, shares: Sequence[Share]
) -> Iterator[Section]:
    found = [outcome.metrics.get(ALLOCATIONS.name) for outcome in _outcomes(explained)]
    amounts = " → ".join(f"{amount:,}" for amount in dict.fromkeys(found) if amount is not None)
    allocated = f"{amounts} allocation{'' if amounts == '1' else 's'}"
    remarks = {} if None in found else {Layer.ALLOCATOR.value: allocated}
    items = [
        _Item(share.title, before, after, remark=remarks.get(share.title, ""))
        for share, before, after in _rounded([share for share in shares if share.base or share.new])
    ]
    yield _table(explained, name, title, "instructions", items, shown_rows=None)


def _functions(explained: Explained) -> Iterator[Section]:
    difference = explained.difference
    yield from _by_function(explained, difference, "functions", "by function", "instructions")
    largest = [change.key for change in difference.functions[:SHOWN] if change.delta]
    called = [(key, difference.callers(key)) for key in largest if _is_pair(explained)]
    for key, callers in [pair for pair in called if pair[1]][:_EXPLAINED_CALLERS]:
        items = [_item(explained, *amounts) for amounts in _rounded(callers)]
        heading = f"callers of {short(key.name, _LONGEST_NAME)}, inclusive"
        yield _table(explained, "callers", heading, "", items, _FUNCTION_COLUMNS, _CALLERS)


def _cycles(explained: Explained) -> Iterator[Section]:
    """Where estimated cycles went, or what changed of them, where they are known."""
    if (found := explained.cycles) is not None:
        heading = "estimated cycles by function, of the median layout"
        yield from _by_function(explained, found, "cycles", heading, "cycles")


def _by_function(
    explained: Explained, found: FunctionDifference, name: str, heading: str, unit: str
) -> Iterator[Section]:
    """A table of what functions cost, or of those that changed; a line where none did."""
    every = [_item(explained, *amounts) for amounts in _rounded(found.functions)]
    items = sorted((one for one in every if one.change), key=lambda item: -abs(item.change))
    heading += "" if _is_pair(explained) else f" ({len(items):,})"
    yield _table(explained, name, heading, unit, items, _FUNCTION_COLUMNS, every=len(every))


def _item(explained: Explained, change: FunctionChange, base: int | None, new: int | None) -> _Item:
    """A function, or who calls it, with the calls on both sides; once where that is the same."""
    key = change.caller if isinstance(change, CallerChange) else change.key
    calls = [change.base_calls, change.new_calls][-len(explained.sides) :]
    known = ["?" if number is None else shown(number) for number in dict.fromkeys(calls)]
    text = "" if known == ["?"] else " → ".join(known)
    return _Item(short(key.name, _LONGEST_NAME), base, new, (text, key.layer.value))


def _profiles(explained: Explained) -> dict[str, Any]:
    """Flame graphs of base and new; of one side alone, its own."""
    found = speedscope(explained.key.title, explained.difference)
    return found if _is_pair(explained) else {**found, "profiles": found["profiles"][1:2]}


def _values(explained: Explained, sources: Sequence[SourceChange] | None) -> dict[str, Any]:
    """All functions and calls, those that did not change, too; of one side, base is null."""
    difference, is_pair, counts = explained.difference, _is_pair(explained), _counts(explained)
    sides = [
        {
            **side_values(side),
            "torch": side.fingerprint.torch,
            "instructions": counted.per_run,
            "exact": counted.exact,
            "spread": counted.spread,
            "metrics": side.records[explained.key].outcome.metrics,
        }
        for side, counted in zip(explained.sides, counts, strict=True)
    ]
    return {
        "explain_version": FORMAT_VERSION,
        **explained.key.as_values,
        "base": sides[0] if is_pair else None,
        "new": sides[-1],
        "change": counts[1].per_run - counts[0].per_run if is_pair else None,
        "same_definition": _same_definition(explained),
        "disagreements": list(disagreements(*explained.sides)) if is_pair else [],
        "causes": texts(top_causes(difference)) if is_pair else [],
        "executed": _executed_values(explained),
        "sources": sources,
        "layers": [_amounts(share, name=share.title) for share in difference.by_layer()],
        "libraries": [_amounts(share, name=share.title) for share in difference.by_library()],
        "functions": _function_values(difference),
        "cycles": explained.cycles and _function_values(explained.cycles),
        "calls": [
            {**_key("caller", call.caller), **_key("callee", call.key), **_amounts(call)}
            for call in difference.calls
        ],
    }


def _function_values(found: FunctionDifference) -> list[dict[str, Any]]:
    return [
        _amounts(change, function=key.name, library=key.library, layer=key.layer)
        for change in found.functions
        for key in [change.key]
    ]


def _key(role: str, key: FunctionKey) -> dict[str, str]:
    return {role: key.name, f"{role}_library": key.library}


def _amounts(found: FunctionChange | Share, **names: Any) -> dict[str, Any]:
    known = ("base", "new", "base_calls", "new_calls")
    amounts = {name: getattr(found, name) for name in known if hasattr(found, name)}
    return {**names, **amounts, "change": found.delta}


def _executed_values(explained: Explained) -> dict[str, Any]:
    """Totals of a side as far as known; rows where both are, of functions if Python is the same."""
    totals = [
        executed and {name: getattr(executed, name) for name in _TOTALS}
        for executed in (outcome.executed for outcome in _outcomes(explained))
    ]
    functions, operators, cuda = (
        _executed(explained, kind)
        for kind in (CauseKind.PYTHON, CauseKind.OPERATOR, CauseKind.CUDA)
    )
    return {
        "base": totals[0] if _is_pair(explained) else None,
        "new": totals[-1],
        "functions": functions
        and [
            {"file": cause.where, "line": cause.line, "edited": cause.edited, **_named(cause)}
            for cause in functions
        ],
        "operators": operators
        and [{"backward": cause.backward, **_named(cause)} for cause in operators],
        "cuda": cuda and [{"kind": cause.where, **_named(cause)} for cause in cuda],
    }


def _named(cause: Cause) -> dict[str, Any]:
    return {name: getattr(cause, name) for name in ("name", "base", "new", "change")}


NONE_CHANGED = "No Python function was edited, entered or left: there are no lines to show."

_CONTEXT = 3
_MOST_LINES = 40
"""Of a function that one side alone has."""


def source_blocks(changes: Sequence[SourceChange]) -> Iterator[Block]:
    """A block for each function: what is to be known of its lines, then the lines."""
    if not changes:
        yield Block("", [NONE_CHANGED])
    for change in changes:
        remarks = (Line(remark, Role.WARNING, 2) for remark in change.remarks)
        title = f"{change.file} {change.name}"
        yield Block(title, [*remarks, *_lines(change)], preformatted=True)


def _lines(change: SourceChange) -> Iterator[Line]:
    """The lines that changed and some around them; of a function that one side has, its first."""
    base, new = (_numbered(side) for side in (change.base, change.new))
    if not base or not new:
        whole = base or new
        yield from (_line(" ", line) for line in whole[:_MOST_LINES])
        if len(whole) > _MOST_LINES:
            yield Line("…", indent=4)
        return
    old_texts, new_texts = ([text for _, text in side] for side in (base, new))
    matcher = difflib.SequenceMatcher(None, old_texts, new_texts, autojunk=False)
    for number, group in enumerate(matcher.get_grouped_opcodes(_CONTEXT)):
        if number:
            yield Line("…", indent=4)
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from (_line(" ", line) for line in new[new_start:new_end])
                continue
            yield from (_line("-", line, Role.BAD) for line in base[start:end])
            yield from (_line("+", line, Role.GOOD) for line in new[new_start:new_end])


def _line(sign: str, line: tuple[int, str], role: Role = Role.PLAIN) -> Line:
    number, text = line
    return Line(f"{sign} {number:>4} {text.rstrip()}", role, 2)


def _numbered(side: SourceLines | None) -> list[tuple[int, str]]:
    if side is None:
        return []
    lines = textwrap.dedent("\n".join(side.lines)).expandtabs().split("\n")
    return list(enumerate(lines, side.first))
