"""Which operators entries cover: by name, and by a function of the same native name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators.catalogue import PublicOperator
from instruction_counts.sources.operators.coverage import Coverage, coverage, in_categories, total
from instruction_counts.sources.operators.entries import OperatorEntry


def public(name: str, native: str = "", uses: int = 0, *tags: str) -> PublicOperator:
    """A public operator; its namespace is all but the last part of its name."""
    return PublicOperator(name, name.rpartition(".")[0], native, tags, uses)


def of(found: tuple[Coverage, ...], category: str) -> Coverage:
    """The coverage of one category."""
    return next(coverage for coverage in found if coverage.category == category)


ADD = public("torch.add", "add", 5)
METHOD = public("torch.Tensor.add", "add", 7)


def test_an_entry_covers_the_operator_of_its_name() -> None:
    """Methods are named without torch."""
    entries = [OperatorEntry("torch.add", "x"), OperatorEntry("Tensor.add", "x")]
    everything = total(coverage([ADD, METHOD], entries))
    assert (METHOD, ADD) == everything.named
    assert () == everything.shared
    assert () == everything.uncovered


def test_the_entry_of_a_function_covers_the_method_of_the_same_native_name() -> None:
    """Both call the same operator of aten."""
    found = coverage([ADD, METHOD], [OperatorEntry("torch.add", "x")])
    assert (METHOD,) == of(found, "torch.Tensor").shared


def test_the_entry_of_a_method_covers_no_function() -> None:
    """It may be called much less often than the function."""
    assert (ADD,) == of(
        coverage([ADD, METHOD], [OperatorEntry("Tensor.add", "x")]), "torch"
    ).uncovered


def test_a_native_name_is_that_of_the_build() -> None:
    """Not every function is called below as it is called above."""
    loss = public("torch.nn.functional.cross_entropy", "cross_entropy_loss")
    shared = public("torch.cross_entropy_loss", "cross_entropy_loss")
    found = coverage([loss, shared], [OperatorEntry("torch.nn.functional.cross_entropy", "x")])
    assert (shared,) == of(found, "torch").shared


def test_a_function_that_is_not_public_covers_its_method_all_the_same() -> None:
    """``torch.norm`` is deprecated, ``Tensor.norm`` is not."""
    method = public("torch.Tensor.norm", "norm")
    assert (method,) == total(coverage([method], [OperatorEntry("torch.norm", "x")])).shared


def test_operators_without_a_native_name_are_covered_by_their_own_name_alone() -> None:
    """No name is no common name."""
    operators = [public("torch.unique"), public("torch.lobpcg")]
    assert (operators[1],) == total(
        coverage(operators, [OperatorEntry("torch.unique", "x")])
    ).uncovered


def test_what_is_called_most_comes_first() -> None:
    """Operators within a category, and categories by what they leave uncovered."""
    operators = [
        public("torch.a", "a", 50),
        public("torch.fft.b", "b", 1),
        public("torch.fft.c", "c", 9),
        public("torch.linalg.d", "d", 4),
    ]
    found = coverage(operators, [OperatorEntry("torch.a", "x")])
    assert [
        ("torch.fft", ["torch.fft.c", "torch.fft.b"]),
        ("torch.linalg", ["torch.linalg.d"]),
        ("torch", []),
    ] == [(coverage.category, [below.name for below in coverage.uncovered]) for coverage in found]


def test_coverage_is_reported_by_operators_and_by_calls() -> None:
    """One of three operators may be most of the calls."""
    operators = [ADD, METHOD, public("torch.sub", "sub", 2)]
    everything = total(coverage(operators, [OperatorEntry("torch.add", "x")]))
    assert 2 == everything.covered
    assert 3 == everything.public
    assert 12 == everything.covered_calls
    assert 14 == everything.calls


NAMES = some.sampled_from(["torch.a", "torch.b", "torch.fft.a", "torch.Tensor.a", "torch.Tensor.b"])
OPERATORS = some.lists(
    some.builds(public, NAMES, some.sampled_from(["", "a", "b"]), some.integers(0, 9)),
    unique_by=lambda operator: operator.name,
)


@given(OPERATORS, some.sets(NAMES))
def test_every_operator_is_counted_once(operators: list[PublicOperator], names: set[str]) -> None:
    """Whatever is covered."""
    entries = [OperatorEntry(name.replace("torch.Tensor", "Tensor"), "x") for name in names]
    everything = total(coverage(operators, entries))
    counted = [*everything.named, *everything.shared, *everything.uncovered]
    assert sorted(operator.name for operator in operators) == sorted(
        operator.name for operator in counted
    )


SOME = [
    public("torch.linalg.norm", "", 0, "reduction"),
    public("torch.add", "", 0, "pointwise"),
    public("torch.Tensor.add", "", 0, "pointwise"),
]


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ((), ["torch.linalg.norm", "torch.add", "torch.Tensor.add"]),
        (("pointwise",), ["torch.add", "torch.Tensor.add"]),
        (("torch.tensor",), ["torch.Tensor.add"]),
        (("torch, pointwise",), ["torch.add"]),
        (("torch.*",), ["torch.linalg.norm", "torch.Tensor.add"]),
        (("reduction", "torch"), ["torch.linalg.norm", "torch.add"]),
    ],
)
def test_a_category_is_asked_for_as_a_whole_or_by_a_part(
    patterns: tuple[str, ...], expected: list[str]
) -> None:
    """Where operators stand, what they do, or both."""
    assert expected == [entry.name for entry in in_categories(SOME, patterns)]


def test_a_category_that_there_is_not_tells_what_is_near() -> None:
    """So that the next try is right."""
    with pytest.raises(UsageError, match=r"--category 'reductions' .* Near: reduction"):
        in_categories(SOME, ["reductions"])
