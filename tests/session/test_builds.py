"""The one sequence from builds to a run, with fakes for the engines."""

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts.builds.compilers import CppCompiler
from instruction_counts.builds.files import files_of
from instruction_counts.core.facts import Operator
from instruction_counts.core.labels import ONCE, WARM_LOOP
from instruction_counts.core.types import Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.domain.work import WorkOrder
from instruction_counts.session.builds import BuildRunner, MeasurementSettings, banner
from instruction_counts.storage.store import Store
from tests.fakes import BUILD, FACTS, FINGERPRINT, OK, FakeEngine, make_case
from tests.session.fakes import Remarks, fake_engines, known_lanes, planned, runner_of

CASES = [make_case("a"), make_case("b")]
OUT_OF_TIME = Outcome.out_of_time(60)
PYTHON, CPP = make_case("a"), make_case("a", language=Language.CPP)
NO_VALGRIND: dict[str, Any] = {"fingerprint": attrs.evolve(FINGERPRINT, valgrind="")}
NO_COMPILER: dict[str, Any] = {"compiler": CppCompiler()}
NO_HEADERS: dict[str, Any] = {"has_cpp_headers": False}


# What is planned


def test_builds_take_turns() -> None:
    """Each case is measured on one build after the other, with the limits that were asked for."""
    runner = runner_of("base", "new")
    limits = attrs.evolve(runner.settings, timeout_s=7, retries=3)
    with fake_engines({}):
        orders = attrs.evolve(runner, settings=limits).orders(CASES)
    builds = [facts.build for facts in runner.facts]

    assert [
        WorkOrder(case, build, 7, 3, output=True, executed=True)
        for case in CASES
        for build in builds
    ] == orders


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        (WARM_LOOP, {"metrics": ("cycles",)}, (True, False)),
        (WARM_LOOP, {}, (False, False)),
        (WARM_LOOP, {"metrics": ("cycles",), "counts": False}, (False, False)),
        (ONCE, {"metrics": ("cycles",)}, (False, False)),
        (WARM_LOOP, {"metrics": ("hardware",), "counts": False}, (False, True)),
    ],
)
def test_cycles_are_estimated_of_what_is_repeated_and_counted(
    kind: str, settings: dict[str, Any], expected: tuple[bool, bool]
) -> None:
    """They need windows, and a build that can count; counters of the processor need neither."""
    case = attrs.evolve(PYTHON, timer_args=attrs.evolve(PYTHON.timer_args, kind=kind))
    (order,) = planned([case], {}, **settings)

    assert expected == (order.asks_for_cycles, order.hardware)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("allocator", "foo", "steady or system"),
        ("pin_isa", "bar", "avx2, default or None"),
        ("jobs", 0, "at least 1, or None"),
        ("timeout_s", 0, "more than 0, or None"),
        ("retries", -1, "at least 0"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(field: str, value: Any, expected: str) -> None:
    """Before it measures something else, or nothing. So is a metric that there is not."""
    with pytest.raises(UsageError, match=f"^{field}={value!r}\\n  Expected: {expected}.$"):
        MeasurementSettings(**{field: value})
    with pytest.raises(UsageError, match='"cycle" is no metric to ask for'):
        MeasurementSettings(metrics=("cycle",))


@pytest.mark.parametrize(
    ("lacks", "expected", "way_out"),
    [
        (NO_VALGRIND, "Valgrind is not installed", "valgrind .*--no-counts"),
        (NO_COMPILER, r"no C\+\+ compiler", r"g\+\+ .*--language python"),
        (NO_HEADERS, r"this torch has no C\+\+ headers", "libtorch-dev.*--language python"),
    ],
)
@pytest.mark.faults
def test_a_lack_is_an_error_that_names_both_ways_out(
    lacks: dict[str, Any], expected: str, way_out: str
) -> None:
    """Install what is missing, or leave out what needs it; what nothing needs may be missing."""
    with pytest.raises(BuildError, match=f'^build "default": {expected}') as caught:
        planned([PYTHON, CPP], lacks)

    assert re.search(f"apt-get install {way_out}", caught.value.remedy)
    assert 1 == len(planned([PYTHON], lacks, counts=lacks is not NO_VALGRIND))


@pytest.mark.parametrize(
    ("lacks", "times", "expected"),
    [
        (NO_VALGRIND, True, [(False, ""), (False, "")]),
        (NO_COMPILER, True, [(True, ""), (True, "no C++ compiler")]),
        (NO_VALGRIND, False, [(True, "Valgrind is not installed")] * 2),
    ],
)
def test_skipping_refuses_only_what_cannot_be_done(
    lacks: dict[str, Any], times: bool, expected: list[tuple[bool, str]]
) -> None:
    """Counts are left out; a case of which nothing can be measured is refused with the reason."""
    orders = planned([PYTHON, CPP], lacks, skip=True, times=times)

    assert [counts for counts, _ in expected] == [order.counts for order in orders]
    assert all(why in order.refusal for order, (_, why) in zip(orders, expected, strict=True))
    assert [bool(why) for _, why in expected] == [bool(order.refusal) for order in orders]


@pytest.mark.parametrize(
    ("metrics", "of_operators", "expected"),
    [((), True, [False, True]), (("resources",), False, [True, True]), ((), False, [False] * 2)],
)
def test_resources_are_those_of_operators_unless_they_are_asked_for(
    metrics: tuple[str, ...], *, of_operators: bool, expected: list[bool]
) -> None:
    """They take time, and other cases have no figures to compare them with.

    Metadata make no operator of a case.
    """
    case = make_case("Group", "add", metadata={"operator": "torch.add"})
    cases = [case, attrs.evolve(case, subject=Operator("torch.add"))]
    runner = BuildRunner((FACTS,), MeasurementSettings(metrics=metrics))
    orders = runner.orders(cases, of_operators=of_operators)

    assert expected == [order.resources for order in orders]


# What is measured


def test_a_recorder_keeps_the_run(tmp_path: Path) -> None:
    """It gives the details back, which are not kept in memory."""
    with Store(tmp_path / "runs.db") as store:
        runner = runner_of(BUILD.name, recorder=store)
        with fake_engines({BUILD.name: FakeEngine()}):
            measured = runner.run(runner.orders(CASES))
        (record, _) = measured.run.cases

        assert 1 == measured.run_id
        assert record.outcome.functions is None
        assert OK.functions == record.completed.outcome.functions


def test_engines_that_were_made_are_closed_where_a_later_one_cannot_start() -> None:
    """No process stays behind."""
    first = FakeEngine()
    runner = runner_of("base", "new")
    with fake_engines({"base": first}), pytest.raises(KeyError):
        runner.run(runner.orders(CASES))

    assert first.closed.is_set()


class _CheckedEngine(FakeEngine):
    """An engine that remembers what it was to find out."""

    def check(self, orders: Sequence[WorkOrder]) -> None:
        self.checked = [order.case.label[0] for order in orders]


@pytest.mark.parametrize(("done", "expected"), [((), ["a", "b"]), ((0,), ["b"]), ((0, 1), [])])
def test_an_engine_is_checked_for_what_is_left_to_measure(
    done: tuple[int, ...], expected: list[str]
) -> None:
    """Valgrind need not start where a resumed run holds everything."""
    runner, engine = runner_of(BUILD.name), _CheckedEngine()
    with fake_engines({BUILD.name: FakeEngine()}):
        orders = runner.orders(CASES)
        before = runner.run(orders).run
    before = attrs.evolve(before, cases=tuple(before.cases[place] for place in done))
    with fake_engines({BUILD.name: engine}):
        resumed = runner.run(orders, done=before)

    assert expected == engine.checked
    assert 2 == len(resumed.run.cases)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"torch_root": "/other/torch"}, "measured with /site, and build .* has /other"),
        ({"files": {"/site/torch/a.py": (1, 10**18)}}, "were written since .*: /site/torch/a.py"),
    ],
)
def test_no_run_goes_on_from_one_of_other_code(changes: dict[str, Any], expected: str) -> None:
    """Two copies of one version have one fingerprint."""
    before = {"torch_root": "/site/torch"}
    with fake_engines({BUILD.name: FakeEngine()}):
        runner, other = (runner_of(BUILD.name, **(before | more)) for more in ({}, changes))
        orders = runner.orders(CASES)
        done = attrs.evolve(runner.run(orders).run, started_at="2001-09-09T01:46:39+00:00")
        with pytest.raises(DataError, match=expected):
            other.run(orders, done=done)


def test_more_lanes_than_there_can_be_are_refused() -> None:
    """Before anything is measured."""
    runner = attrs.evolve(runner_of(), settings=MeasurementSettings(jobs=99_999_999_999))
    many = pytest.raises(UsageError, match="99,999,999,999 workers are too many")
    with many, runner.lanes():
        pass


SKIPPED = Outcome(Status.SKIPPED)


@pytest.mark.parametrize(
    ("outcomes", "passes"),
    [
        ((SKIPPED, OUT_OF_TIME), False),
        ((OUT_OF_TIME, OUT_OF_TIME), False),
        ((OK, OUT_OF_TIME), True),
        # A run in which all were refused is reported elsewhere.
        ((SKIPPED, SKIPPED), True),
    ],
)
def test_a_run_that_measured_nothing_within_its_budget_did_not_pass(
    outcomes: tuple[Outcome, Outcome], passes: bool
) -> None:
    """It is an error, with the budget; a case that was refused was not measured either."""
    engine = FakeEngine({("a",): outcomes[:1], ("b",): outcomes[1:]})
    runner = runner_of(BUILD.name)
    refused = pytest.raises(UsageError, match="no case was measured within the time budget of 60 s")
    with fake_engines({BUILD.name: engine}), contextlib.nullcontext() if passes else refused:
        assert 2 == len(runner.run(runner.orders(CASES)).run.cases)


def test_settings_are_part_of_the_fingerprint_where_the_engine_heeds_them() -> None:
    """The timer has the system's allocator, whatever is asked for."""
    for engine, allocator in (("fork", "steady"), ("timer", "system")):
        assert allocator == MeasurementSettings(engine=engine).fingerprint(FACTS).allocator


@pytest.mark.parametrize(
    ("of_build", "settings", "expected"),
    [
        ("", {}, ""),
        ("", {"compiler": "clang"}, "clang"),
        ("g++", {"compiler": "clang"}, "g++"),
        ("", {"engine": "timer"}, "cxx"),
        ("", {"engine": "timer", "compiler": "clang"}, "clang"),
    ],
)
def test_a_build_is_compiled_by_its_own_compiler_else_by_that_of_the_command(
    of_build: str, settings: dict[str, str], expected: str
) -> None:
    """Torch's Timer passes options that are meant for the compiler of torch's extensions."""
    build = attrs.evolve(BUILD, compiler=of_build)
    with known_lanes() as lanes:
        found = MeasurementSettings(lanes=lanes, **settings).probe(build)

    assert expected == found.build.compiler


def test_it_is_said_that_environments_are_made_elsewhere() -> None:
    """Whether they are there already is known on workers alone."""
    said = Remarks()
    with known_lanes() as elsewhere:
        builds = [Build("new", lock="torch==2.13.0"), BUILD]
        BuildRunner.of(builds, MeasurementSettings(lanes=elsewhere), said)

    text = "new: an environment is made of its lock file where there is none yet"
    assert [f"{text}, which takes minutes"] == said.notes


def test_the_banner_names_what_is_measured() -> None:
    """The default build needs no name, nor the engine that most counts are of."""
    other = attrs.evolve(FACTS, build=attrs.evolve(BUILD, name="new"))

    assert banner(FACTS, "fork", 1).startswith("torch 2.13.0+cpu · Python 3.11.7 · valgrind-3.19.0")
    assert banner(FACTS, "fork", 1).endswith(" · 1 worker")
    assert banner(FACTS, "timer", 2).endswith(" · 2 workers · engine timer")
    assert banner(other, "fork", 1).startswith("new: torch ")


def test_a_build_that_changes_marks_its_run(tmp_path: Path) -> None:
    """A statement wrote into it, for example."""
    file = tmp_path / "torch" / "linear.py"
    file.parent.mkdir()
    file.write_text("a")
    root = str(file.parent)
    engine = FakeEngine(during=lambda _: file.write_text("changed"))
    runner = runner_of("new", torch_root=root, files=files_of("", root, ()))
    with fake_engines({"new": engine}):
        measured = runner.run(runner.orders([make_case("a")]))

    assert {"new": ChangedFiles(1, (str(file),))} == measured.run.changed_files
    assert {"new": str(tmp_path)} == measured.run.package_folders
    assert not measured.run.is_sound
