"""Whether counts are exact: the rounds, the chosen cases, and what is kept of them."""

import contextlib
import os
from pathlib import Path
from typing import TypeAlias

import attrs
import pytest

from instruction_counts.builds.hermetic import sourced_environment
from instruction_counts.core.types import Case, Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.records import Run
from instruction_counts.engines.warm.channel import KEEP_VARIABLE
from instruction_counts.session import selftest
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import STANDARD, load
from tests.builders import counted
from tests.fakes import FACTS, FakeEngine, failed, make_case, make_record, make_run
from tests.session.fakes import fake_engines, runner_of

Counts: TypeAlias = tuple[int | None, ...]
A, B = make_case("a"), make_case("b", stmt="x - y")


def run_of(a: Outcome, b: Outcome) -> Run:
    """A round."""
    records = make_record("a", outcome=a), make_record("b", outcome=b, stmt="x - y")
    return make_run(*records)


# Rounds


def test_a_selftest_counts_in_each_condition_and_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is executed is recorded in the first round, which becomes a run."""
    here = [of for of in selftest.CONDITIONS if not (of.another_directory or of.variables)]
    monkeypatch.setattr(selftest, "CONDITIONS", here)
    monkeypatch.setenv(KEEP_VARIABLE, "0")
    usual = FakeEngine({("a",): [counted(10), counted(11)], ("b",): [counted(20)]})
    other = FakeEngine({("a",): [counted(12)], ("b",): [counted(20)]})
    with fake_engines({"new": usual}, layouts={"new": other}):
        noises, run = selftest.run_selftest(runner_of("new"), [A, B], layouts=1)

    assert (
        selftest.CaseNoise(A, (10, 11), (12,), windows_agree=True),
        selftest.CaseNoise(B, (20, 20), (20,), windows_agree=True),
    ) == noises
    assert [True, True, False, False] == [call.order.executed for call in usual.calls]
    assert [Noise(1 / 11, 2 / 12, 1), Noise(layouts=1)] == [record.noise for record in run.cases]


@pytest.mark.parametrize("condition", selftest.CONDITIONS[1::2], ids=["elsewhere", "environment"])
def test_this_process_stays_as_it_is(condition: selftest.Condition) -> None:
    """Another directory and another environment last as long as a round."""
    before = Path.cwd(), dict(os.environ)
    runner = attrs.evolve(runner_of("new"), settings=MeasurementSettings("timer"))
    wide = attrs.evolve(A, timer_args=attrs.evolve(A.timer_args, num_threads=1000))
    run = selftest.counted([wide], runner, condition)

    assert [Status.SKIPPED] == [record.outcome.status for record in run.cases]
    assert before == (Path.cwd(), dict(os.environ))


def test_a_command_of_a_build_is_run_where_the_program_was_started(here: Path) -> None:
    """It may name files there."""
    (here / "env.sh").write_text("export FOUND=yes\n")
    facts = attrs.evolve(FACTS, build=Build("a", source_cmd=". ./env.sh"))
    build = selftest._anchored(facts).build

    with contextlib.chdir("/"):
        assert "yes" == sourced_environment(build)["FOUND"]


# Representative cases


def test_a_representative_set_covers_the_suite() -> None:
    """Each top label in its languages, and each mode, is another way through torch.

    They are few enough for several rounds, keep their order, and none stands twice. Of several
    threads none: their counts depend on the scheduler.
    """
    standard = load(STANDARD)
    chosen = selftest.representative(standard)

    def covered(cases: tuple[Case, ...]) -> set[tuple[str, Language]]:
        return {(str(case.label[0]), case.autolabels.language) for case in cases}

    assert covered(standard) == covered(chosen)
    expected = {case.autolabels for case in standard if case.num_threads == 1}
    assert expected == {case.autolabels for case in chosen}
    assert 35 <= len(chosen) <= 50
    assert tuple(case for case in standard if case in set(chosen)) == chosen
    assert {1} == {case.num_threads for case in chosen}


# What the rounds say


def test_rounds_are_gathered_by_case() -> None:
    """Repeats and layouts apart; a failed round has no count, and no windows that agree."""
    rounds = [run_of(counted(10), counted(7)), run_of(counted(10, exact=False), failed())]
    layouts = [{A.key: 12, B.key: 7}, {A.key: 13}]

    assert (
        selftest.CaseNoise(A, (10, 10), (12, 13), windows_agree=False),
        selftest.CaseNoise(B, (7, None), (7, None), windows_agree=False),
    ) == selftest.noise_of([A, B], rounds, layouts)
    (same, _) = selftest.noise_of([A, B], rounds[:1], [])
    assert same.windows_agree


@pytest.mark.parametrize(
    ("repeats", "layouts", "repeated", "spread", "over_layouts"),
    [
        ((100, None, 80), (100, 100), False, 0.2, 0.0),
        ((None, None), (), False, 0.0, 0.0),
        ((0, 0), (), True, 0.0, 0.0),
        ((0, 1), (), False, 1.0, 0.0),
        ((100, 70), (100, 80), False, 0.3, 0.2),
        ((100, 70), (None, 90), False, 0.3, 0.1),
    ],
)
def test_noise_is_the_spread_of_what_had_to_agree(
    repeats: Counts, layouts: Counts, repeated: bool, spread: float, over_layouts: float
) -> None:
    """As a share of the largest count; a round without a count agrees with none.

    Of layouts, the one that is measured in is one. Of a case that failed in a round or a layout, it
    is not known that it has no more noise.
    """
    found = selftest.CaseNoise(A, repeats, layouts, windows_agree=True)
    floor = None if None in (*repeats, *layouts) else Noise(spread, over_layouts, len(layouts))

    assert repeated == found.repeated
    assert [spread, over_layouts] == pytest.approx([found.noise, found.layout_spread])
    assert floor == found.floor
