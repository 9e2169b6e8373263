"""What is asked for in place of what entries say: on the command line, and in a file."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.sources.operators.calls import Overrides
from instruction_counts.sources.operators.entries import VARIANTS
from instruction_counts.sources.operators.overriding import Asked, parse_inputs, read_overrides


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
def test_a_mistake_in_overrides_is_reported_with_its_line(
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
