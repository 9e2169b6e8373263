"""Sizes: ranges, shapes with N in them, and what counts tell of complexity."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.errors import UsageError
from instruction_counts.operators.entries import ByVariant, Entry, Tensor
from instruction_counts.operators.sizes import (
    COMPLEXITIES,
    at_size,
    check_sizes,
    fit,
    sizes_in,
    templates,
    usual_sizes,
)

SIZES = [4**power for power in range(2, 9)]
MATRIX = Tensor(ByVariant({"small": (2, 3), "typical": (64, 32)}))
MM = Entry("torch.mm", "matrix", {"input": MATRIX, "mat2": Tensor((32, 64)), "n": Tensor((7,))})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16:256", (16, 64, 256)),
        ("16:255", (16, 64)),
        ("1:8:2", (1, 2, 4, 8)),
        ("10,100,7000", (10, 100, 7000)),
        ("5", (5,)),
        ("1000:1000000:10", (1000, 10_000, 100_000, 1_000_000)),
    ],
)
def test_a_range_of_sizes_is_geometric(text: str, expected: tuple[int, ...]) -> None:
    """By four, unless another factor is given; or just these sizes."""
    assert sizes_in(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "a", "4:1", "1:4:1", "0:4", "4,2", "2,2", "-1", "1:2:3:4"),
        *(f"1:1{'0' * 400}", f"1{'0' * 5000}", f"1,{2**28 + 1}"),
    ],
    ids=lambda text: text[:9],
)
def test_what_is_no_range_of_sizes_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(UsageError, match="For example: 16:65536"):
        sizes_in(text)


@pytest.mark.parametrize(
    ("shape", "expected"), [(("N",), 65_536), (("N", "N"), 256), (("N", "N", "N", 3), 32)]
)
def test_the_usual_sizes_give_tensors_that_are_alike(
    shape: tuple[int | str, ...], expected: int
) -> None:
    """Of some ten thousand elements, however many dimensions grow."""
    assert max(usual_sizes({"x": (4,), "y": shape})) == expected


def test_sizes_that_do_not_fit_into_memory_are_refused() -> None:
    """Before anything is allocated."""
    check_sizes({"x": ("N", "N")}, [16_384])
    with pytest.raises(UsageError, match="268,468,225 elements at N = 16,385"):
        check_sizes({"x": ("N", "N")}, [16_385])


def test_the_first_size_grows_wherever_it_occurs() -> None:
    """What belongs together stays together; other sizes stay as they are."""
    assert templates(MM, ()) == {"input": ("N", 32), "mat2": (32, "N")}


def test_shapes_grow_as_they_are_asked_to() -> None:
    """Of the inputs that are named, and no others."""
    found = templates(MM, ["input=[N, N]", "n=N"])
    assert found == {"input": ("N", "N"), "n": ("N",)}
    assert at_size(found, 8) == {"input": (8, 8), "n": (8,)}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("x=[N]", "no tensor"),
        ("input=[M]", "is no shape"),
        ("input", "is no shape"),
        ("input=[N,²]", "is no shape"),
        (f"input=[N,1{'0' * 5000}]", "is no shape"),
        (f"input=[{'N,' * 64}N]", "is no shape"),
        ("input=[3]", "no shape that could grow"),
    ],
)
def test_a_shape_that_cannot_grow_is_refused(asked: str, expected: str) -> None:
    """With what would be possible."""
    with pytest.raises(UsageError, match=expected):
        templates(MM, [asked])


def test_an_input_that_is_asked_to_grow_in_two_ways_is_refused() -> None:
    """One of them would be passed over."""
    with pytest.raises(UsageError, match="--scale input is there twice"):
        templates(MM, ["input=[N]", "input=[N,N]"])


@pytest.mark.parametrize("complexity", COMPLEXITIES, ids=lambda one: one.name)
@given(overhead=st.integers(1_000, 20_000), unit=st.floats(0.5, 20))
def test_the_complexity_of_exact_counts_is_found(
    complexity: object, overhead: int, unit: float
) -> None:
    """Overhead and work with it, although counts are whole numbers."""
    one = next(known for known in COMPLEXITIES if known is complexity)
    unit = max(unit, 300.0) if one.name == "log N" else unit
    counts = {size: round(overhead + unit * one.grown(size)) for size in SIZES}
    found = fit(counts)
    assert found is not None
    assert found.complexity.name == one.name
    assert found.overhead == pytest.approx(overhead, rel=0.05)
    if one.name != "1":
        assert found.per_unit == pytest.approx(unit, rel=0.05)


def test_work_begins_where_it_equals_the_overhead() -> None:
    """Ten thousand instructions of overhead, two for each element."""
    found = fit({size: 10_000 + 2 * size for size in SIZES})
    assert found is not None
    assert found.work_begins == pytest.approx(5_000, rel=1e-3)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_few_counts_are_no_evidence(count: int) -> None:
    """Three sizes fit nearly anything."""
    assert fit({size: size for size in SIZES[:count]}) is None


@given(st.dictionaries(st.integers(1, 10**6), st.integers(1, 10**9), min_size=4, max_size=9))
def test_any_counts_have_a_fit_that_is_finite(counts: dict[int, int]) -> None:
    """Neither overhead nor work is ever negative."""
    found = fit(counts)
    assert found is not None
    assert found.overhead >= 0
    assert found.per_unit >= 0
    assert math.isfinite(found.error)
