"""Histories of stored counts, and what changed at their steps."""

from pathlib import Path

from instruction_counts.domain.causes import CauseKind
from instruction_counts.domain.selection import Selection
from instruction_counts.session.histories import history_of
from instruction_counts.storage.store import Store
from tests.builders import executing, statement_of
from tests.fakes import make_record, make_run


def test_a_step_names_the_python_code_before_native_functions(tmp_path: Path) -> None:
    """As a comparison of the two builds does: an interpreter may have no names."""
    with Store(tmp_path / "runs.db") as store:
        for count, bytecodes in ((1000, 10), (1500, 30)):
            outcome = executing(count, statement_of(bytecodes))
            store.import_run(make_run(make_record("add", outcome=outcome)))
        ((first, second),) = history_of(Selection(only=("add",)), store).causes.values()

    assert (CauseKind.PYTHON, "statement", 20) == (first.kind, first.name, first.change)
    assert (CauseKind.NATIVE, 500) == (second.kind, second.change)
