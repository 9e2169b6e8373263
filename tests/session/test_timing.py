"""Statements, from what is typed to what is shown and saved; with fakes for the engines."""

from __future__ import annotations

from pathlib import Path

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import Statements
from instruction_counts.session.timing import Saving, Timed, time_statements
from instruction_counts.sources.definitions import load
from tests.fakes import BUILD, FakeEngine, failed
from tests.session.fakes import fake_engines, runner_of

ADD = Statements(("x + y",), py_setup="x = y = 1")


def timed(asked: Statements, saving: Saving | None = None) -> Timed:
    """What a fake engine answers."""
    with fake_engines({BUILD.name: FakeEngine()}):
        return time_statements(asked, lambda: runner_of(BUILD.name), saving)


def test_statements_are_measured_in_their_order() -> None:
    """Whichever is done first."""
    found = timed(Statements(("b", "a"), cpp_stmts=("b;",)))

    assert ["b · Python", "b · C++", "a · Python"] == [
        " · ".join(statement.record.key.title.split(" · ")[:2]) for statement in found.statements
    ]
    assert found.is_sound
    assert not found.has_failed_cases
    assert "" == found.advice


@pytest.mark.parametrize(
    ("asked", "labels"),
    [
        (ADD, [("Mine", "add")]),
        (Statements(("a", "b")), [("Mine", "add", "a"), ("Mine", "add", "b")]),
    ],
)
def test_statements_are_saved_under_a_label(
    asked: Statements, labels: list[tuple[str, ...]], tmp_path: Path
) -> None:
    """As the cases that were measured; several each by its own name below it."""
    path = tmp_path / "cases.py"
    found = timed(asked, Saving.at(path, "Mine / add"))
    cases = load(str(path))

    assert labels == list(found.saved) == [case.label for case in cases]
    assert [case.definition_hash for case in cases] == [
        statement.record.definition_hash for statement in found.statements
    ]


def test_what_failed_is_not_saved(tmp_path: Path) -> None:
    """Nor is what was measured with it. Torch says what is wrong, and not what to type."""
    path = tmp_path / "cases.py"
    said = failed(message="RuntimeError: grad can be implicitly created only for scalar outputs")
    with fake_engines({BUILD.name: FakeEngine({("b",): [said]})}):
        asked = Statements(("a", "b"))
        found = time_statements(asked, lambda: runner_of(BUILD.name), Saving.at(path, "Mine"))

    assert found.has_failed_cases
    assert "--gradient NAME" in found.advice
    assert () == found.saved
    assert not path.exists()


def test_what_cannot_be_saved_is_not_measured(tmp_path: Path) -> None:
    """It is refused at once; an interrupt leaves no file behind."""
    path = tmp_path / "cases.py"

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    engine = FakeEngine(during=interrupt)
    with fake_engines({BUILD.name: engine}), pytest.raises(KeyboardInterrupt):
        time_statements(ADD, lambda: runner_of(BUILD.name), Saving.at(path, "Mine"))
    assert [] == list(tmp_path.iterdir())

    timed(ADD, Saving.at(path, "Mine"))
    content = path.read_text()
    with fake_engines({BUILD.name: engine}), pytest.raises(UsageError, match="called Mine already"):
        time_statements(ADD, lambda: runner_of(BUILD.name), Saving.at(path, "Mine"))
    assert 1 == len(engine.calls)
    assert content == path.read_text()
