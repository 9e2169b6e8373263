"""A session, with a fake for the engine: what it measures, and when its servers start."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts import api
from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.builds.files import files_of
from instruction_counts.domain.outcomes import FailureKind
from instruction_counts.execution.cores import available_cores
from instruction_counts.session.builds import BuildRunner
from instruction_counts.storage.store import Store
from tests.builders import counted
from tests.fakes import BUILD, FACTS, FakeEngine, failed, make_case
from tests.process import ROOT, called
from tests.session.fakes import SETTINGS, Remarks, fake_engines

BASE = api.Build("base", "/nowhere/base/python")


class Opened(api.Session):
    """A session whose builds nobody has to ask what they are."""

    def __init__(self, **options: Any) -> None:
        self.started: list[list[str]] = []
        self.torch_root = ""
        self.remarks = Remarks()
        super().__init__(
            BUILD, settings=SETTINGS, observer=self.remarks, runner_of=self._made, **options
        )

    def _made(self, builds: list[api.Build], settings: Any, observer: Any, *_: Any) -> BuildRunner:
        self.started.append([build.name for build in builds])
        files = files_of(FACTS.interpreter, self.torch_root, ()) if self.torch_root else {}
        facts = (
            attrs.evolve(FACTS, build=build, torch_root=self.torch_root, files=files)
            for build in builds
        )
        return BuildRunner(tuple(facts), settings, observer)


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    """What measures the build."""
    slow = failed(FailureKind.REFUSED, "the server does not start")
    script = {("bad",): [failed()], ("refused",): [slow], ("a",): [counted(1500)]}
    made = FakeEngine({**script, ("stop",): [KeyboardInterrupt()]})
    with fake_engines({BUILD.name: made, BASE.name: FakeEngine({("a",): [counted(1000)]})}):
        yield made


def test_a_statement_is_counted_or_timed(engine: FakeEngine) -> None:
    """With what it reads of a namespace."""
    with Opened() as session:
        assert "<Session on default, no servers>" == repr(session)
        found = session.count("x + y", "y = 1", globals={"x": 2, "y": 3, "z": 4})
        session.time("x + y")
        assert "<Session on default, servers are open>" == repr(session)

    assert 8899 == found.instructions
    assert found.exact
    assert "x = 2\ny = 1" == engine.calls[0].order.case.timer_args.setup
    assert [(True, False), (False, True)] == [
        (call.order.counts, call.order.times) for call in engine.calls
    ]


LEFT_OPEN = """
from tests.api.test_session import BUILD, FakeEngine, Opened, fake_engines
engine = FakeEngine({})
engine.close = lambda: print("closed")
with fake_engines({BUILD.name: engine}):
    session = Opened()
    session.count("x")
"""


def test_a_session_that_nobody_closed_ends_with_its_process() -> None:
    """While there is still what it needs for that."""
    ended = called([sys.executable, "-c", LEFT_OPEN], ROOT)

    assert (0, "closed\n", "") == (ended.returncode, ended.stdout, ended.stderr)


@pytest.mark.skipif(len(available_cores()) < 2, reason="a case of two threads needs two cores")
def test_options_of_a_statement_are_spelled_as_on_the_command_line(engine: FakeEngine) -> None:
    """C++ reads no variables."""
    with Opened() as session:
        session.count("x;", "int x;", language="c++", num_threads=2, globals={"x": object()})
        session.count("z = x.sum()", runtime="eager", backward=True, signature="f() -> z")
        for option in ({"language": "rust"}, {"runtime": "lazy"}, {"lang": "python"}):
            with pytest.raises(api.UsageError, match="Choose from"):
                session.count("x", **option)  # type: ignore[arg-type]
        for wrong, values, message in ((None, {}, "are code"), ("x", [1], "globals is no mapping")):
            with pytest.raises(api.UsageError, match=message):
                session.count(wrong, globals=values)  # type: ignore[arg-type]

    cpp, python = (call.order.case for call in engine.calls)
    assert ("int x;", 2, "c++") == (
        cpp.timer_args.setup,
        cpp.num_threads,
        cpp.autolabels.language.option,
    )
    assert "forward+backward" == python.autolabels.autograd.option


@pytest.mark.parametrize(
    ("stmt", "said", "starts"),
    [("bad", "ValueError: bad", 1), ("refused", "the server does not start", 2), ("stop", "^$", 2)],
)
def test_servers_that_are_of_no_use_any_more_are_replaced(
    stmt: str, said: str, starts: int, engine: FakeEngine
) -> None:
    """An engine that refused one case would refuse all that follow; an interrupt ends it.

    Whatever else fails a statement is raised, and they stay.
    """
    with Opened() as session:
        with pytest.raises((api.StatementError, KeyboardInterrupt), match=said):
            session.count(stmt)
        assert engine.closed.is_set() is (starts == 2)
        session.count("x")

    assert starts == len(session.started)


def test_servers_of_changed_files_are_replaced(engine: FakeEngine, tmp_path: Path) -> None:
    """Before they count; the observer learns why."""
    library = tmp_path / "libtorch.so"
    library.touch()
    with Opened() as session:
        session.torch_root = str(tmp_path)
        session.count("x")
        session.count("x")
        library.write_text("another")
        session.count("x")

    assert 2 == len(session.started)
    assert any(f"servers start again: {library}" in said for said in session.remarks.notes)


def test_cases_are_run_and_compared_on_the_same_servers(engine: FakeEngine, tmp_path: Path) -> None:
    """Against what was measured before. Runs are stored where a database is given.

    All details are both there and in what is returned.
    """
    with Opened(db=tmp_path / "runs.db") as session:
        session.count("x")
        run = session.run([make_case("a"), make_case("b")], only="a")
        comparison = session.compare(run, [make_case("a")])
        assert not engine.closed.is_set()
    with Store(tmp_path / "runs.db") as store:
        assert [1, 1] == [summary.cases for summary in store.summaries()]

    assert [counted(1500).functions] == [record.outcome.functions for record in run.cases]
    assert [1500] == [row["instructions"] for row in run.table()]
    assert {Verdict.SAME: 1} == comparison.tally
    assert [[BUILD.name]] == session.started
    assert engine.closed.is_set()


def test_indented_code_reads_what_is_passed_to_it(engine: FakeEngine) -> None:
    """As texts in a program are; its indent is not that of the lines before it."""
    with Opened() as session:
        session.count("\n    x + y\n    ", "\n    y = x\n    ", globals={"x": 1})

    asked = engine.calls[0].order.case.timer_args
    assert ("x + y", "x = 1\ny = x") == (asked.stmt, asked.setup)


def test_a_module_is_found_by_builds_that_do_not_have_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others import their own."""
    (tmp_path / "beside_a_script.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    beside = importlib.import_module("beside_a_script")
    having = api.Build("having", sys.executable, env={"PYTHONPATH": str(tmp_path)})

    def passed(build: api.Build | None) -> str:
        with api.Session(build) as session:
            return session.passed("", ["beside.x"], {"beside": beside}, tmp_path)

    assert "import beside_a_script as beside" == passed(having)
    assert ".find({'beside_a_script': (" in passed(None)


def test_two_builds_are_compared_by_turns(engine: FakeEngine) -> None:
    """Their servers stay open for the next time."""
    with Opened() as session:
        for _ in range(2):
            comparison = session.compare(BASE, [make_case("a")], layouts=0)
            assert [("worse", 500)] == [
                (row["verdict"], row["change"]) for row in comparison.table()
            ]

    assert [[BASE.name, BUILD.name]] == session.started
