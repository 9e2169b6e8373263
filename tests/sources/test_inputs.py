"""Inputs as options name them."""

from __future__ import annotations

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.inputs import InputSpec, parse_input


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,3,224,224", InputSpec((1, 3, 224, 224))),
        ("x=[32, 3]", InputSpec((32, 3), name="x")),
        ("y=[]", InputSpec((), name="y")),
        ("1,128:int64<30522", InputSpec((1, 128), "int64", 30522)),
        ("ids = 1, 128 : int64 < 5", InputSpec((1, 128), "int64", 5, "ids")),
        ("BERT@ids=8", InputSpec((8,), name="ids", model="BERT")),
        ("a.b@1", InputSpec((1,), model="a.b")),
    ],
)
def test_an_input_has_sizes_and_perhaps_more(text: str, expected: InputSpec) -> None:
    """A dtype, a limit, the name of an argument, a model."""
    assert expected == parse_input(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "x=", "x=a", "x=[1", "x=1]", "-1", "1.5", "1=[1]", "=[1]", "1x3", "1,", "1:"),
        *("@1", f"x=1{'0' * 5000}"),
    ],
    ids=lambda text: text[:9],
)
def test_what_is_no_input_is_refused(text: str) -> None:
    """With the form of one."""
    with pytest.raises(UsageError, match=r"is not a valid shape\n  .*SIZES"):
        parse_input(text)


@pytest.mark.parametrize("text", ["1<3", "1:float32<3", "1:int64<0", "1:bfloat16<2"])
def test_only_integers_have_a_limit(text: str) -> None:
    """Above zero, or there would be none."""
    with pytest.raises(UsageError, match="only integer inputs have a limit"):
        parse_input(text)
