"""Counts of two engines never stand in one run."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.consistency import AlikeEngine, Kind
from tests.fakes import FINGERPRINT, OK, FakeEngine, failed, make_order

COUNTED = attrs.evolve(FINGERPRINT, allocator="steady", counted_capability="AVX2")
TIMED = attrs.evolve(OK, instructions=None, functions=None)


class Replaced(FakeEngine):
    """A fork engine that the reference engine takes over from while a certain case is measured."""

    def __init__(self, label: str, answer: Outcome = OK) -> None:
        super().__init__({(label,): [answer]}, during=self._replace)
        self.name, self._label = "fork", label

    @property
    def fingerprint(self) -> Fingerprint:
        """The reference engine has the allocator of the system."""
        return FINGERPRINT if self.name == "timer" else COUNTED

    def _replace(self, order: WorkOrder) -> None:
        if order.case.label == (self._label,):
            self.name = "timer"


@pytest.fixture
def measured(tmp_path: Path) -> dict[str, Outcome]:
    """Three cases, in whose second the engine is replaced."""
    engine = AlikeEngine(Replaced("b"), Kind())
    return {label: engine.measure(make_order(label), (0,), tmp_path) for label in "abc"}


def test_what_another_engine_counts_later_fails(measured: dict[str, Outcome]) -> None:
    """What was counted before stays."""
    assert ["ok", "failed", "failed"] == [one.status.value for one in measured.values()]


def test_the_reason_names_both_engines_and_the_remedy(measured: dict[str, Outcome]) -> None:
    """Whoever sees the row knows what to do."""
    failure = measured["c"].failure

    assert failure is not None
    assert (
        'counted by another engine ("timer") than the rest of this run ("fork"): '
        "measure all of it with --engine timer"
    ) == failure.message


def test_an_engine_that_is_replaced_before_it_counts_anything_goes_on(tmp_path: Path) -> None:
    """All counts are the other's, then."""
    engine = AlikeEngine(Replaced("a"), Kind())
    outcomes = [engine.measure(make_order(label), (0,), tmp_path) for label in "abc"]

    assert [OK] * 3 == outcomes


def test_nothing_more_is_measured_that_would_be_refused(tmp_path: Path) -> None:
    """The reference engine takes a hundred times as long."""
    engine = Replaced("a")
    alike = AlikeEngine(engine, Kind())
    alike.measure(make_order("first"), (0,), tmp_path)
    for label in "abc":
        alike.measure(make_order(label), (0,), tmp_path)

    assert ["first", "a"] == [call.order.case.label[0] for call in engine.calls]


def test_all_builds_of_a_run_are_counted_by_one_engine(tmp_path: Path) -> None:
    """Or their difference would be that of the engines."""
    kind = Kind()
    works, replaced = FakeEngine(), Replaced("a")
    works.name = "fork"
    outcomes = [
        AlikeEngine(engine, kind).measure(make_order("a"), (0,), tmp_path)
        for engine in (works, replaced)
    ]

    assert ["ok", "failed"] == [one.status.value for one in outcomes]


@pytest.mark.parametrize("outcome", [failed(), TIMED])
def test_what_holds_no_count_is_of_no_kind(outcome: Outcome, tmp_path: Path) -> None:
    """A failure tells more than a refusal, and times are those of the machine."""
    kind = Kind()
    kind.admits("fork")
    engine = AlikeEngine(Replaced("b", outcome), kind)

    assert outcome == engine.measure(make_order("b"), (0,), tmp_path)


def test_times_are_taken_whichever_engine_does(tmp_path: Path) -> None:
    """They are those of the machine."""
    kind = Kind()
    kind.admits("fork")
    engine = FakeEngine({("a",): [TIMED]})

    assert TIMED == AlikeEngine(engine, kind).measure(make_order("a", counts=False), (0,), tmp_path)


def test_the_fingerprint_is_that_of_the_counts(tmp_path: Path) -> None:
    """Those of the run were taken with another allocator than those that were refused."""
    engine = AlikeEngine(Replaced("b"), Kind())
    for label in "ab":
        engine.measure(make_order(label), (0,), tmp_path)

    assert COUNTED == engine.fingerprint


def test_the_fingerprint_of_earlier_counts_stays(tmp_path: Path) -> None:
    """Nothing was counted since."""
    kind = Kind()
    kind.admits("fork")
    engine = AlikeEngine(Replaced("a"), kind, COUNTED)
    engine.measure(make_order("a"), (0,), tmp_path)

    assert COUNTED == engine.fingerprint


def test_what_was_counted_for_before_a_server_is_up_is_known_from_earlier_counts() -> None:
    """A run of which all was done starts none."""
    assert "AVX2" == AlikeEngine(FakeEngine(), Kind(), COUNTED).fingerprint.counted_capability
