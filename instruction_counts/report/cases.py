"""Cases as they are defined: their identity and their code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from instruction_counts.core.facts import expected_values, subject_values
from instruction_counts.core.types import Case
from instruction_counts.report.comparison import name_of
from instruction_counts.report.document import Block, Cell, Column, Document, Line, Row, Table


def list_document(cases: Sequence[Case]) -> Document:
    """One line for each case: its label as ``--only`` takes it, and its modes."""
    rows = tuple(Row((Cell(name_of(case.key)),), case.title) for case in cases)
    table = Table("cases", "", (Column("case", ""),), rows)
    return Document("cases", sections=(table,), data=[as_values(case) for case in cases])


def code_document(cases: Sequence[Case]) -> Document:
    """The code of each case, part by part, as it will be executed."""
    blocks = [Block(case.title, tuple(_code_lines(case)), preformatted=True) for case in cases]
    return Document("code", sections=tuple(blocks), data=[as_values(case) for case in cases])


def _code_lines(case: Case) -> Iterator[Line]:
    for name, code in code_of(case):
        yield Line(name, indent=2)
        yield from (Line(line.rstrip(), indent=4) for line in code.splitlines())


def as_values(case: Case) -> dict[str, Any]:
    """Identity fields and code, with the keys that result files have."""
    return {
        **case.key.as_values,
        "definition_hash": case.definition_hash,
        "stmt": case.timer_args.stmt,
        "setup": case.timer_args.setup,
        "global_setup": case.timer_args.global_setup,
        "metadata": dict(case.metadata),
        "subject": subject_values(case.subject),
        "expected": expected_values(case.expected),
    }


def code_of(case: Case) -> Iterator[tuple[str, str]]:
    """Each part of the code of a case that is not empty, with its name."""
    args = case.timer_args
    yield "definition", case.definition_hash
    for name, code in (
        ("TorchScript model (made inside the build)", case.model_source),
        ("global setup", args.global_setup),
        ("setup", args.setup),
        ("statement", args.stmt),
    ):
        if code:
            yield name, code
