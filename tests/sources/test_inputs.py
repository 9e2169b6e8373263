"""Models and inputs as options name them."""

from collections.abc import Callable

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.inputs import (
    InputSpec,
    ModelSource,
    inputs_of,
    parse_input,
    parse_source,
)


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
        # A factory is called by its name, unless it is given another.
        ("a.b:make", ModelSource("make", "a.b:make")),
        ("a.b:make.it=Net", ModelSource("Net", "a.b:make.it")),
    ],
)
def test_an_input_has_sizes_and_perhaps_more(text: str, expected: InputSpec | ModelSource) -> None:
    """A dtype, a limit, the name of an argument, a model."""
    parse = parse_input if isinstance(expected, InputSpec) else parse_source

    assert expected == parse(text)


NET = ModelSource("Net", "nets:net")
NO_INPUTS = [
    *("", "x", "x=", "x=a", "x=[1", "x=1]", "-1", "1.5", "1=[1]", "=[1]", "1x3", "1,", "1:"),
    *("@1", "class=1", f"x=1{'0' * 5000}", "1<3", "1:int64<0"),
]
NO_FACTORY = r"is not a factory\n  Name one: module:factory.* A model in a file"


@pytest.mark.parametrize(
    ("parse", "text", "message"),
    [
        *((parse_input, text, r"is not a valid shape\n  .*SIZES") for text in NO_INPUTS),
        *(
            (parse_input, f"2,8:{dtype}<3", f"{dtype} takes no limit\n  Drop <3, or .*: int64<3")
            for dtype in ("float32", "bool")
        ),
        *((parse_source, text, NO_FACTORY) for text in ("model.bin", "models:", "/a/net.pt2=Net")),
    ],
    ids=lambda value: str(value)[:9],
)
def test_what_is_no_input_or_factory_is_refused(
    parse: Callable[[str], object], text: str, message: str
) -> None:
    """With the form of one; only what has a dtype of integers has a limit, or it would be lost."""
    with pytest.raises(UsageError, match=message):
        parse(text)


def test_a_model_with_inputs_of_its_own_takes_no_other() -> None:
    """Those without a name are for the rest; each argument is given once."""
    specs = [InputSpec((1, 2), name="x"), InputSpec((3,), model="A")]

    sources = [ModelSource(name, "m:f") for name in ("A", "B")]

    assert [(specs[1],), (specs[0],)] == inputs_of(sources, specs)
    with pytest.raises(UsageError, match=r"--input x=…: B got this argument twice"):
        inputs_of(sources, [*specs, specs[0]])


@pytest.mark.parametrize(
    ("models", "inputs", "message"),
    [
        ([NET] * 2, [], 'two models are named "Net"'),
        ([NET], [InputSpec((1,), model="B")], 'no model is named "B"\n  Models: Net'),
    ],
)
def test_names_of_models_are_unique_and_known(
    models: list[ModelSource], inputs: list[InputSpec], message: str
) -> None:
    """Their layers could not be told apart."""
    with pytest.raises(UsageError, match=message):
        inputs_of(models, inputs)
