"""The plugin of pytest, on test files of its own, with a fake engine."""

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

import pytest

from instruction_counts.testing import plugin
from instruction_counts.testing.counting import Counting
from instruction_counts.testing.plugin import Plugin
from tests.api.test_session import Opened
from tests.builders import counted
from tests.fakes import BUILD, Answer, FakeEngine, failed
from tests.session.fakes import fake_engines

CALLS = """
import pytest

def double(x, times=2):
    return times * x

def prepared():
    return (5,), {"times": 3}

def test_call(benchmark):
    assert benchmark(double, 4) == 8

def test_pedantic(benchmark):
    assert benchmark.pedantic(double, setup=prepared, rounds=3) == 15

@pytest.mark.icount("double(y)", setup="y = 1")
def test_statement():
    pass

def test_inner(benchmark):
    by = 3
    assert benchmark(lambda x: x * by, 2) == 6
"""
EXPECTED = """
import pytest

def taken(values):
    return [][values.pop()]

@pytest.mark.xfail(raises=IndexError)
def test_raises(benchmark):
    benchmark(taken, [1234])

@pytest.mark.xfail
@pytest.mark.icount("fails()")
def test_statement():
    pass
"""
REFUSED = """
import unittest

import pytest

generator = (n for n in range(3))

def reads():
    return next(generator)

def test_reads(benchmark):
    benchmark.pedantic(reads)

@pytest.mark.icount("next(generator)")
def test_statement():
    pass

class TestKept:
    def test_fixture(self, benchmark):
        self.counted = benchmark
        self.counted(self.read)

    def read(self):
        return 1

class TestOld(unittest.TestCase):
    @pytest.mark.icount("1 + 1")
    def test_method(self):
        pass

def one():
    return 1

def test_fine(benchmark):
    assert benchmark(one) == 1
"""
TWO_CALLS = """
function = args = 1

def more(x):
    return x + args

def test_two(icount):
    assert icount(more, 1) + icount(more, 2) == 5
"""
BOTH = """
def one():
    return 1

def test_both(benchmark, icount):
    assert ("theirs", 1) == (benchmark, icount(one))
"""
OTHER = "def test_other(): pass"
BASELINE = ("--icount-baseline", "counts.json")
ONE_CALL = ("-k", "call", *BASELINE)
Run: TypeAlias = Callable[..., pytest.RunResult]


@pytest.fixture
def in_layouts() -> list[Answer]:
    """What the first test counts in other memory layouts."""
    return [counted(1020)]


@pytest.fixture
def engine(request: pytest.FixtureRequest, in_layouts: list[Answer]) -> Iterator[FakeEngine]:
    """What counts."""
    stmt = "icount_function(*icount_args)"
    counts = [counted(1000), counted(1004), counted(1020)]
    again = f"{request.function.__name__}.py", "test_call"
    made = FakeEngine({(stmt,): counts, ("fails()",): [failed()], again: in_layouts})
    with fake_engines({BUILD.name: made}):
        yield made


@pytest.fixture
def run(pytester: pytest.Pytester) -> Run:
    """Runs pytest on a file with the plugin, which counts in a session that asks nobody.

    Without a file, on the one before.
    """

    def run(*options: str, file: str = "", plugins: Sequence[object] = ()) -> pytest.RunResult:
        own = Plugin(lambda: Counting(lambda **_: Opened()))
        unused = "cacheprovider", "xdist", "timeout", "instruction-counts"
        without = (f"-pno:{name}" for name in unused)
        if file:
            pytester.makepyfile(file)
        return pytester.runpytest_inprocess(
            *without, *options, plugins=[plugin, own, *plugins], no_reraise_ctrlc=True
        )

    return run


@pytest.fixture
def accepting(run: Run, engine: FakeEngine) -> pytest.RunResult:
    """A run whose only count becomes the baseline."""
    return run(*ONE_CALL, "--icount-accept", file=CALLS)


def test_calls_and_marked_statements_are_counted(run: Run, engine: FakeEngine) -> None:
    """What the call returns is for the test; the server gets copies, of functions, too."""
    result = run(file=CALLS)

    result.assert_outcomes(passed=4)
    setups = [call.order.case.timer_args.setup for call in engine.calls]
    stmts = [call.order.case.timer_args.stmt for call in engine.calls]
    call = "icount_function(*icount_args"
    assert [f"{call})", f"{call}, **icount_kwargs)", "double(y)", f"{call})"] == stmts
    assert all("load(" in setup for setup in setups)
    result.stdout.fnmatch_lines(["*= instruction counts =*", "*test_call*1,000*"])


def test_what_exceeds_the_baseline_fails_the_run(
    engine: FakeEngine, accepting: pytest.RunResult, run: Run
) -> None:
    """As far as is allowed, it may; each test by itself passes. What it calls may be other code."""
    other = CALLS.replace("times * x", "x * times")
    limits = ("1%", "0.5%")
    codes = [run(*ONE_CALL, "--icount-fail-on", limit, file=other).ret for limit in limits]

    accepting.stdout.fnmatch_lines(["Saved: counts.json (1 case). Commit it."])
    assert [0, 0, 1] == [accepting.ret, *codes]
    first = [call for call in engine.calls if not call.order.layout]
    assert 3 == len(first)


@pytest.mark.usefixtures("accepting")
@pytest.mark.parametrize("in_layouts", [[counted(1000)]])
@pytest.mark.parametrize("is_of_xdist", [False, True])
def test_what_memory_moves_does_not_fail_the_run(
    engine: FakeEngine, run: Run, *, is_of_xdist: bool
) -> None:
    """It is counted again in other layouts, by the process that counted it."""
    workers = [Worker()] if is_of_xdist else []
    result = run(*ONE_CALL, plugins=workers)
    if is_of_xdist:
        result = run(*ONE_CALL, "-k", "nothing", plugins=[Controller(*workers)])

    assert engine.calls[-1].order.layout
    assert pytest.ExitCode.TESTS_FAILED != result.ret
    result.stdout.fnmatch_lines(["1 case: 1 same*"])


def test_several_calls_of_a_test_are_several_cases(run: Run, engine: FakeEngine) -> None:
    """None takes the place of another, whatever the names in the file are."""
    result = run(file=TWO_CALLS)

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*test_two*1,000*", "*call 2*1,004*"])


def test_an_exception_of_a_call_is_for_the_test(run: Run) -> None:
    """It may expect that, whatever became of the count.

    That is of the arguments that the call was given: it may leave others behind.
    """
    given: dict[str, object] = {}
    engine = FakeEngine(
        {("icount_function(*icount_args)",): [failed()]},
        during=lambda order: exec(order.case.timer_args.setup, given),  # noqa: S102 - our own
    )
    with fake_engines({BUILD.name: engine}):
        result = run("-k", "raises", file=EXPECTED)

    result.assert_outcomes(xfailed=1)
    result.stdout.no_fnmatch_line("*= instruction counts =*")
    assert ([1234],) == given["icount_args"]


@pytest.mark.parametrize(
    ("file", "code", "said"),
    [
        (CALLS, 0, ["Not counted: *test_statement*", "Saved: counts.json (4 cases)*"]),
        # With what fails alone, nothing would be compared.
        ("", 1, ["Nothing was counted for counts.json.", "*pytest -rx*"]),
    ],
)
def test_what_is_expected_to_fail_is_left_out_of_the_baseline(
    pytester: pytest.Pytester, run: Run, engine: FakeEngine, file: str, code: int, said: list[str]
) -> None:
    """It is named; all else is accepted."""
    pytester.makepyfile(test_expected=EXPECTED)
    result = run(*BASELINE, "--icount-accept", file=file)

    assert code == result.ret
    result.stdout.fnmatch_lines(said)


class Worker:
    """Makes a run one that pytest-xdist started, which tells what it counted."""

    def __init__(self) -> None:
        self.workeroutput: dict[str, object] = {}

    def pytest_configure(self, config: pytest.Config) -> None:
        """As xdist does."""
        config.workeroutput = self.workeroutput  # type: ignore[attr-defined]


class Controller:
    """Makes a run one that waits for those that pytest-xdist started."""

    def __init__(self, *workers: Worker) -> None:
        self._workers = workers

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """As xdist does, when each ends."""
        for worker in self._workers:
            session.config.hook.pytest_testnodedown(node=worker, error=None)


@pytest.mark.usefixtures("accepting")
@pytest.mark.parametrize("in_layouts", [[KeyboardInterrupt()]])
def test_an_interrupt_while_it_counts_again_leaves_what_was_counted(
    engine: FakeEngine, run: Run
) -> None:
    """It is shown as it is, and the run was interrupted."""
    result = run(*ONE_CALL)

    assert engine.calls[-1].order.layout
    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.fnmatch_lines(["1 case: 1 worse*"])


def test_an_interrupted_run_that_counted_nothing_says_no_more(run: Run) -> None:
    """Counts of processes that pytest-xdist started are lost with them: it would say none were."""
    result = run(*BASELINE, file="def test_interrupted(): raise KeyboardInterrupt")

    assert pytest.ExitCode.INTERRUPTED == result.ret
    result.stdout.no_fnmatch_line("*instruction counts*")


@pytest.mark.parametrize("in_layouts", [[counted(1004)]])
def test_what_processes_of_xdist_count_is_compared_together(run: Run, engine: FakeEngine) -> None:
    """By the one that started them; none fails by what it has not counted."""
    run(*BASELINE, "--icount-accept", "-k", "call or pedantic", file=CALLS)
    workers = [Worker(), Worker(), Worker()]
    names = ["call", "pedantic", "statement"]
    each = [
        run(*BASELINE, "-k", name, plugins=[worker])
        for name, worker in zip(names, workers, strict=True)
    ]
    result = run(*BASELINE, "-k", "nothing", plugins=[Controller(*workers)])

    assert [0, 0, 0] == [one.ret for one in each]
    result.stdout.fnmatch_lines(["3 cases: 1 same · 1 worse · 1 added*"])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--icount-accept"], "*--icount-accept needs --icount-baseline FILE*"),
        (["--icount-baseline", "a", "--icount-fail-on", "x"], "*--icount-fail-on x: expected*"),
        (["--icount-baseline", "no.json"], "*no.json does not exist*Write it: --icount-accept*"),
    ],
)
def test_an_option_that_has_no_effect_says_what_is_missing(
    run: Run, engine: FakeEngine, options: list[str], expected: str
) -> None:
    """The run fails: nobody would notice that nothing was written, or compared."""
    result = run(*options, file=CALLS)

    assert result.ret
    assert fnmatchcase(" ".join([*result.outlines, *result.errlines]), expected)


@pytest.mark.parametrize("options", [[], ["--icount-accept"]])
def test_a_run_that_counts_nothing_fails_where_there_is_to_be_a_baseline(
    run: Run, options: list[str]
) -> None:
    """Whoever misspelt a name, or skips all that counts, would take it for a check that passed."""
    result = run(*BASELINE, *options, file=OTHER)

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(
        ["*= instruction counts =*", "Nothing was counted for counts.json."]
    )


@pytest.mark.parametrize("option", ["--collect-only", "--fixtures"])
def test_a_run_that_executes_no_test_has_nothing_to_count(run: Run, option: str) -> None:
    """The baseline may be named in a file of settings."""
    assert pytest.ExitCode.OK == run(*BASELINE, option, file=OTHER).ret


def test_what_cannot_be_passed_on_says_so(run: Run, engine: FakeEngine) -> None:
    """Nothing is counted for it, and it fails; a marked statement before anything is executed."""
    result = run(file=REFUSED)

    result.assert_outcomes(passed=1, failed=2, errors=2)
    result.stdout.fnmatch_lines(
        [
            'cannot be counted: *::test_statement: "generator"*',
            "cannot be counted: *::test_method: a method of unittest.TestCase *",
            'not counted: "icount_function" (builtins.function) cannot be passed on: *generator*',
            'not counted: "icount_function" (builtins.method) *: it holds the fixture that counts*',
        ]
    )
    assert 1 == len(engine.calls)


@pytest.fixture
def other(pytester: pytest.Pytester) -> tuple[str, str]:
    """The options that load another plugin, whose fixture has the same name."""
    pytester.makepyfile(
        benchmark="""
        import pytest

        @pytest.fixture
        def benchmark():
            return "theirs"
        """
    )
    pytester.syspathinsert()
    return "-p", "benchmark"


def test_another_plugin_keeps_the_name_of_its_fixture(
    run: Run, engine: FakeEngine, other: tuple[str, str]
) -> None:
    """What is counted then has a name of its own."""
    result = run(*other, file=BOTH)

    result.assert_outcomes(passed=1)
    assert 1 == len(engine.calls)


def test_what_another_plugin_took_instead_is_named(run: Run, other: tuple[str, str]) -> None:
    """Who had the fixture counted before would look for the reason elsewhere."""
    result = run(*other, *BASELINE, file="def test_theirs(benchmark): pass")

    result.stdout.fnmatch_lines(['*"benchmark" is pytest-benchmark*'])
