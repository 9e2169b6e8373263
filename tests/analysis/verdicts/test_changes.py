"""What changed besides a count: the program, exact metrics, and wall times."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest

from instruction_counts.analysis.verdicts.changes import (
    Program,
    metric_changes,
    program,
    time_change,
)
from instruction_counts.domain.executed import ExecutedDigests
from instruction_counts.domain.metrics import Metric, register, unregister
from instruction_counts.domain.outcomes import Times
from instruction_counts.domain.records import Record
from tests.builders import counted, cpp

DIGESTS = ExecutedDigests("op", "by", "co", "3.11")


def executing(digests: ExecutedDigests | None) -> Record:
    """A case that executed something."""
    return cpp("add", outcome=counted(1, executed_digests=digests))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Program.SAME),
        ({"bytecodes": "x", "code": "x"}, Program.PYTHON_DIFFERS),
        # Python first: operators follow from it.
        ({"bytecodes": "x", "code": "x", "operators": "x"}, Program.PYTHON_DIFFERS),
        ({"operators": "x"}, Program.OPERATORS_DIFFER),
        # The same bytecodes of other code.
        ({"code": "x"}, Program.UNKNOWN),
        ({"python": "3.13", "bytecodes": "x"}, Program.UNKNOWN),
        ({"python": "3.13", "operators": "x"}, Program.OPERATORS_DIFFER),
    ],
)
def test_digests_tell_what_differs(changes: dict[str, str], expected: Program) -> None:
    """Of what either side executed."""
    new = executing(attrs.evolve(DIGESTS, **changes))

    assert program(executing(DIGESTS), new) is expected
    # The case is new, or its engine cannot tell.
    assert {Program.UNKNOWN} == {program(other, new) for other in (None, executing(None))}


@pytest.fixture
def _toys() -> Iterator[None]:
    """A metric that is judged."""
    metric = register(Metric("toys", "toys", "pieces", "a toy", judged=True))
    yield
    unregister(metric)


def toys(number: int | None, code: str = "d1") -> Record:
    """A case with so many of them, and an amount that is not judged."""
    metrics = {"peak_bytes": number or 0, "toys": number}
    return cpp("add", outcome=counted(1, metrics=metrics), definition_hash=code)


@pytest.mark.usefixtures("_toys")
@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        (toys(2), toys(3), [("toys", 2, 3, "worse")]),
        (toys(3), toys(2), [("toys", 3, 2, "better")]),
        (toys(2), toys(2), []),
        (toys(2), toys(None), []),
        (toys(2), toys(3, "d2"), []),
        (toys(2), None, []),
        (None, toys(3), []),
    ],
)
def test_a_metric_that_differs_on_the_same_code_is_a_change(
    base: Record | None, new: Record | None, expected: list[tuple[str, int, int, str]]
) -> None:
    """Both sides have to know it."""
    assert expected == [
        (change.metric.name, change.base, change.new, change.verdict)
        for change in metric_changes(base, new)
    ]


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ([1e-6] * 10, [2e-6] * 10, (2.0, 2.0, 2.0, True)),
        ([1.0, 1.1, 1.2, 1.3, 1.4, 1.5], [1.2, 1.3, 1.4, 1.5, 1.6, 1.7], (1.16, 0.8, 1.7, False)),
    ],
)
def test_times_that_do_not_overlap_are_significant(
    base: list[float], new: list[float], expected: tuple[float, ...]
) -> None:
    """The ratio is new to base, with its bounds; there is none where a side was not timed."""
    change = time_change(Times.of(base, 1), Times.of(new, 1))

    assert {None} == {time_change(Times.of(base, 1), None), time_change(None, Times.of(new, 1))}

    assert change is not None
    assert expected == pytest.approx(
        (change.ratio, change.low, change.high, change.significant), rel=1e-9
    )
