"""Baselines: builds that cannot be checked, runs that can, and what is accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from core.types import Language
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.gate.baseline import Baseline, BaselineCase, Head
from instruction_counts.session.checking import (
    CheckRequest,
    accept_run,
    check_run,
    refuse_unfit,
    selected_cases,
)
from instruction_counts.session.lazy_store import LazyStore
from instruction_counts.storage.json_files import to_json
from tests.builders import counted, cpp, side
from tests.fakes import FACTS, FINGERPRINT, make_record, make_run

HEAD = Head.of(side())


def request_for(tmp_path: Path, *counts: int) -> CheckRequest:
    """The request to check cases that cost so much, called a, b and so on."""
    cases = [
        BaselineCase.of(cpp(name, outcome=counted(count)))
        for name, count in zip("abc", counts, strict=False)
    ]
    baseline = Baseline(HEAD, {case.key: case for case in cases})
    return CheckRequest(tmp_path / "baseline.json", baseline)


def fails(request: CheckRequest, new: Side) -> bool:
    """Whether a check fails, which compares one case."""
    with LazyStore("/nowhere/runs.db") as runs:
        check = check_run(new, request, runs)
    assert 1 == len(check.comparison.differences)
    return check.gate.fails


@pytest.mark.parametrize(("count", "expected"), [(1000, False), (2000, True)])
def test_a_side_is_checked_without_a_database(
    count: int, tmp_path: Path, *, expected: bool
) -> None:
    """It is not opened."""
    request = request_for(tmp_path, 1000)

    assert expected is fails(request, side(cpp("a", outcome=counted(count))))


def test_another_compiler_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    """The error names both."""
    request = request_for(tmp_path, 1000)
    new = side(cpp("a", outcome=counted(1000)), compiler="another")

    with pytest.raises(UsageError, match="another now"):
        fails(request, new)
    assert not fails(attrs.evolve(request, allow_different=True), new)


def test_a_selection_leaves_its_cases_alone(tmp_path: Path) -> None:
    """Those of the baseline; the file stays whole."""
    baseline = request_for(tmp_path, 1, 2, 3).baseline
    kept = selected_cases(baseline, Selection(only=("b",)))

    assert [("b",)] == [key.label for key in kept.cases]


def test_a_run_in_a_file_is_accepted(tmp_path: Path) -> None:
    """Nothing is written by it."""
    run = tmp_path / "run.json"
    run.write_text(to_json(make_run(make_record("a", outcome=counted(7), language=Language.CPP))))
    with LazyStore("/nowhere/runs.db") as runs:
        found = accept_run(str(run), tmp_path / "baseline.json", Selection(), runs)

    assert [7] == [case.instructions for case in found.after.cases.values()]
    assert not (tmp_path / "baseline.json").exists()


def test_a_build_that_cannot_count_is_refused_before_it_is_measured() -> None:
    """An image that lost Valgrind does not pass."""
    facts = attrs.evolve(FACTS, fingerprint=attrs.evolve(FINGERPRINT, valgrind=""))

    with pytest.raises(BuildError, match=r"no valgrind[^\n]*\n  apt-get install valgrind"):
        refuse_unfit(facts, Baseline(HEAD, {}))


@pytest.mark.parametrize("change", [{"compiler": ""}, {"has_cpp_headers": False}])
def test_a_build_that_cannot_compile_is_refused_where_the_baseline_has_cpp(
    change: dict[str, Any],
) -> None:
    """An image that lost its compiler does not pass either."""
    case = BaselineCase.of(cpp("add", outcome=counted(1)))
    with pytest.raises(BuildError, match=r"C\+\+ cases cannot be measured"):
        refuse_unfit(attrs.evolve(FACTS, **change), Baseline(HEAD, {case.key: case}))


def test_a_build_that_can_do_what_the_baseline_has_is_not_refused() -> None:
    """Whatever else it lacks."""
    refuse_unfit(attrs.evolve(FACTS, compiler=""), Baseline(HEAD, {}))
