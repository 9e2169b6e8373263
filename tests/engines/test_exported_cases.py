"""Cases that AOTInductor packages: real Valgrind, compiler and torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts.builds.probing import probe
from instruction_counts.core.api import GroupedSetup, GroupedStmts
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case, Language, RuntimeMode
from instruction_counts.domain.build import default_build
from instruction_counts.domain.outcomes import FailureKind, Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.system.cache import Cache
from tests import real
from tests.real import NEEDS_VALGRIND_AND_COMPILER, cache_with_shared_headers

pytestmark = [pytest.mark.slow, pytest.mark.thorough, NEEDS_VALGRIND_AND_COMPILER]

BUILD = default_build()
SETUP = GroupedSetup("x = torch.ones(4, 4)", "auto x = torch::ones({4, 4});")
WHOLE = "y = (x * 2).relu().sum()"
STATEMENTS: Mapping[str, tuple[str, bool | Mapping[str, Any]]] = {
    "whole": (WHOLE, True),
    "data-dependent": ("y = x if x.sum() > 0 else -x", True),
    "no such dimension": (WHOLE, {"dynamic_shapes": {"x": (1, 7)}}),
    "constant dimension": ("y = x.view(4, 4) + 1", {"dynamic_shapes": {"x": (0,)}}),
}
CASES = {
    f"{name} {case.autolabels.language.option}": case
    for name, (stmt, exported) in STATEMENTS.items()
    for case in materialize(
        {(name,): GroupedStmts(stmt, "auto y = x;", SETUP, "f(x) -> y", exported=exported)}
    )
    if case.autolabels.runtime is RuntimeMode.EXPORTED
    and (name == "whole" or case.autolabels.language is Language.PYTHON)
}


def measured(
    cache: Path, cases: Mapping[str, Case], *, counts: bool = True, **variables: str
) -> dict[str, Outcome]:
    """Each case, in servers that are started for them with these ``variables``."""
    build = attrs.evolve(BUILD, env=variables)
    orders = {name: WorkOrder(case, build, counts=counts) for name, case in cases.items()}
    return real.measured(probe(build), Cache(cache), orders)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with nothing but headers."""
    return cache_with_shared_headers(tmp_path_factory.mktemp("cache")).root


@pytest.fixture(scope="module")
def first(cache: Path) -> Mapping[str, Outcome]:
    """Each case, packaged for the first time."""
    return measured(cache, CASES)


def test_both_languages_count_and_time_one_package(
    first: Mapping[str, Outcome], cache: Path
) -> None:
    """C++ without Python, which looks at what the package says of its inputs in each call."""
    outcomes = [first[f"whole {language.option}"] for language in Language]
    counts = [outcome.instructions for outcome in outcomes]

    assert [None, None] == [outcome.failure for outcome in outcomes]
    assert all(outcome.times for outcome in outcomes)
    assert counts[0] is not None
    assert counts[1] is not None
    assert 0 < counts[1].per_run < counts[0].per_run
    assert 1 == len([*cache.glob("artefacts/*/artefact.pt2")])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("data-dependent", "GuardOnDataDependentSymNode: Could not guard on"),
        ("no such dimension", "ValueError: exported: x has 2 dimensions, so these cannot all vary"),
        ("constant dimension", "UserError: Constraints violated (L['x'].size()[0])"),
    ],
)
def test_what_cannot_be_exported_fails_alone(
    first: Mapping[str, Outcome], name: str, words: str
) -> None:
    """With a line that says why: nothing else is packaged in its place."""
    failure = first[f"{name} python"].failure

    assert failure is not None
    assert failure.kind is FailureKind.EXCEPTION
    assert failure.message.startswith(words)
    assert "\n" not in failure.summary


def test_a_build_without_a_compiler_fails_its_cases_alone(cache: Path) -> None:
    """What was packaged by another compiler is not found."""
    case = {"whole": CASES["whole python"]}

    failure = measured(cache, case, CXX="/nowhere/c++", counts=False)["whole"].failure

    assert failure is not None
    assert "/nowhere/c++" in failure.summary


def test_a_package_is_made_again_where_a_file_was_edited(cache: Path, tmp_path: Path) -> None:
    """A module that its statement calls, say; else the package that was made is taken.

    A build with other variables has one of its own.
    """
    setup = GroupedSetup("import mine; x = torch.ones(4)")
    groups = {("mine",): GroupedStmts("y = mine.f(x)", None, setup, "f(x) -> y", exported=True)}
    cases = materialize(groups)
    (case,) = (case for case in cases if case.autolabels.runtime is RuntimeMode.EXPORTED)

    def packages(expression: str, folders: str = str(tmp_path)) -> set[int]:
        """When each was made that there is once the case has been measured."""
        module, code = tmp_path / "mine.py", f"def f(x): return {expression}"
        if not module.exists() or module.read_text() != code:
            module.write_text(code)
        outcome = measured(cache, {"": case}, counts=False, PYTHONPATH=folders)[""]
        assert outcome.failure is None
        return {path.stat().st_mtime_ns for path in cache.glob("artefacts/*/artefact.pt2")}

    first = packages("x + 1")
    assert first == packages("x + 1")
    second = packages("(x * 2).sin() + 1")
    assert first != second < packages("(x * 2).sin() + 1", f"{tmp_path}:/nowhere")
