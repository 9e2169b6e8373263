"""Which operators are asked for, and what in place of what their entries say."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.sources.operators.calls import Overrides
from instruction_counts.sources.operators.definitions import definitions
from instruction_counts.sources.operators.entries import VARIANTS, ByVariant, OperatorEntry, Tensor
from instruction_counts.sources.operators.overriding import Asked, parse_inputs, read_overrides
from instruction_counts.sources.operators.source import remarks, selected

ENTRIES = tuple(
    OperatorEntry(name, category)
    for name, category in [
        ("torch.add", "arithmetic"),
        ("Tensor.add", "methods"),
        ("torch.fft.fft", "fft"),
        ("torch.fft.rfft", "fft"),
        ("torch.sum", "reduction"),
    ]
)


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        (("torch.add",), ["torch.add"]),
        (("TORCH.Add",), ["torch.add"]),
        (("add",), ["torch.add", "Tensor.add"]),
        (("torch.fft.*",), ["torch.fft.fft", "torch.fft.rfft"]),
        (("category:fft",), ["torch.fft.fft", "torch.fft.rfft"]),
        (("category:*ion", "torch.add"), ["torch.add", "torch.sum"]),
        (("*",), [entry.name for entry in ENTRIES]),
    ],
)
def test_operators_are_selected_by_name_and_by_category(
    patterns: tuple[str, ...], expected: list[str]
) -> None:
    """In the order of the file, each once."""
    assert [entry.name for entry in selected(ENTRIES, patterns)] == expected


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        ("torch.ad", "torch.add"),
        ("rft", "torch.fft.rfft"),
        ("category:reductions", "category:reduction"),
    ],
)
def test_a_pattern_that_selects_nothing_tells_what_is_near(pattern: str, near: str) -> None:
    """So that the next try is right."""
    with pytest.raises(UsageError, match=rf"No operator matches '{pattern}'\. Near: .*{near}"):
        selected(ENTRIES, (pattern,))


TWO_SHAPES = Tensor(ByVariant({"small": (2,), "typical": (8,)}), "int64")
STATED = OperatorEntry("torch.not", "bits", {"input": TWO_SHAPES}, cpp="~input")


@pytest.mark.parametrize(
    ("names", "changes", "asked", "expected"),
    [
        # A few by name; those that have the shape are measured.
        (
            "abcd",
            {},
            {"variants": ("small", "skewed")},
            ["4 operators have no shape skewed: torch.a, torch.b, torch.c and 1 more"],
        ),
        # Of all shapes an operator may lack any: nothing was asked for that it has not.
        ("a", {}, {"variants": VARIANTS}, []),
        (
            "a",
            {},
            {"dtypes": ("float64",)},
            ["1 operator has no input whose dtype can change: torch.a"],
        ),
        # Once, however many of their shapes are measured.
        (
            "ab",
            {"cpp": False},
            {"variants": VARIANTS},
            ["2 operators have no C++: torch.a, torch.b"],
        ),
    ],
    ids=["shape", "all shapes", "dtype", "C++"],
)
def test_what_operators_do_not_have_is_told(
    names: str, changes: dict[str, Any], asked: dict[str, Any], expected: list[str]
) -> None:
    """They are measured as they are."""
    entries = [attrs.evolve(STATED, name=f"torch.{name}", **changes) for name in names]
    overrides = Overrides(**asked)
    made = definitions(entries, overrides, ()).values()

    assert expected == list(remarks(entries, overrides, made))


def test_shapes_of_inputs_are_read_with_and_without_brackets() -> None:
    """Several of one input are several cases."""
    assert parse_inputs(["x=[32, 3]", "x=1,2", "y=[]"]) == {"x": ((32, 3), (1, 2)), "y": ((),)}


@pytest.mark.parametrize(
    "text", ["x", "x=a", "x=[1", "x=[-1]", "x=[1.5]", "1=[1]", "=[1]", "x=[true]"]
)
def test_what_is_no_shape_of_an_input_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(UsageError, match="For example: input="):
        parse_inputs([text])


def test_overrides_come_from_a_file(tmp_path: Path) -> None:
    """One value or several."""
    path = tmp_path / "overrides.yaml"
    path.write_text(
        "dtype: [float64, int8]\nshape: small\nseed: 3\ninput: {x: [[1, 2], [3]], y: [4]}\n",
        encoding="utf-8",
    )
    assert read_overrides(path) == Asked(
        ("small",), ("float64", "int8"), {"x": ((1, 2), (3,)), "y": ((4,),)}, 3
    )


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("dtypes: float64", 1, "did you mean dtype?"),
        ("seed: 1\ndtype: float65", 2, "did you mean float64?"),
        ("shape: tiny", 1, "one of small"),
        ("input: {x: [a]}", 1, "a whole number"),
        ("seed: one", 1, "a whole number"),
        ("seed: -1", 1, "a whole number, at least 0"),
        (f"seed: {2**63}", 1, f"at most {2**63 - 1}"),
        ("seed: 1\ninput: {x: [[1], [2]], y: [[1], [2], [3]]}", 2, "2 of x, 3 of y"),
    ],
)
def test_a_mistake_in_overrides_is_told_with_its_line(
    tmp_path: Path, text: str, line: int, expected: str
) -> None:
    """And with what was expected."""
    path = tmp_path / "overrides.yaml"
    path.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_overrides(path)
    assert f"overrides.yaml:{line}:" in str(caught.value)
    assert expected in str(caught.value)


def test_what_the_command_line_says_wins_over_the_file() -> None:
    """Field by field."""
    line, file = Asked(dtypes=("float64",)), Asked(("small",), ("int8",), {"x": ((1,),)}, 5)
    assert line.over(file) == Asked(("small",), ("float64",), {"x": ((1,),)}, 5)
    assert Asked(seed=0).over(file).seed == 0


def test_shapes_of_inputs_win_over_shapes_by_name_of_the_file() -> None:
    """And the other way round: both say what the shapes are."""
    named, sized = Asked(("small",)), Asked(inputs={"x": ((1,),)})

    assert sized == sized.over(named)
    assert named == named.over(sized)


def test_shapes_by_name_and_by_input_exclude_each_other() -> None:
    """One of them would be passed over."""
    with pytest.raises(UsageError, match="--input sets the shapes"):
        Asked(("small",), inputs={"x": ((1,),)}).overrides()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "small", "x"]),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from("abx"), below),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a test."""
    return tmp_path_factory.mktemp("overrides")


@given(
    stated=st.dictionaries(st.sampled_from(["dtype", "shape", "input", "seed"]), ANYTHING),
    tagged=st.sampled_from(["", "seed: !!int ''", "dtype: !!bool maybe", "shape: !!set x"]),
)
def test_whatever_a_file_of_overrides_holds_it_is_read_or_refused(
    folder: Path, stated: dict[str, Any], tagged: str
) -> None:
    """Without a traceback."""
    path = folder / "overrides.yaml"
    lines = [f"{name}: {json.dumps(value)}" for name, value in stated.items()]
    path.write_text("\n".join([*lines, tagged]), encoding="utf-8")
    with contextlib.suppress(DataError):
        read_overrides(path)


def test_the_largest_seed_is_taken(tmp_path: Path) -> None:
    """As torch takes it."""
    path = tmp_path / "overrides.yaml"
    path.write_text(f"seed: {2**63 - 1}\n", encoding="utf-8")

    assert 2**63 - 1 == read_overrides(path).seed


def test_without_being_asked_shapes_are_typical_and_the_seed_is_zero() -> None:
    """What people want first."""
    assert Asked().overrides() == Overrides(("typical",), (), (), 0)
    assert Asked(("all",)).overrides().variants == VARIANTS
