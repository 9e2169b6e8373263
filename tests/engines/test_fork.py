"""The fork engine with real Valgrind, a real compiler and a real torch."""

import contextlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts.builds.compilers import find_compiler
from instruction_counts.builds.hermetic import environment
from instruction_counts.builds.probing import BuildFacts, probe
from instruction_counts.core.types import AutogradMode, Case, Language, RuntimeMode
from instruction_counts.domain.build import default_build
from instruction_counts.domain.errors import BuildError
from instruction_counts.domain.metrics import LEFT_RUNNING, Amounts
from instruction_counts.domain.outcomes import (
    FailureKind,
    FunctionCosts,
    Instructions,
    Outcome,
    Output,
    Status,
)
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines import fork
from instruction_counts.engines.counting import PATTERN
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork import ForkEngine
from instruction_counts.engines.turns import LEAST_IN_ROUND
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.selftest import Condition, counted
from instruction_counts.system.cache import VARIABLE, Cache
from tests.cores import MACHINE, lent
from tests.engines.compiled_c import compile_c
from tests.engines.test_fork_server import pid_of
from tests.fakes import FACTS
from tests.process import executable
from tests.real import (
    NEEDS_VALGRIND_AND_COMPILER,
    cache_with_shared_headers,
    counts_of,
    failure_of,
    grouped,
    stated,
)
from tests.waiting import is_running

pytestmark = [pytest.mark.slow, NEEDS_VALGRIND_AND_COMPILER]

BUILD = default_build()
ALL_CORES = MACHINE.cores


python, cpp = stated, partial(stated, language=Language.CPP)


TENSORS = "x, y = torch.ones(4, 4), torch.ones(4, 4)"
CPP_TENSORS = "auto x = torch::ones({4, 4}); auto y = torch::ones({4, 4});"
CASES_BY_NAME = {
    "Python": python("z = x + y", TENSORS),
    "C++": cpp("auto z = x + y;", CPP_TENSORS),
    "TorchScript": grouped(),
    "backward": grouped(RuntimeMode.EAGER, AutogradMode.FORWARD_BACKWARD),
    "scripted backward": grouped(RuntimeMode.JIT, AutogradMode.FORWARD_BACKWARD),
    "empty": python("torch.empty((4,))"),
    "in place": cpp("x.add_(y);", CPP_TENSORS),
    "nothing": python("pass"),
    "inherited": python("x.t()", TENSORS),
    "keywords": python("pool(x)", "x, pool = torch.ones(1, 1, 4, 4), torch.nn.MaxPool2d(2)"),
    "two threads": python("x + y", "x = y = torch.ones(300_000)", num_threads=2),
}
ONE_THREAD = [name for name in CASES_BY_NAME if name != "two threads"]


@attrs.frozen
class Lab:
    """A build, a cache, and an engine that is used by many tests."""

    facts: BuildFacts
    cache: Cache
    engine: ForkEngine

    def measure(self, case: Case, *, cores: tuple[int, ...] = (), **asked: Any) -> Outcome:
        """What the engine says of a case, its counts unless something else is asked for."""
        order = WorkOrder(case, BUILD, **{"timeout_s": 600, "times": False, **asked})
        with tempfile.TemporaryDirectory() as folder, lent(case.num_threads) as free:
            return self.engine.measure(order, cores or free, Path(folder))

    def count(self, case: Case, **asked: Any) -> Instructions:
        """The instructions of one case."""
        return counts_of(self.measure(case, **asked))

    @property
    def pid_of_server(self) -> int:
        """The process that takes times."""
        return pid_of(self.engine._servers.times)  # type: ignore[arg-type]


@contextlib.contextmanager
def lab_of(
    facts: BuildFacts, cache: Cache, notice: Callable[[str], None] = print, **more: Any
) -> Iterator[Lab]:
    """An engine that takes little time for wall times; ``more`` is of its profile."""
    profile = Profile(min_run_time_s=0.01, keeps_servers=False, **more)
    with contextlib.closing(ForkEngine(facts, Compiler(facts, cache), profile, notice)) as engine:
        yield Lab(facts, cache, engine)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Servers that start once."""
    cache = cache_with_shared_headers(tmp_path_factory.mktemp("cache"))
    with lab_of(probe(BUILD), cache) as lab:
        order = WorkOrder(CASES_BY_NAME["nothing"], BUILD)
        lab.engine.start([order], partial(MACHINE.reserve, 1))
        yield lab


@pytest.fixture(scope="module")
def first(lab: Lab) -> Mapping[str, Outcome]:
    """Each case, measured for the first time, one after the other."""
    return {
        name: lab.measure(case, times=True)
        for name, case in CASES_BY_NAME.items()
        if case.num_threads <= len(ALL_CORES)
    }


# What is computed


def output_of(lab: Lab, case: Case) -> Output:
    """What a case computes."""
    output = lab.measure(case, counts=False, output=True).output
    assert output is not None
    return output


OF_EACH_SORT = """
x += 1.0
a, b = x.max(0)
z = [x > 0]
(w * x[0, :2]).sum().backward()
m(x[:1, :2]).sum().backward()
x.numel()
"""
FILLED = "w = torch.rand(2).requires_grad_(); m = torch.nn.Linear(2, 3)"
CHANGED = "x float32[4, 4]; w.grad float32[2]; m.weight.grad float32[3, 2]; m.bias.grad float32[3]"
CPP_OF_EACH_SORT = "x += 1.0; auto z = (w * w).sum(); z.backward(); x.sum(0);"
CPP_FILLED = "auto w = torch::rand({2}).requires_grad_();"
OBJECTS = """
class Each:
    def __init__(self, i): self.i = i
objects = [Each(i) for i in range(8)]
x = 1
"""
ORDER = "; ".join(f"z[{i}] int64[]" for i in range(8))
COUNT_RUNS = "torch.runs = getattr(torch, 'runs', 0) + 1"
SUM = "result float32[4, 4]"


@pytest.mark.parametrize(
    ("case", "expected", "repeatable"),
    [
        (
            python(OF_EACH_SORT, f"{TENSORS}\n{FILLED}"),
            f"{CHANGED}; a float32[4]; b int64[4]; z[0] bool[4, 4]; result 2 int64[]",
            True,
        ),
        (
            cpp(CPP_OF_EACH_SORT, CPP_TENSORS + CPP_FILLED),
            "x float32[4, 4]; w.grad float32[2]; z float32[]; result float32[4]",
            True,
        ),
        (python("torch.rand(4)"), "result float32[4]", False),
        (python("torch.empty(100)"), "result float32[100]", False),
        (python("x + 1", "x = torch.empty(100)"), "result float32[100]", False),
        (python("import random\nz = x * random.random()", TENSORS), "z float32[4, 4]", False),
        (cpp("auto z = torch::rand({4});"), "z float32[4]", False),
        (python("z = [each.i for each in {*objects}]", OBJECTS), ORDER, False),
        (python("z = {o: x for o in objects[:1]}", OBJECTS), "z[<Each object>] int64[]", True),
        (python("z = id(o)", "o = object()"), "z int64[]", False),
        (python("z = id(o)", "o = float('1.5')"), "z int64[]", False),
        (python("z = hash(C)", "class C: pass"), "z int64[]", False),
        (python("z = hash(m)", "m = torch.nn.Linear(2, 2)"), "z int64[]", False),
        (python("z = x.data_ptr()", "x = torch.ones(4)"), "z int64[]", False),
        # Both runs may be in one process, and what the first one left there is no part of it.
        (python("x + 1", "x = torch.rand(4)"), "result float32[4]", True),
        (python(f"{COUNT_RUNS}\nz = x * torch.runs", TENSORS), "z float32[4, 4]", True),
        (python("x + 1", f"{TENSORS}\nassert not hasattr(torch, 'runs')\n{COUNT_RUNS}"), SUM, True),
    ],
    ids=[
        *("Python", "C++", "random", "empty", "empty input", "random in Python", "random in C++"),
        *("order of a set", "by object", "identity", "of a number", "of a class", "hash"),
        "address of data",
        *("random input", "changed by an earlier run", "runs once in a process"),
    ],
)
def test_what_a_statement_makes_or_changes_is_reported(
    lab: Lab, case: Case, expected: str, repeatable: bool
) -> None:
    """Results that it drops and gradients included; what it only reads is not.

    What depends on random numbers, on memory that nobody filled, or on where objects lie, is not
    repeatable.
    """
    output = output_of(lab, case)
    found = {f"{tensor.name} {tensor.dtype}{[*tensor.shape]}" for tensor in output.tensors}

    assert {*expected.split("; ")} == found
    assert repeatable is output.repeatable


def test_both_languages_compute_the_same(lab: Lab) -> None:
    """To the last bit."""
    python_output, cpp_output = (
        [tensor.digest for tensor in output_of(lab, CASES_BY_NAME[name]).tensors]
        for name in ("Python", "C++")
    )

    assert python_output == cpp_output


def test_outputs_of_other_inputs_are_told_apart_and_a_failure_has_none(lab: Lab) -> None:
    """They can be compared only of the same ones; what fails says why when it is counted."""
    first, second = (output_of(lab, python("x + 1", f"x = torch.ones({n})")) for n in (2, 3))
    failed = lab.measure(python("1 / 0"), counts=False, output=True)

    assert first.inputs != second.inputs
    assert (Status.OK, None) == (failed.status, failed.output)


# What is used beside instructions


PRODUCT = python("z = x @ y", "x, y = torch.ones(10, 20), torch.ones(20, 30)")
USED = {"tensor_bytes": 1200, "peak_bytes": 1200, "flops": 12_000, "moved_bytes": 4400}


@pytest.mark.parametrize(
    ("case", "used", "reason"),
    [
        (PRODUCT, USED, ""),
        (CASES_BY_NAME["TorchScript"], {}, None),
        (python("1 / 0"), {}, "ZeroDivisionError: division by zero"),
    ],
    ids=["eager", "TorchScript", "exception"],
)
def test_resources_of_an_eager_case_are_reported(
    lab: Lab, case: Case, used: Amounts, reason: str | None
) -> None:
    """Or why they cannot be; no other case has some, and none fails for want of them."""
    outcome = lab.measure(case, counts=False, resources=True)

    assert used == outcome.metrics
    assert reason == outcome.resources_reason


# What is measured


@pytest.mark.parametrize("name", ONE_THREAD)
def test_a_case_is_counted_and_timed(first: Mapping[str, Outcome], name: str) -> None:
    """In every language and mode, in the same run."""
    outcome = first[name]

    assert Status.OK == outcome.status, outcome.failure
    assert outcome.times is not None
    assert 1e-10 < outcome.times.min_s < 1e-3  # others may slow down most of its blocks
    assert counts_of(outcome).exact or name in {"backward", "scripted backward", "empty"}


def in_turns(lab: Lab, case: Case) -> Outcome:
    """The times of a case on a build beside itself."""
    order = WorkOrder(case, BUILD, timeout_s=600, beside=BUILD)
    measure = fork.ENTRY.measure_in_turns
    assert measure is not None
    with tempfile.TemporaryDirectory() as folder, lent(case.num_threads) as free:
        return measure(lab.engine, lab.engine, order, free, Path(folder))


@pytest.mark.parametrize("name", ["Python", "C++", "scripted backward"])
def test_a_case_is_timed_in_turns(lab: Lab, name: str) -> None:
    """Its setup runs once in each process, whatever the language."""
    outcome = in_turns(lab, CASES_BY_NAME[name])
    paired = outcome.paired

    assert paired is not None, outcome.failure
    assert paired.pairs >= LEAST_IN_ROUND * (len(paired.ratios) + paired.rounds_left_out)
    assert all(1e-10 < seconds < 1e-3 for seconds in (*paired.base_s, *paired.new_s))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (python("pass", "1 / 0"), ("ZeroDivisionError: division by zero", "setup line 1")),
        (python("1 / 0"), ("ZeroDivisionError: division by zero", "stmt line 1")),
        (cpp('throw std::runtime_error("bad");'), ("C++ exception: bad", "")),
    ],
    ids=["the setup", "the statement", "C++"],
)
def test_what_fails_in_turns_says_where(lab: Lab, case: Case, expected: tuple[str, str]) -> None:
    """As it does where it is counted."""
    failure = failure_of(in_turns(lab, case))

    assert FailureKind.EXCEPTION is failure.kind
    assert expected == (failure.message, failure.place)


def functions_of(outcome: Outcome) -> FunctionCosts:
    """What a case that was counted spent in functions."""
    assert outcome.functions is not None, outcome.failure
    return outcome.functions


@pytest.mark.parametrize("name", ["Python", "C++"])
def test_a_count_says_what_it_is_made_of(first: Mapping[str, Outcome], name: str) -> None:
    """Windows of one and of two lengths, in their order, and functions add up to it."""
    counts, functions = counts_of(first[name]), functions_of(first[name])
    unit = min(window.runs for window in counts.windows)

    assert [unit * factor for factor in PATTERN] == [window.runs for window in counts.windows]
    assert 1e3 < counts.per_run < 1e4
    assert counts.per_run == round(sum(cost.exclusive for cost in functions.costs) / functions.runs)
    assert any("add" in cost.function for cost in functions.costs if "torch_cpu" in cost.library)


@pytest.mark.parametrize("name", ["Python", "inherited", "keywords", "backward"])
def test_what_the_interpreter_does_between_windows_is_no_call(
    first: Mapping[str, Outcome], name: str
) -> None:
    """As many calls in each run, which begin in code that costs something."""
    functions = functions_of(first[name])
    calls = {(call.calls % functions.runs, call.instructions > 0) for call in functions.calls}

    assert {(0, True)} == calls
    assert all(call.calls >= 0 for call in functions.calls)


def test_a_statement_is_executed_by_the_function_that_interprets_it(lab: Lab) -> None:
    """And by none that was called before; where the interpreter has names."""
    outcome = lab.measure(python("for k in range(40): k * k"))
    dearest = functions_of(outcome).costs[0].function

    assert "EvalFrame" in dearest or dearest.startswith(("0x", "_TAIL_CALL")), dearest


_AT_FORK = """
import itertools, os

numbers = itertools.count()

def free_in_another_order():
    first, blocks = next(numbers), [bytes(200) for _ in range(8)]
    for number in range(8):
        blocks[(first + 3 * number) % 8] = b""

os.register_at_fork(before=free_in_another_order)
"""


@pytest.mark.thorough
def test_what_a_server_frees_at_each_fork_moves_nothing(lab: Lab, tmp_path: Path) -> None:
    """As torch 2.15 does: what a case allocates first would lie elsewhere in each child."""
    (tmp_path / "sitecustomize.py").write_text(_AT_FORK, encoding="utf-8")
    case = python(
        "for _ in range(places): pass",
        "kept = [bytes(size) for size in range(150, 250)]\n"
        "places = sum(map(id, kept)) // 16 % 1009",
    )
    facts = probe(attrs.evolve(BUILD, env={"PYTHONPATH": str(tmp_path)}))
    with lab_of(facts, lab.cache) as other:
        found = [other.count(case).per_run for _ in range(3)]

    assert [found[0]] * 3 == found


LOOKING_UP = python(
    "for get, one in looked_up: get(one)",
    """
import operator
made = {}
for number in range(200):
    exec(f"class Looked{number}: value_{number} = 1.0", made)
looked_up = [
    (operator.attrgetter(f"value_{number}"), made[f"Looked{number}"]()) for number in range(200)
]
""",
)
"""One name of each of many types: names of one type can share a slot wherever they lie."""


OF_ONE_TYPE = python(
    "for get in getters: get(m)",
    """
import operator
m = torch.nn.Linear(2, 2)
codes = [each.__code__ for each in vars(torch.nn.Module).values() if hasattr(each, "__code__")]
names = sorted({name for code in codes for name in code.co_names if name in dir(m)})
getters = [operator.attrgetter(name) for name in names if len(name) > 8 and name[:2] != "__"]
""",
)
"""Some 40 names, none of them the interpreter's own: one pair or so shares a slot."""


@pytest.mark.thorough
def test_look_ups_cost_the_same_in_any_memory_layout(lab: Lab) -> None:
    """Of 200 names in 4,096 slots some ten would evict others, and which do depends on addresses.

    Where two names of one type share a slot, they do so in each: it costs some 600 instructions.
    """
    cases = LOOKING_UP, OF_ONE_TYPE
    counts = [[lab.count(case).per_run for case in cases]]
    for layout in (1, 2):
        with lab_of(lab.facts, lab.cache, layout=layout) as other:
            counts.append([other.count(case).per_run for case in cases])

    assert [counts[0]] * 3 == counts


@pytest.mark.thorough
def test_code_is_specialised_anew_for_a_type_that_changed(lab: Lab) -> None:
    """By itself it notices after 53 executions: of a long statement, in the midst of windows."""
    before, after = (
        python(
            "read(x); sum(range(3_000))",
            f"""
class X:
    pass
x = X(); x.one = 1; x.two = 2
def read(x):
    return x.one, x.two
{first}
for _ in range(100): read(x)
{then}
""",
        )
        for first, then in (("X.other = 0", ""), ("", "X.other = 0"))
    )

    assert lab.count(before).per_run == lab.count(after).per_run


@pytest.mark.thorough
def test_names_that_are_made_anew_cost_the_same_in_each_memory_layout(lab: Lab) -> None:
    """By them torch asks a list what it can do; the cache of methods keeps them for a time."""
    case = python("torch.tensor([1.0])")
    counts = {lab.count(case, layout=layout).per_run for layout in range(4)}

    assert 1 == len(counts)


def test_some_objects_are_new_to_the_collector(lab: Lab) -> None:
    """It counts them down to zero, and freeing one costs less from there on."""
    stmt = "assert gc.get_count()[0] > 900"

    assert Status.OK == lab.measure(python(stmt, "import gc")).status


@pytest.mark.thorough
def test_a_stride_that_leaves_the_cache_costs_cycles_and_no_instructions(lab: Lab) -> None:
    """The same loads: of lines that follow one another, or of lines that share a set."""
    setup = "std::vector<char> x(1 << 20); volatile char seen; volatile int stride = {};"
    stmt = "for (int at = 0; at < 128; ++at) seen = x[at * stride];"
    near, far = (
        lab.measure(cpp(stmt, setup.replace("{}", stride)), cycles=True)
        for stride in ("64", "4096")
    )

    assert counts_of(near).per_run == counts_of(far).per_run
    assert 0 == near.metrics["l1_data_misses"]
    assert far.metrics["l1_data_misses"] >= 100
    assert near.cycles is not None
    assert far.cycles is not None
    assert max(near.cycles.layouts) + 1000 <= min(far.cycles.layouts)


def test_the_processors_counters_are_read_or_refused_once_with_the_reason(lab: Lab) -> None:
    """Whatever this machine has, for a case in each language."""
    notices: list[str] = []
    loop = cpp("for (int at = 0; at < 1000; ++at) seen = at;", "volatile int seen;")
    cases = python("sum(range(1000))"), loop
    with lab_of(lab.facts, lab.cache, notices.append) as other:
        outcomes = [other.measure(case, counts=False, hardware=True) for case in cases]

    assert [Status.OK] * 2 == [outcome.status for outcome in outcomes]
    read = [outcome.metrics.get("native_instructions", 0) > 1000 for outcome in outcomes]
    refused = [notice for notice in notices if "kernel.perf_event_paranoid" in notice]
    assert ([True, True], 0) == (read, len(refused)) or ([False, False], 1) == (read, len(refused))


@pytest.mark.thorough
def test_each_layout_of_a_server_places_objects_elsewhere(lab: Lab) -> None:
    """The same layout at the same place."""
    setup = "kept = object(), [bytearray(9000) for _ in range(9)]; raise OSError(id(kept[0]))"
    case = python("pass", setup)
    places = [failure_of(lab.measure(case, layout=layout)).message for layout in (0, 1, 2, 1)]

    assert 3 == len(set(places))
    assert places[1] == places[3]


def test_a_heavy_statement_gets_fewer_runs(lab: Lab, first: Mapping[str, Outcome]) -> None:
    """Counting takes long enough."""
    heavy = lab.count(python("x @ x", "x = torch.ones(128, 128)"))

    assert heavy.windows[0].runs < counts_of(first["Python"]).windows[0].runs


# Torch finds that a tuple is no number by a TypeError, which is an object from Python 3.12 on.
EMPTY_ALLOCATES = 11 if sys.version_info >= (3, 12) else 10


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [("empty", 1, EMPTY_ALLOCATES), ("C++", 1, 10), ("in place", 0, 0), ("nothing", 0, 0)],
)
def test_allocations_are_counted(
    first: Mapping[str, Outcome], name: str, least: int, most: int
) -> None:
    """Calls in one run; a tensor takes at least one. Nothing costs nothing."""
    allocations = first[name].metrics.get("allocations")

    assert allocations is not None
    assert least <= allocations <= most
    assert name != "nothing" or 0 == counts_of(first[name]).per_run


@pytest.mark.parametrize("counts", [False, True])
def test_only_what_was_asked_for_is_measured(lab: Lab, counts: bool) -> None:
    """Counts take no times, and times count nothing."""
    outcome = lab.measure(CASES_BY_NAME["nothing"], counts=counts, times=not counts)

    assert counts is (outcome.instructions is not None)
    assert counts is (outcome.times is None)


@pytest.mark.skipif(len(ALL_CORES) < 2, reason="there is one core")
def test_all_threads_are_counted(first: Mapping[str, Outcome]) -> None:
    """The calling thread has its share, half of the elements, and all together have more."""
    instructions = counts_of(first["two threads"])

    assert instructions.all_threads_per_run is not None
    assert 150_000 / 8 < instructions.per_run < 150_000 * 1.5
    assert instructions.per_run < 0.8 * instructions.all_threads_per_run
    assert not instructions.exact


def test_the_fingerprint_tells_how_is_counted(lab: Lab, first: Mapping[str, Outcome]) -> None:
    """The allocator, the interpreter's caches, and what Valgrind lets torch dispatch to."""
    fingerprint = lab.engine.fingerprint

    assert ("steady", "held") == (fingerprint.allocator, fingerprint.caches)
    assert fingerprint.counted_capability


# What must not matter


DRAWN_BY = (
    "random.randrange(1000)",
    "int(torch.randint(1000, ()))",
    "numpy.random.randint(1000)",
    "numpy.random.default_rng().integers(1000)",
)
DRAWN = attrs.evolve(
    python("for _ in range(n): pass", f"import random, numpy\nn = {' + '.join(DRAWN_BY)}"),
    label=("drawn",),
)


def test_what_a_setup_draws_by_chance_is_the_same_in_each_process(lab: Lab) -> None:
    """Python seeds its generator anew in each child, and numpy those that have no seed."""
    once, again = (lab.count(DRAWN) for _ in range(2))

    assert once.per_run > 1000
    assert once == again


def test_neither_lanes_nor_cores_nor_what_was_measured_before_matter(
    lab: Lab, first: Mapping[str, Outcome]
) -> None:
    """Two lanes share the servers, some cases fail, and objects may lie elsewhere."""
    for number in range(4):
        lab.measure(python(f"torch.ones({number + 1}).sum()" if number % 3 else "1 / 0"))
    names = [*ONE_THREAD, "C++", "Python"]
    with ThreadPoolExecutor(2) as lanes:
        outcomes = list(lanes.map(lambda name: lab.count(CASES_BY_NAME[name]), names))
    last = lab.count(CASES_BY_NAME["Python"], cores=ALL_CORES[-1:])
    elsewhere = lab.count(CASES_BY_NAME["Python"], layout=2)

    assert [counts_of(first[name]) for name in [*names, "Python"]] == [*outcomes, last]
    assert elsewhere.per_run == last.per_run


@pytest.mark.thorough
def test_where_and_how_the_program_was_started_does_not_matter(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other servers, another working directory and TMPDIR, a build at a longer path, and so on."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    many = {f"INHERITED_{number:03}": "x" * 100 for number in range(200)}
    condition = Condition("all at once", another_directory=True, variables=many)
    # None of them looks up several names of one type: where such names lie would matter.
    cases = (LOOKING_UP, DRAWN, grouped(language=Language.CPP))
    expected = {case: lab.count(case) for case in cases}
    run = counted([*expected], BuildRunner((lab.facts,), MeasurementSettings()), condition)

    assert {case.definition_hash: count for case, count in expected.items()} == {
        record.definition_hash: counts_of(record.outcome) for record in run.cases
    }


# Failures


NO_METHOD = "y = y.no_such_thing()"
NO_MEMBER = (
    "error: no member named 'no_such_thing' in 'at::Tensor'"
    if find_compiler(BUILD).clang
    else "error: ‘class at::Tensor’ has no member named ‘no_such_thing’"
)


@pytest.mark.parametrize(
    ("case", "kind", "message", "at"),
    [
        (
            python(f"y = x + 1\n{NO_METHOD}", "x = torch.ones(4)"),
            FailureKind.EXCEPTION,
            "AttributeError: 'Tensor' object has no attribute 'no_such_thing'",
            ("stmt line 2", NO_METHOD),
        ),
        pytest.param(
            cpp("x.add_(1);\nx.no_such_thing();", CPP_TENSORS),
            FailureKind.COMPILE,
            NO_MEMBER,
            ("stmt line 2", "x.no_such_thing();"),
            marks=pytest.mark.thorough,  # it is compiled with all headers then
        ),
        (
            cpp("auto is_complex = torch::is_complex(x);", CPP_TENSORS),
            FailureKind.COMPILE,
            "the statement takes no time: the compiler removes it, since nothing uses it",
            "",
        ),
        (grouped(stmt="y = x.no_such_thing(w)"), FailureKind.EXCEPTION, "RuntimeError: ", ""),
    ],
    ids=["statement", "C++", "C++ removed", "model"],
)
def test_a_failure_names_the_users_line(
    lab: Lab, case: Case, kind: FailureKind, message: str, at: tuple[str, str] | str
) -> None:
    """Where it can be known."""
    failure = failure_of(lab.measure(case))

    assert kind == failure.kind
    assert message == failure.message[: len(message)]
    assert (at or ("", "")) == (failure.place, failure.code)


def test_no_case_leaves_a_file(lab: Lab, first: Mapping[str, Outcome]) -> None:
    """Good or bad, in either server."""
    counts, times = lab.engine._servers.counts.folder, lab.engine._servers.times.folder
    folders = [counts / "dumps", counts, times]
    before = [sorted(folder.iterdir()) for folder in folders]
    for stmt in ("pass", "1 / 0", "import os; os._exit(3)", "import os; os.abort()"):
        lab.measure(python(stmt), times=True)
    lab.measure(CASES_BY_NAME["C++"], times=True)

    assert before == [sorted(folder.iterdir()) for folder in folders]
    lab.engine.check([WorkOrder(CASES_BY_NAME["nothing"], BUILD)])  # as an engine that works
    assert before == [sorted(folder.iterdir()) for folder in folders]


@pytest.mark.faults
def test_a_process_that_left_its_session_ends_with_its_case(lab: Lab, tmp_path: Path) -> None:
    """One in each server: it forked twice, and belongs to nobody."""
    stmt = f"""
import os, time
if not hasattr(torch, "forked"):
    torch.forked = True
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            open({str(tmp_path)!r} + "/" + str(os.getpid()), "w").close()
            time.sleep(1000)
        os._exit(0)
    os.waitpid(child, 0)
"""
    outcome = lab.measure(python(stmt), times=True)

    left = [path.name for path in tmp_path.iterdir()]
    assert len(left) == outcome.metrics[LEFT_RUNNING.name] > 1
    assert not [pid for pid in left if is_running(int(pid))]  # its keeper may not have waited yet


@pytest.mark.thorough
@pytest.mark.faults
def test_a_case_that_deletes_its_folder_fails_alone(lab: Lab) -> None:
    """With all that it needs: the next ones count the same."""
    before = lab.count(CASES_BY_NAME["TorchScript"])
    delete = "import os, shutil; shutil.rmtree(os.getcwd())"
    failure = failure_of(timed(lab, delete))

    assert "the folder that it was measured in was deleted" == failure.message
    assert before == lab.count(CASES_BY_NAME["TorchScript"])


ENDS_BESIDE_OURS = """
#include <stdlib.h>
#include <string.h>
__attribute__((constructor)) static void begin(void)
{
    if (strstr(getenv("LD_PRELOAD"), "steady.so"))
        abort();
}
"""


@pytest.mark.faults
def test_no_server_of_a_build_that_changed_is_started(lab: Lab, tmp_path: Path) -> None:
    """It would import something else."""
    (tmp_path / "linear.py").write_text("old")
    there = attrs.evolve(lab.facts, torch_root=str(tmp_path), library_paths=())
    facts = attrs.evolve(there, files=there.files_now())
    (tmp_path / "linear.py").write_text("new!")
    with lab_of(facts, lab.cache) as other:
        failure = failure_of(timed(other, "pass"))

    assert (
        "the server does not start: files of the build changed during the run: "
        f"{tmp_path / 'linear.py'}" == failure.message
    )


@pytest.mark.faults
def test_a_build_that_preloads_another_allocator_is_told_what_helps(
    lab: Lab, tmp_path: Path
) -> None:
    """Two in one process may end it."""
    code, library = tmp_path / "other.c", tmp_path / "other.so"
    code.write_text(ENDS_BESIDE_OURS)
    compile_c("-shared", "-fPIC", "-o", library, code)
    build = attrs.evolve(lab.facts.build, env={"LD_PRELOAD": str(library)})
    facts = attrs.evolve(lab.facts, build=build)
    with lab_of(facts, lab.cache) as other:
        failure = failure_of(other.measure(CASES_BY_NAME["Python"]))

    assert "--allocator system): the process was killed by SIGABRT" in failure.message


# Other profiles and machines


@pytest.mark.thorough
def test_the_systems_allocator_can_be_counted(lab: Lab) -> None:
    """The fingerprint tells."""
    with lab_of(lab.facts, lab.cache, allocator="system") as other:
        assert other.count(CASES_BY_NAME["Python"]).per_run > 0
        assert "system" == other.engine.fingerprint.allocator


def test_a_torch_without_the_headers_of_valgrind_is_not_complete(tmp_path: Path) -> None:
    """No compiler is to blame, and the timer needs the same package of torch."""
    with pytest.raises(BuildError) as caught:
        fork.ENTRY.make(attrs.evolve(FACTS, valgrind_headers=str(tmp_path)), Profile(), print)

    assert caught.value.remedy.startswith("Install a complete PyTorch: ")


def test_an_engine_that_cannot_count_says_so_before_anything_is_measured(
    lab: Lab, tmp_path: Path
) -> None:
    """With the reason, and what to do; where nothing is to be counted it is not needed.

    Then each case says why it is not counted, for itself: no other engine takes over.
    """
    executable(tmp_path / "valgrind", "echo 'valgrind: no such tool today' >&2\nexit 1")
    path = environment(BUILD)["PATH"]
    build = attrs.evolve(BUILD, env={"PATH": f"{Path(path.split(':')[0])}:{tmp_path}:{path}"})
    nothing = CASES_BY_NAME["nothing"]
    orders = [WorkOrder(nothing, BUILD, counts=False), WorkOrder(nothing, BUILD, refusal="refused")]
    notices: list[str] = []
    with lab_of(attrs.evolve(lab.facts, build=build), lab.cache, notices.append) as other:
        other.engine.check(orders)
        with pytest.raises(BuildError, match="valgrind: no such tool today") as caught:
            other.engine.check([WorkOrder(nothing, BUILD)])
        failures = [failure_of(other.measure(nothing)) for _ in range(2)]

    assert "--engine timer" in caught.value.remedy
    assert [FailureKind.REFUSED] * 2 == [failure.kind for failure in failures]
    assert all("valgrind: no such tool today" in failure.message for failure in failures)
    assert [] == notices


# The server that takes times, whatever a case does to its process


def timed(lab: Lab, stmt: str, setup: str = "", **asked: Any) -> Outcome:
    """A Python case, timed alone."""
    return lab.measure(python(stmt, setup), counts=False, times=True, **asked)


@pytest.mark.parametrize(
    ("stmt", "message", "output"),
    [
        ("import ctypes; ctypes.string_at(0)", "the process was killed by SIGSEGV", ""),
        ("while True: pass", "no result within 3 s", ""),
        ("import os; os.closerange(3, 256)", "the process ended with exit code 1", ""),
        (
            "import os\nfor _ in range(1000): os.write(1, b'x' * 100_000)\nraise ValueError('ok')",
            *("ValueError: ok", "x" * 64 * 1024),
        ),
    ],
    ids=["segfault", "endless", "descriptors", "chatty"],
)
@pytest.mark.faults
def test_a_bad_case_costs_itself_alone(
    lab: Lab, first: Mapping[str, Outcome], stmt: str, message: str, output: str
) -> None:
    """It says what happened in one line, and the server goes on, the same as before."""
    before = lab.pid_of_server
    failure = failure_of(timed(lab, stmt, timeout_s=3 if "while" in stmt else 300))

    assert (message, output) == (failure.message, failure.output)
    assert Status.OK is timed(lab, "y = x + 1", "x = torch.ones(4)").status
    assert before == lab.pid_of_server


@pytest.mark.faults
def test_a_case_that_ends_under_valgrind_tells_what_valgrind_said(lab: Lab) -> None:
    """An instruction that it does not know, say: elsewhere the case may run."""
    setup = 'import os, signal\nif "LD_PRELOAD" in os.environ: os.kill(os.getpid(), signal.SIGILL)'
    failure = failure_of(lab.measure(python("pass", setup=setup)))

    assert "the process was killed by SIGILL" == failure.message
    assert "Process terminating with default action of signal 4 (SIGILL)" in failure.output
    assert "Copyright" not in failure.output


@pytest.mark.faults
def test_a_case_is_measured_whatever_it_does_to_its_process(lab: Lab) -> None:
    """Results have a way of their own, and nobody waits for its threads."""
    setup = """\
import os, sys, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
os.chdir('/')
sys.stdout.close()
sys.stderr.close()
"""
    begin = time.monotonic()
    outcome = timed(lab, "pass", setup, timeout_s=900)

    assert Status.OK is outcome.status
    assert time.monotonic() - begin < 500


@pytest.mark.thorough
def test_hundreds_of_cases_leave_nothing_in_the_server(lab: Lab) -> None:
    """Neither memory nor descriptors nor files."""

    def state() -> tuple[int, int, int]:
        process = Path(f"/proc/{lab.pid_of_server}")
        status = (process / "status").read_text()
        resident_kib = int(status.partition("VmRSS:")[2].split()[0])
        files = list(lab.engine._servers.times.folder.iterdir())
        return resident_kib, len(list((process / "fd").iterdir())), len(files)

    for _ in range(20):
        timed(lab, "pass")
    before = state()
    for _ in range(300):
        timed(lab, "pass")
    after = state()

    assert after[0] - before[0] < 1024
    assert before[1:] == after[1:]


WATCHING = """
import os, sys

def watch(event, arguments):
    if event == "tempfile.mkdtemp":
        with open({log!r}, "a") as log:
            print(os.path.abspath(arguments[0]), file=log)

sys.addaudithook(watch)
"""


@pytest.mark.faults
def test_a_server_makes_temporary_folders_only_in_its_own(lab: Lab, tmp_path: Path) -> None:
    """That one is swept where all are killed; nobody would know that others are of this program."""
    log = tmp_path / "made"
    (tmp_path / "sitecustomize.py").write_text(WATCHING.format(log=str(log)))
    build = attrs.evolve(lab.facts.build, env={"PYTHONPATH": str(tmp_path)})
    with lab_of(attrs.evolve(lab.facts, build=build), lab.cache) as watched:
        assert Status.OK is timed(watched, "pass").status
        folder = watched.engine._servers.times.folder
    made = [Path(line) for line in log.read_text().splitlines()]

    assert made
    assert [] == [path for path in made if not path.is_relative_to(folder) or path.exists()]
