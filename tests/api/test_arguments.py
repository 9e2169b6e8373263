"""What programs may give to the Python interface."""

from __future__ import annotations

import pytest

from instruction_counts import api
from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.domain.records import Run
from tests.builders import counted
from tests.fakes import make_record, make_run


def run_of(count: int) -> Run:
    """A run of one case."""
    return make_run(make_record("Group", "add", outcome=counted(count)))


def test_a_minimum_effect_is_written_as_on_the_command_line() -> None:
    """A change below it is none."""
    comparison = api.compare(run_of(1000), run_of(1010), min_effect="5%")

    assert [Verdict.SAME] == [found.verdict for found in comparison.differences]


def test_a_build_of_several_has_to_be_named() -> None:
    """The error lists them."""
    record = make_record("add", build="base")
    run = make_run(record, builds=("base", "new"))

    assert {record.key} == set(api.side(run, "base").records)
    with pytest.raises(api.UsageError, match="several builds"):
        api.compare(run, run)


@pytest.mark.parametrize(
    ("field", "found"), [("languages", "rust"), ("runtimes", "lazy"), ("autograds", "sideways")]
)
def test_an_unknown_mode_is_named(field: str, found: str) -> None:
    """Before anything is measured."""
    with pytest.raises(api.UsageError, match=f'"{found}"'):
        api.measure({"add": api.TimerArgs("x")}, **{field: found})


def test_modes_are_written_as_on_the_command_line() -> None:
    """One spelling everywhere."""
    comparison = api.compare(
        run_of(1000), run_of(1500), languages="python", runtimes=("eager",), autograds="forward"
    )

    assert 1 == len(comparison.differences)
    with pytest.raises(api.UsageError, match="no selected case"):
        api.compare(run_of(1000), run_of(1500), languages="c++")


def test_an_effect_that_cannot_be_read_is_named() -> None:
    """With what is expected."""
    with pytest.raises(api.UsageError, match="min_effect='much'"):
        api.compare(run_of(1000), run_of(1500), min_effect="much")


def test_two_builds_of_the_same_name_are_refused() -> None:
    """Their records could not be told apart."""
    builds = [api.Build("new", "/nowhere/a"), api.Build("new", "/nowhere/b")]

    with pytest.raises(api.UsageError, match="two builds have the same name"):
        api.measure({"add": api.TimerArgs("x")}, builds=builds)
    with pytest.raises(api.UsageError, match="two builds have the same name"):
        api.compare(*builds)
