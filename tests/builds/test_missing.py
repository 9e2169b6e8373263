"""What a build does not have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
import pytest

from instruction_counts.builds.missing import Requirement, missing, runtime_refusals
from instruction_counts.core.runtimes import Runtime, register, unregister
from instruction_counts.core.types import Language, RuntimeMode
from instruction_counts.domain.build import default_build
from tests.fakes import BUILD, FACTS, FINGERPRINT, make_case, make_order

_WITHOUT_COMPILER = attrs.evolve(FACTS, compiler="")


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """One that no torch has."""
    found = register(
        Runtime(RuntimeMode.new("UNHEARD", "Unheard"), needs=("torch.nn", "torch.unheard.of"))
    )
    yield found
    unregister(found)


def test_a_whole_build_misses_nothing() -> None:
    """Valgrind and a compiler are all that engines need."""
    assert [] == list(missing(FACTS))


@pytest.mark.parametrize(
    ("changes", "requirement", "remedy"),
    [
        (
            {"fingerprint": attrs.evolve(FINGERPRINT, valgrind="")},
            Requirement.VALGRIND,
            "--no-counts",
        ),
        ({"compiler": ""}, Requirement.COMPILER, "apt-get install g++"),
        ({"has_cpp_headers": False}, Requirement.COMPILER, "--language python"),
        ({"compiler": "", "has_cpp_headers": False}, Requirement.COMPILER, "apt-get install g++"),
    ],
)
@pytest.mark.faults
def test_a_missing_requirement_names_the_build_and_the_remedy(
    changes: dict[str, Any], requirement: Requirement, remedy: str
) -> None:
    """Each thing that cannot be done is reported once."""
    (found,) = missing(attrs.evolve(FACTS, **changes))

    assert requirement is found.requirement
    assert remedy in found.remedy
    assert found.what.startswith('build "default": ')


def test_all_missing_requirements_are_named() -> None:
    """So that they can be installed in one go."""
    facts = attrs.evolve(FACTS, compiler="", fingerprint=attrs.evolve(FINGERPRINT, valgrind=""))

    assert [Requirement.VALGRIND, Requirement.COMPILER] == [
        found.requirement for found in missing(facts)
    ]


def test_what_an_engine_does_not_need_is_not_missed() -> None:
    """An engine that counts in another way needs no Valgrind."""
    assert [] == list(missing(_WITHOUT_COMPILER, {Requirement.VALGRIND}))


def test_a_missing_compiler_affects_cpp_alone() -> None:
    """Python cases are measured."""
    (found,) = missing(_WITHOUT_COMPILER)

    assert found.affects(attrs.evolve(make_order(), case=make_case(language=Language.CPP)))
    assert not found.affects(make_order())
    assert found.what == found.reduced(make_order()).refusal


def test_without_valgrind_the_times_are_left() -> None:
    """Where they are asked for."""
    fingerprint = attrs.evolve(FACTS.fingerprint, valgrind="")
    (found,) = missing(attrs.evolve(FACTS, fingerprint=fingerprint))

    assert not found.reduced(make_order()).counts
    assert found.what == found.reduced(make_order(times=False)).refusal


def test_usual_runtimes_ask_no_build() -> None:
    """This one could not even start."""
    assert {} == runtime_refusals(BUILD, [RuntimeMode.EAGER, RuntimeMode.JIT])


def test_a_runtime_that_torch_does_not_have_is_refused(runtime: Runtime) -> None:
    """With the reason, and only what is not there."""
    found = runtime_refusals(default_build(), [RuntimeMode.EAGER, runtime.mode])

    reason = 'this torch has no torch.unheard.of, which the runtime "unheard" needs'
    assert {runtime.mode: f'build "default": {reason}'} == found
