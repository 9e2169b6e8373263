"""Models and inputs, as the command line names them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.models.sources import (
    InputSpec,
    Source,
    check,
    check_exported,
    inputs_of,
    parse_input,
    parse_source,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b:make", Source("make", "a.b:make", "factory")),
        ("a.b:make.it=Net", Source("Net", "a.b:make.it", "factory")),
    ],
)
def test_a_factory_is_called_by_its_name(text: str, expected: Source) -> None:
    """Unless it is given another."""
    assert expected == parse_source(text)


@pytest.mark.parametrize(
    ("file", "kind"), [("n.pt2", ".pt2"), ("n.ts", ".ts"), ("n.pt", ".ts"), ("n.onnx", ".onnx")]
)
def test_a_file_is_known_by_its_ending(tmp_path: Path, file: str, kind: str) -> None:
    """Nothing is read yet."""
    path = tmp_path / file
    path.touch()

    assert Source("n", str(path), kind) == parse_source(str(path))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model.bin", "neither a factory nor a known file"),
        ("models", "neither a factory nor a known file"),
        ("models:", "neither a factory nor a known file"),
        ("nowhere.pt2", "file not found: nowhere.pt2"),
    ],
)
def test_what_names_no_model_is_refused(text: str, message: str) -> None:
    """With all that can be named."""
    with pytest.raises(UsageError, match=message) as caught:
        parse_source(text)

    assert "module:factory" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,3,224,224", InputSpec((1, 3, 224, 224))),
        ("1, 128:int64<30522", InputSpec((1, 128), "int64", 30522)),
        ("ids=1,128:int64<1000", InputSpec((1, 128), "int64", 1000, "ids")),
        ("BERT@ids=4:int32", InputSpec((4,), "int32", None, "ids", "BERT")),
    ],
)
def test_an_input_has_sizes_and_may_have_more(text: str, expected: InputSpec) -> None:
    """A type, a limit, the name of an argument, and of a model."""
    assert expected == parse_input(text)


@pytest.mark.parametrize(
    "text", ["", "1x3x224", "1,,3", "-1,3", "1,3:", "1,3<0", "2:int64<0", "2:float32<5", "a=b=1"]
)
def test_what_is_no_shape_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(UsageError) as caught:
        parse_input(text)

    assert text in caught.value.message
    assert "1,3,224,224" in caught.value.remedy


@given(st.lists(st.integers(0, 5000), min_size=1))
def test_sizes_are_read_as_they_are_written(sizes: list[int]) -> None:
    """Whatever they are."""
    assert tuple(sizes) == parse_input(",".join(map(str, sizes))).shape


def test_a_model_with_inputs_of_its_own_takes_no_other() -> None:
    """Those without a name are for the rest."""
    specs = [InputSpec((1, 2)), InputSpec((3,), model="A")]

    assert [((3,),), ((1, 2),)] == [
        tuple(tensor.shape for tensor in inputs_of(Source(name, "m:f", "factory"), specs, None))
        for name in ("A", "B")
    ]


def test_an_argument_is_given_once() -> None:
    """The second would replace the first in silence."""
    twice = [InputSpec((1, 3), name="x"), InputSpec((3,)), InputSpec((1, 4), name="x")]

    with pytest.raises(UsageError, match=r"--input x=…: Net got this argument twice"):
        inputs_of(Source("Net", "nets:net", "factory"), twice, None)


def test_the_batch_size_is_the_first_size() -> None:
    """Of each input."""
    (found,) = inputs_of(Source("A", "m:f", "factory"), [InputSpec((1, 3, 5))], 16)

    assert (16, 3, 5) == found.shape


NET = Source("net", "net.pt2", ".pt2")


@pytest.mark.parametrize(
    ("options", "message", "remedy"),
    [
        ({"training": True}, "--train: net.pt2", "Omit --train"),
        ({"batch_size": 3}, "--batch-size: net.pt2", "--input net@"),
    ],
)
def test_an_exported_program_stays_as_it_was_exported(
    options: dict[str, Any], message: str, remedy: str
) -> None:
    """What is asked for would be left out in silence."""
    with pytest.raises(UsageError, match=message) as caught:
        check_exported([NET], [], **{"training": False, "batch_size": None, **options})

    assert remedy in caught.value.remedy


def test_an_exported_program_with_inputs_may_have_a_batch_size() -> None:
    """Its guards decide later."""
    check_exported([NET], [InputSpec((1, 4))], training=False, batch_size=3)


def test_other_models_can_be_trained_in_batches() -> None:
    """They are made anew."""
    check_exported([Source("net", "nets:net", "factory")], [], training=True, batch_size=3)


def test_two_models_of_one_name_are_refused() -> None:
    """Their layers could not be told apart."""
    with pytest.raises(UsageError, match='two models are named "A"'):
        check([Source("A", "m:f", "factory")] * 2, [])


def test_an_input_for_no_model_is_refused() -> None:
    """With the names that there are."""
    with pytest.raises(UsageError, match='no model is named "B"') as caught:
        check([Source("A", "m:f", "factory")], [InputSpec((1,), model="B")])

    assert caught.value.remedy == "Models: A"
