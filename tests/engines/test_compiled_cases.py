"""Cases that torch compiles, in servers of their own: real Valgrind, compiler and torch."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from instruction_counts.builds.probing import probe
from instruction_counts.core.api import GroupedModules, GroupedSetup, GroupedStmts
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case, RuntimeMode
from instruction_counts.domain.build import default_build
from instruction_counts.domain.outcomes import FailureKind, Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.system.cache import Cache
from tests import real
from tests.real import NEEDS_VALGRIND_AND_COMPILER

pytestmark = [pytest.mark.slow, pytest.mark.thorough, NEEDS_VALGRIND_AND_COMPILER]

BUILD = default_build()
SETUP = GroupedSetup("x = torch.ones(4, 4)\nw = torch.ones(4, 4, requires_grad=True)")
GROUPS = {
    "whole": GroupedStmts(
        "y = (x @ w).relu().sum()", None, SETUP, "f(x, w) -> y", autograd=True, compiled=True
    ),
    "broken": GroupedStmts(
        "y = x + 1\ntorch._dynamo.graph_break()\ny = y * 2",
        None,
        SETUP,
        "f(x) -> y",
        compiled=True,
    ),
    "whole, but broken": GroupedStmts(
        "torch._dynamo.graph_break()\ny = x * 2",
        None,
        SETUP,
        "f(x) -> y",
        compiled={"fullgraph": True},
    ),
    "no backend": GroupedModules(
        "model = torch.nn.Linear(4, 4)",
        setup=SETUP,
        signature="f(x) -> y",
        compiled={"backend": "unheard"},
    ),
}
CASES = {
    f"{name} {case.autolabels.autograd.option}": case
    for name, group in GROUPS.items()
    for case in materialize({(name,): group})
    if case.autolabels.runtime is RuntimeMode.COMPILED
}


def measured(cache: Path, cases: Mapping[str, Case], *, times: bool) -> dict[str, Outcome]:
    """Each case, in servers that are started for them."""
    orders = {
        name: WorkOrder(case, BUILD, times=times, executed=times) for name, case in cases.items()
    }
    return real.measured(probe(BUILD), Cache(cache), orders)


def per_run(outcome: Outcome) -> int:
    """The count of a case that was counted."""
    assert outcome.instructions is not None, outcome.failure
    return outcome.instructions.per_run


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty one."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def first(cache: Path) -> Mapping[str, Outcome]:
    """Each case, compiled for the first time."""
    return measured(cache, CASES, times=True)


def test_what_is_compiled_is_counted_timed_and_described(first: Mapping[str, Outcome]) -> None:
    """Its guards and its graph breaks are metrics."""
    for name in ("whole forward", "whole forward+backward", "broken forward"):
        outcome = first[name]
        assert outcome.instructions is not None, (name, outcome.failure)
        assert outcome.times is not None
        assert outcome.metrics["guards"] > 0
        assert outcome.metrics["recompilations"] == 0
    assert first["whole forward"].metrics["graph_breaks"] == 0
    assert first["broken forward"].metrics["graph_breaks"] == 1


def test_a_second_process_finds_what_the_first_one_compiled(
    first: Mapping[str, Outcome], cache: Path
) -> None:
    """Its counts may be others, so none is called exact.

    Those of a backward pass differed by up to 0.4%; what is compiled again differs by far more.
    """
    names = ("whole forward", "whole forward+backward", "broken forward")

    twice = {f"{name}{again}": CASES[name] for name in names for again in ("", ", again")}
    second = measured(cache, twice, times=False)

    for name in names:
        again = per_run(second[f"{name}, again"])
        counts = [again, *(per_run(outcomes[name]) for outcomes in (first, second))]
        assert max(counts) < (1.01 if "backward" in name else 1.001) * min(counts)
        assert [False, False] == [
            outcomes[name].instructions is not None and outcomes[name].instructions.exact
            for outcomes in (first, second)
        ]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("whole, but broken forward", "Unsupported: "),
        ("no backend forward", "InvalidBackend: Invalid backend: 'unheard'"),
    ],
)
def test_what_cannot_be_compiled_fails_alone(
    first: Mapping[str, Outcome], name: str, message: str
) -> None:
    """With torch's own words in a line."""
    failure = first[name].failure

    assert failure is not None
    assert failure.kind is FailureKind.EXCEPTION
    assert failure.message.startswith(message)
    assert "\n" not in failure.summary
