"""Statements, from what is typed to what is shown; with fakes for the engines."""

from instruction_counts.domain.work import Statements
from instruction_counts.session.timing import Timed, time_statements
from tests.fakes import BUILD, FakeEngine, failed
from tests.session.fakes import fake_engines, runner_of


def timed(engine: FakeEngine, *stmts: str) -> Timed:
    """What a fake engine answers."""
    with fake_engines({BUILD.name: engine}):
        return time_statements(Statements(stmts), lambda: runner_of(BUILD.name))


def test_statements_are_measured_in_their_order() -> None:
    """Whichever is done first."""
    found = timed(FakeEngine(), "b", "a")

    assert [("b",), ("a",)] == [statement.record.label for statement in found.statements]
    assert found.run.is_sound
    assert not found.has_failed_cases
    assert "" == found.advice


def test_an_output_that_is_no_scalar_gets_advice() -> None:
    """Torch says what is wrong, and not what to type."""
    said = failed(message="RuntimeError: grad can be implicitly created only for scalar outputs")
    found = timed(FakeEngine({("b",): [said]}), "a", "b")

    assert found.has_failed_cases
    assert "x.sum()" in found.advice
