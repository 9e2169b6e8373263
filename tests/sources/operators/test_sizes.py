"""Sizes: ranges, and shapes with N in them."""

import math

import attrs
import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.inputs import sizes_in
from instruction_counts.sources.operators.entries import Tensor, read_operators
from instruction_counts.sources.operators.sizes import at_size, check_sizes, templates, usual_sizes
from tests.sources.operators.made import entry

MATRIX = Tensor({"small": (2, 3), "typical": (64, 32)})
MM = entry("torch.mm", inputs={"input": MATRIX, "mat2": Tensor((32, 64)), "n": Tensor((7,))})


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
    ("shape", "expected"),
    [
        (("N",), (16, 64, 256, 1024, 4096, 16_384, 65_536)),
        (("N", "N"), (4, 8, 16, 32, 64, 128, 256)),
        (("N", "N", "N", 3), (2, 4, 8, 16)),
        (("N", 8, 16, 16), (4, 8, 16, 32)),
        (("N", 16), (4, 16, 64, 256, 1024, 4096)),
        (("N", 100_000), (1, 2, 4, 8)),
        (("N", 0), (16, 64, 256, 1024, 4096, 16_384, 65_536)),
    ],
)
def test_the_usual_sizes_give_tensors_that_are_alike(
    shape: tuple[int | str, ...], expected: tuple[int, ...]
) -> None:
    """Of some ten thousand elements, whatever the shapes, and as many as a fit needs."""
    assert expected == usual_sizes({"x": (4,), "y": shape})


def test_every_operator_that_grows_has_usual_sizes_that_are_moderate() -> None:
    """Those that are stated, too."""
    wrong = {}
    for operator in read_operators():
        try:
            shapes = templates(operator, ())
        except UsageError:
            continue
        sizes = operator.sizes or usual_sizes(shapes)
        largest = max(math.prod(shape) for shape in at_size(shapes, sizes[-1]).values())
        if largest > 65_536 or len(sizes) < 4:
            wrong[operator.name] = (largest, sizes)
    assert {} == wrong


def test_sizes_that_do_not_fit_into_memory_are_refused() -> None:
    """Before anything is allocated."""
    check_sizes({"x": ("N", "N")}, [16_384])
    with pytest.raises(UsageError, match="268,468,225 elements at N = 16,385"):
        check_sizes({"x": ("N", "N")}, [16_385])


def test_shapes_grow_as_they_are_asked_to() -> None:
    """As an option says, or the entry, or the first size wherever it occurs: what belongs together.

    Other inputs and other sizes stay as they are.
    """
    stated = attrs.evolve(MM, scale={"input": (64, "N")})
    found = templates(stated, ["input=[N, N]", "n=N"])

    assert {"input": ("N", "N"), "n": ("N",)} == found
    assert {"input": (8, 8), "n": (8,)} == at_size(found, 8)
    assert {"input": (64, "N")} == templates(stated, ())
    assert {"input": ("N", 32), "mat2": (32, "N")} == templates(MM, ())


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (["x=[N]"], "no tensor"),
        (["input=[M]"], "is not a valid shape"),
        ([f"input=[N,1{'0' * 5000}]"], "is not a valid shape"),
        ([f"input=[{'N,' * 64}N]"], "is not a valid shape"),
        (["input=[3]"], "no shape to scale"),
    ],
)
def test_a_shape_that_cannot_grow_is_refused(asked: list[str], expected: str) -> None:
    """With what would be possible."""
    with pytest.raises(UsageError, match=expected):
        templates(MM, asked)
