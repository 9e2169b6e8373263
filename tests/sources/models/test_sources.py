"""Models and their inputs, as the command line names them."""

from __future__ import annotations

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.inputs import InputSpec
from instruction_counts.sources.models.sources import ModelSource, check, inputs_of, parse_source

NET = ModelSource("Net", "nets:net")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.b:make", ModelSource("make", "a.b:make")),
        ("a.b:make.it=Net", ModelSource("Net", "a.b:make.it")),
    ],
)
def test_a_factory_is_called_by_its_name(text: str, expected: ModelSource) -> None:
    """Unless it is given another."""
    assert expected == parse_source(text)


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("model.bin", "is not a factory", "module:factory"),
        ("models", "is not a factory", "module:factory"),
        ("models:", "is not a factory", "module:factory"),
        ("/a/net.pt2=Net", "is a file", 'return torch.export.load("/a/net.pt2").module()'),
        ("/net.ts", "is a file", 'return torch.jit.load("/net.ts")'),
        ("net.onnx", "is a file", '/net.onnx")'),
    ],
)
def test_what_names_no_factory_is_refused(text: str, message: str, remedy: str) -> None:
    """With what to name; for a file, with the factory that loads it."""
    with pytest.raises(UsageError, match=message) as caught:
        parse_source(text)

    assert remedy in caught.value.remedy


def test_a_model_with_inputs_of_its_own_takes_no_other() -> None:
    """Those without a name are for the rest."""
    specs = [InputSpec((1, 2)), InputSpec((3,), model="A")]

    assert [((3,),), ((1, 2),)] == [
        tuple(tensor.shape for tensor in inputs_of(ModelSource(name, "m:f"), specs))
        for name in ("A", "B")
    ]


def test_an_argument_is_given_once() -> None:
    """The second would replace the first in silence."""
    twice = [InputSpec((1, 3), name="x"), InputSpec((3,)), InputSpec((1, 4), name="x")]

    with pytest.raises(UsageError, match=r"--input x=…: Net got this argument twice"):
        inputs_of(NET, twice)


def test_two_models_of_one_name_are_refused() -> None:
    """Their layers could not be told apart."""
    with pytest.raises(UsageError, match='two models are named "Net"'):
        check([NET] * 2, [])


def test_an_input_for_no_model_is_refused() -> None:
    """With the names that there are."""
    with pytest.raises(UsageError, match='no model is named "B"') as caught:
        check([NET], [InputSpec((1,), model="B")])

    assert caught.value.remedy == "Models: Net"
