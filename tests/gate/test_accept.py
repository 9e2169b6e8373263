"""Accepting a run: what changes in the baseline, what stays, and what is refused."""

import contextlib
from typing import Any

import attrs
import pytest

from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.records import Record
from instruction_counts.domain.selection import Selection
from instruction_counts.gate.accept import Acceptance, accept
from instruction_counts.gate.baseline import Baseline, Head
from tests.builders import counted, cpp, executing, key, side, statement_of
from tests.fakes import make_record


def accepted(before: Baseline | None, new: Side, **options: Any) -> Acceptance:
    """All cases of a run, accepted."""
    return accept(before, new, Selection(), **options)


def first(**counts: int) -> Baseline:
    """A baseline of C++ cases, made from nothing."""
    records = (cpp(name, outcome=count) for name, count in counts.items())
    return accepted(None, side(*records)).after


def counts(baseline: Baseline) -> dict[str, int]:
    """The counts by label."""
    return {case.key.label[0]: case.instructions for case in baseline.cases.values()}


def test_counts_that_differ_by_noise_stay() -> None:
    """So that the file changes only where something did, and drift is seen once it adds up."""
    baseline, shown = None, []
    for step in range(11):
        new = side(make_record("a", outcome=counted(1_000_000 + 900 * step)))  # layouts move 0.1%
        found = accepted(baseline, new)
        assert found.after == accepted(found.after, new).after
        shown.append(len(found.kept))
        baseline = found.after

    assert [0, *([1, 0] * 5)] == shown


def test_a_count_that_stays_is_that_of_the_program_that_was_accepted() -> None:
    """The next check does not find once more what was accepted."""
    programs = [statement_of(7), statement_of(8)]
    base, new = (
        side(cpp("a", outcome=executing(100_000 + number, program, allocations=number)))
        for number, program in enumerate(programs)
    )
    found = accepted(accepted(None, base).after, new)
    (case,) = found.after.cases.values()

    assert ((key("a"),), 100_000) == (found.kept, case.instructions)
    assert {"bytecodes": 8, "operator_calls": 1, "allocations": 0} == case.metrics
    assert case.executed is not None
    assert programs[1].digests == case.executed.executed.digests


@pytest.mark.parametrize("outcome", [Outcome(Status.SKIPPED), Outcome.out_of_time(60)])
def test_what_was_not_counted_is_no_case_that_is_gone(outcome: Outcome) -> None:
    """It was skipped, or left out for want of time; the next run has it again."""
    new = side(cpp("a", outcome=counted(1000)), cpp("b", outcome=outcome))
    found = accepted(first(a=1000, b=2000), new, prune=True)

    assert {"a": 1000, "b": 2000} == counts(found.after)
    assert () == found.absent
    assert (key("b"),) == found.uncounted


def test_what_may_only_not_have_been_measured_yet_is_not_dropped() -> None:
    """The run was interrupted, or is one shard of several."""
    new = attrs.evolve(side(cpp("a", outcome=counted(1000))), is_whole=False)
    with pytest.raises(UsageError, match="--prune would drop"):
        accepted(first(a=1000, b=2000), new, prune=True)

    assert {"a": 1000, "b": 2000} == counts(accepted(first(a=1000, b=2000), new).after)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (
            [cpp("a", outcome=counted(-2)), cpp("b", outcome=counted(100))],
            "has cases that cost less than the empty loop: a",
        ),
        ([cpp("a", outcome=Outcome(Status.SKIPPED))], "no case was counted"),
    ],
)
def test_what_no_baseline_can_hold_is_refused(records: list[Record], message: str) -> None:
    """It is named, and nothing is accepted."""
    with pytest.raises(UsageError, match=message):
        accepted(None, side(*records))


@pytest.mark.parametrize(
    ("facts", "options", "refused"),
    [
        ({"libc": "other"}, {}, True),
        ({"libc": "other"}, {"allow_different": True}, False),
        ({"allocator": "steady"}, {"allow_different": True}, True),
        ({"torch": "3"}, {}, False),
    ],
)
def test_cases_of_different_builds_are_not_mixed(
    facts: dict[str, str], options: dict[str, bool], *, refused: bool
) -> None:
    """A file has one head, that holds for all its cases; a run of all of them brings its own."""
    new = side(cpp("a", outcome=counted(1500)), **facts)
    with pytest.raises(UsageError) if refused else contextlib.nullcontext():
        accepted(first(a=1000, b=2000), new, **options)
    after = accepted(first(a=1000), new).after

    assert (Head.of(new), {"a": 1500}) == (after.head, counts(after))


def test_what_stays_is_told_from_what_the_file_now_names() -> None:
    """Where nothing of the accepted cases changed, it names what it did."""
    old, elsewhere = first(a=1000, b=2000), {"valgrind": "valgrind-3.24.0"}
    same, other = (
        accepted(old, side(cpp("a", outcome=count), **elsewhere)) for count in (1000, 1500)
    )

    assert (old, ()) == (same.after, same.mixed)
    assert "valgrind-3.24.0" == other.after.head.valgrind
    assert [True] == ["valgrind-3.24.0" in text for text in other.mixed]


SEEN = Noise(0.00005, 0.0005, 4)


@pytest.mark.parametrize(
    ("code", "counts", "known", "noise", "expected"),
    [
        # A count that stays learns of its noise: the larger of what was known and is known now.
        (None, (1_000_000, 1_000_400), (2, 700), SEEN, (1_000_000, 51, 4, 700)),
        (None, (1_000_000, 1_000_400), (2, 100), SEEN, (1_000_000, 51, 4, 501)),
        # A new one has what was known.
        (None, (1000, 2000), (4, 10), None, (2000, 5, 4, 20)),
        # From what selftest and comparisons found of the run.
        (None, (1000, 2000), (4, 10), Noise(0.0, 0.02, 6), (2000, 5, 6, 40)),
        # Other code begins anew, also where its count is the same.
        ("x", (1000, 1000), (4, 10), None, (1000, 5, 0, 0)),
    ],
)
def test_what_was_known_of_layouts_stays_where_the_code_is_the_same(
    code: str | None,
    counts: tuple[int, int],
    known: tuple[int, int],
    noise: Noise | None,
    expected: tuple[int, ...],
) -> None:
    """With what the run knows of them."""
    before = first(a=counts[0])
    case = attrs.evolve(before.cases[key("a")], layouts=known[0], layout_spread=known[1])
    case = attrs.evolve(case, definition_hash=code or case.definition_hash)
    new = side(cpp("a", outcome=counted(counts[1], spread=5), noise=noise))
    found = accepted(attrs.evolve(before, cases={case.key: case}), new).after.cases[key("a")]

    assert expected == (found.instructions, found.spread, found.layouts, found.layout_spread)
