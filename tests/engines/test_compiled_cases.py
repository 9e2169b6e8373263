"""Cases that torch compiles or packages, in servers of their own: Valgrind, compiler and torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts.builds.probing import probe
from instruction_counts.core.api import GroupedBenchmark, GroupedModules, GroupedSetup, GroupedStmts
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case, Language, RuntimeMode
from instruction_counts.domain.build import default_build
from instruction_counts.domain.outcomes import FailureKind, Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.system.cache import Cache
from tests import real
from tests.real import NEEDS_VALGRIND_AND_COMPILER, cache_with_shared_headers, counts_of, failure_of

pytestmark = [pytest.mark.slow, pytest.mark.thorough, NEEDS_VALGRIND_AND_COMPILER]

BUILD = default_build()
SETUP = GroupedSetup(
    "x = torch.ones(4, 4)\nw = torch.ones(4, 4, requires_grad=True)",
    "auto x = torch::ones({4, 4});",
)
WHOLE = "y = (x * 2).relu().sum()"


def compiled(stmt: str, signature: str = "f(x) -> y", **more: Any) -> GroupedBenchmark:
    """A statement that torch compiles when it runs."""
    return GroupedStmts(stmt, None, SETUP, signature, **{"compiled": True, **more})


def exported(stmt: str, cpp: str | None = None, **shapes: Any) -> GroupedBenchmark:
    """A statement that AOTInductor packages before it runs."""
    how = {"dynamic_shapes": shapes} if shapes else True
    return GroupedStmts(stmt, cpp, SETUP, "f(x) -> y", exported=how)


GROUPS: Mapping[str, GroupedBenchmark] = {
    "whole": compiled("y = (x @ w).relu().sum()", "f(x, w) -> y", autograd=True),
    "broken": compiled("y = x + 1\ntorch._dynamo.graph_break()\ny = y * 2"),
    "whole, but broken": compiled(
        "torch._dynamo.graph_break()\ny = x * 2", compiled={"fullgraph": True}
    ),
    "no backend": GroupedModules(
        "model = torch.nn.Linear(4, 4)",
        setup=SETUP,
        signature="f(x) -> y",
        compiled={"backend": "unheard"},
    ),
    "package": exported(WHOLE, "auto y = x;"),
    "data-dependent": exported("y = x if x.sum() > 0 else -x"),
    "no such dimension": exported(WHOLE, x=(1, 7)),
    "constant dimension": exported("y = x.view(4, 4) + 1", x=(0,)),
}


def made_of(name: str, group: GroupedBenchmark) -> dict[str, Case]:
    """The cases of a group that torch makes something of, in each of their modes."""
    return {
        f"{name} {case.autolabels.autograd.option} {case.autolabels.language.option}": case
        for case in materialize({(name,): group})
        if case.autolabels.runtime in {RuntimeMode.COMPILED, RuntimeMode.EXPORTED}
    }


CASES = {key: case for name, group in GROUPS.items() for key, case in made_of(name, group).items()}


def measured(
    cache: Cache,
    cases: Mapping[str, Case],
    variables: Mapping[str, str] | None = None,
    **asked: Any,
) -> dict[str, Outcome]:
    """Each case, in servers that are started for them with these ``variables``."""
    build = attrs.evolve(BUILD, env=variables or {})
    orders = {name: WorkOrder(case, build, **asked) for name, case in cases.items()}
    return real.measured(probe(build), cache, orders)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """One with nothing but headers."""
    return cache_with_shared_headers(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def first(cache: Cache) -> Mapping[str, Outcome]:
    """Each case, compiled or packaged for the first time."""
    return measured(cache, CASES, executed=True)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("whole, but broken", "Unsupported: "),
        ("no backend", "InvalidBackend: Invalid backend: 'unheard'"),
        ("data-dependent", "GuardOnDataDependentSymNode: Could not guard on"),
        ("no such dimension", "ValueError: exported: x has 2 dimensions, so these cannot all vary"),
        ("constant dimension", "UserError: Constraints violated (L['x'].size()[0])"),
    ],
)
def test_what_cannot_be_compiled_or_exported_fails_alone(
    first: Mapping[str, Outcome], name: str, words: str
) -> None:
    """With torch's own words in a line: nothing else is measured in its place."""
    failure = failure_of(first[f"{name} forward python"])

    assert failure.kind is FailureKind.EXCEPTION
    assert failure.message.startswith(words)
    assert "\n" not in failure.summary


# What is compiled when it runs

COMPILED = ("whole forward python", "whole forward+backward python", "broken forward python")


def test_what_is_compiled_is_counted_timed_and_described(first: Mapping[str, Outcome]) -> None:
    """Its guards and its graph breaks are metrics."""
    for name in COMPILED:
        outcome = first[name]
        assert counts_of(outcome)
        assert outcome.times
        assert outcome.metrics["guards"] > 0
        assert outcome.metrics["recompilations"] == 0
    breaks = [first[name].metrics["graph_breaks"] for name in COMPILED if "backward" not in name]
    assert [0, 1] == breaks


def test_a_second_process_finds_what_the_first_one_compiled(
    first: Mapping[str, Outcome], cache: Cache
) -> None:
    """Its counts may be others, so none is called exact.

    Those of a backward pass differed by up to 0.4%; what is compiled again differs by far more.
    """
    twice = {f"{name}{again}": CASES[name] for name in COMPILED for again in ("", ", again")}
    second = measured(cache, twice, times=False)

    for name in COMPILED:
        found = [*map(counts_of, (first[name], second[name], second[f"{name}, again"]))]
        counts = [instructions.per_run for instructions in found]
        assert max(counts) < (1.01 if "backward" in name else 1.001) * min(counts)
        assert [False, False] == [instructions.exact for instructions in found[:2]]


# What is packaged before


def test_both_languages_count_and_time_one_package(
    first: Mapping[str, Outcome], cache: Cache
) -> None:
    """C++ without Python, which looks at what the package says of its inputs in each call."""
    outcomes = [first[f"package forward {language.option}"] for language in Language]
    of_python, of_cpp = (counts_of(outcome).per_run for outcome in outcomes)

    assert all(outcome.times for outcome in outcomes)
    assert 0 < of_cpp < of_python
    assert 1 == len([*cache.root.glob("artefacts/*/artefact.pt2")])


def test_a_build_without_a_compiler_fails_its_cases_alone(cache: Cache) -> None:
    """What was packaged by another compiler is not found."""
    case = {"": CASES["package forward python"]}
    outcome = measured(cache, case, {"CXX": "/nowhere/c++"}, counts=False)[""]

    assert "/nowhere/c++" in failure_of(outcome).summary


def test_a_package_is_made_again_where_a_file_was_edited(cache: Cache, tmp_path: Path) -> None:
    """A module that its statement calls, say; else the package that was made is taken.

    A build with other variables has one of its own.
    """
    setup = GroupedSetup("import mine; x = torch.ones(4)")
    group = GroupedStmts("y = mine.f(x)", None, setup, "f(x) -> y", exported=True)

    def packages(expression: str, folders: str = str(tmp_path)) -> set[int]:
        """When each was made that there is once the case has been measured."""
        module, code = tmp_path / "mine.py", f"def f(x): return {expression}"
        if not module.exists() or module.read_text() != code:
            module.write_text(code)
        found = measured(cache, made_of("mine", group), {"PYTHONPATH": folders}, counts=False)
        assert [None] == [outcome.failure for outcome in found.values()]
        return {path.stat().st_mtime_ns for path in cache.root.glob("artefacts/*/artefact.pt2")}

    first = packages("x + 1")
    assert first == packages("x + 1")
    second = packages("(x * 2).sin() + 1")
    assert first != second < packages("(x * 2).sin() + 1", f"{tmp_path}:/nowhere")
