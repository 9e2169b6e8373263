"""Taking models apart, in the process of the test."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.fixtures.models import small_models
from worker import models
from worker.installed import RefusalError
from worker.model_recorder import constructor_arguments

FIXTURES = Path(small_models.__file__).parent
IMAGE = {"name": None, "shape": [1, 4, 8, 8], "dtype": "float32", "high": None}
ROWS = {**IMAGE, "shape": [2, 4]}
WORDS = {"name": "ids", "shape": [2, 5], "dtype": "int64", "high": 100}


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models are found as in the working directory of a user."""
    monkeypatch.syspath_prepend(str(FIXTURES))
    monkeypatch.chdir(FIXTURES)


def request(factory: str, *inputs: dict[str, Any], **options: Any) -> dict[str, Any]:
    """What the application asks."""
    return {
        "model": f"small_models:{factory}",
        "inputs": list(inputs),
        "training": False,
        "backward": False,
        "level": "modules",
        "real_data": False,
        **options,
    }


def traced(factory: str, *inputs: dict[str, Any], **options: Any) -> dict[str, Any]:
    """The answer to it."""
    return models.trace(request(factory, *inputs, **options))


def types(answer: dict[str, Any]) -> list[str]:
    """The types of all calls, in order."""
    return [call["type"] for call in answer["calls"]]


@pytest.mark.parametrize(
    ("level", "block", "rest"),
    [
        ("modules", ["Conv2d", "ReLU", "aten.add.Tensor"], ["aten.mean.dim", "Linear"]),
        (
            "operators",
            ["aten.conv2d", "aten.relu", "aten.add.Tensor"],
            ["aten.mean.dim", "aten.linear"],
        ),
    ],
)
def test_modules_and_what_is_outside_of_them_are_all_that_a_model_does(
    level: str, block: list[str], rest: list[str]
) -> None:
    """Each operator is in one of the two, in the order of execution; composite ones are whole."""
    assert [*block, *block, *rest] == types(traced("Net", IMAGE, level=level))


def test_equal_layers_differ_in_their_place_in_the_model_only() -> None:
    """So that they can be kept once; operators have that of the module that runs them.

    Nothing that is noted depends on values: a fake model has the shapes of a real one. Where values
    decide, they have to be there.
    """
    answer, real = traced("Net", IMAGE), traced("Net", IMAGE, real_data=True)
    assert answer == real
    paths = [call.pop("path") for call in answer["calls"]]
    assert ["blocks.0.conv", "blocks.0.act", "blocks.0", "blocks.1.conv"] == paths[:4]
    assert answer["calls"][0] == answer["calls"][3]
    assert "aten.add.Tensor" in types(traced("Branching", IMAGE, real_data=True))


def test_a_call_is_written_as_people_write_it() -> None:
    """A function or method of torch where it runs the very same, with inputs like the traced ones.

    An index beyond the table would fail, and strides choose a kernel; the backward pass starts from
    a tensor, which is picked from an output by its name.
    """
    answer = traced("Attention", WORDS)
    inputs = [call["inputs"] for call in answer["calls"]]

    assert [
        "model(x)",
        "torch.transpose(x, 1, 2)",
        "torch.matmul(a, b)",
        "torch.softmax(x, -1)",
        "model(x, x, x, need_weights=False)",
        "torch.matmul(a, b)",
    ] == [call["call"] for call in answer["calls"]]
    assert [("int64", 100)] == [(ids["dtype"], ids["high"]) for ids in inputs[0]]
    assert [None, [40, 1, 8]] == [tensor["stride"] for tensor in inputs[2]]
    assert '["out"]' == answer["result"]["pick"]


@pytest.mark.parametrize(
    ("factory", "expected", "reasons"),
    [
        # What its attributes tell would be another module, or no layer of torch's any more.
        ("weighted", ["aten.linear"], {"Linear": "its attributes do not tell how it was made"}),
        ("replaced", ["aten.add.Tensor"], {"Linear": "its forward was replaced"}),
        (
            "strided",
            ["aten.linear"],
            {"Linear": "its parameters are not as its constructor makes them"},
        ),
        (
            "mixed",
            ["aten.batch_norm"],
            {"BatchNorm1d": "it has tensors of torch.float32 and torch.float64"},
        ),
        # The operators are those after the casts.
        ("Autocast", [*["aten.to.dtype"] * 3, "aten.linear"], {"Linear": "it runs under autocast"}),
        # Hooks run before and after its forward, which stays the layer that it is.
        ("hooked", ["aten.add.Tensor", "Linear", "aten.mul.Tensor"], {}),
    ],
)
def test_a_changed_module_is_written_as_its_operators(
    factory: str, expected: list[str], reasons: dict[str, str]
) -> None:
    """With the reason."""
    answer = traced(factory, ROWS)

    assert expected == types(answer)
    assert reasons == answer["taken_apart"]


CONV = {"padding": [1, 1], "bias": False}


@pytest.mark.parametrize(
    ("module", "positional", "keywords"),
    [
        (torch.nn.Conv2d(4, 5, 3, padding=1, bias=False), [4, 5, [3, 3]], CONV),
        (torch.nn.LSTM(4, 5, 2, batch_first=True), [4, 5], {"num_layers": 2, "batch_first": True}),
        (torch.nn.RNN(4, 5, nonlinearity="relu"), [4, 5], {"nonlinearity": "relu"}),
        (torch.nn.BatchNorm2d(4, affine=False), [4], {"affine": False}),
        (torch.nn.LayerNorm(4, bias=False), [[4]], {"bias": False}),
        (torch.nn.Hardtanh(0.0, 6.0), [], {"min_val": 0.0, "max_val": 6.0}),
        (torch.nn.MultiheadAttention(8, 2, bias=False), [8, 2], {"bias": False}),
        (torch.nn.CrossEntropyLoss(label_smoothing=0.5), [], {"label_smoothing": 0.5}),
        (torch.nn.Upsample(scale_factor=2), [], {"scale_factor": 2.0}),
        (torch.nn.ReLU(), [], {}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_modules_tell_how_they_were_made(
    module: torch.nn.Module, positional: list[Any], keywords: dict[str, Any]
) -> None:
    """Each keeps its arguments in a way of its own; a size of (1, 1) is the default of 1."""
    assert (positional, keywords) == constructor_arguments(module)


def test_a_tensor_that_is_given_twice_is_one_input() -> None:
    """The call names it twice: a module may do other things with one tensor than with two."""
    (call,) = traced("Gates", ROWS)["calls"]

    assert ("model(x, x)", False, 1) == (call["call"], call["is_plain"], len(call["inputs"]))


def test_what_shape_and_type_do_not_tell_of_a_tensor_is_left_out() -> None:
    """Another tensor would be counted in its place."""
    answer = traced("Unusual", {**ROWS, "shape": [4, 4]})

    assert [
        "mm: an argument is a sparse coo tensor",
        "mm: an argument is a conjugated tensor",
    ] == [*answer["left_out"]]


def test_a_module_is_noted_as_it_is() -> None:
    """Without parameters it has the type of its buffers; a model says itself what evaluation is."""
    (doubled,) = traced("doubled", {**ROWS, "dtype": "float64"})["calls"]
    (sampling,) = traced("Sampling", ROWS)["calls"]

    assert "torch.float64" == doubled["dtype"]
    assert sampling["training"] is True


def test_the_type_of_parameters_and_the_mode_are_noted_of_every_module() -> None:
    """bfloat16 runs other kernels; dropout and normalisation do other things in training."""
    calls = traced("half_net", {**IMAGE, "dtype": "bfloat16"}, training=True)["calls"]

    assert {True} == {call["training"] for call in calls if call["kind"] == "module"}
    assert {"torch.bfloat16"} == {call["dtype"] for call in calls if "dtype" in call} - {
        "torch.float32"  # of what has no parameters
    }


@pytest.mark.parametrize(
    ("backward", "expected"), [(True, [False, True, True]), (False, [False] * 3)]
)
def test_a_gradient_flows_from_the_first_parameter_on(backward: bool, expected: list[bool]) -> None:
    """Not to the input of the model; and without backward nowhere: such layers are one."""
    calls = traced("Net", IMAGE, backward=backward)["calls"]

    assert expected == [call["inputs"][0]["needs_grad"] for call in calls[:3]]


def test_a_frozen_layer_is_another_one_where_gradients_flow() -> None:
    """It hands one on, and computes none of its own; where a part is frozen, operators tell."""
    calls = traced("partly_frozen", ROWS, backward=True)["calls"]
    (linear,) = (call for call in calls if call["kind"] == "operator")
    first, *others = ({**call, "path": ""} for call in traced("partly_frozen", ROWS)["calls"])

    assert [(False, True), (True, False)] == [
        (call["is_frozen"], call["has_parameters"]) for call in calls[:2]
    ]
    assert [True, True, False] == [tensor["needs_grad"] for tensor in linear["inputs"]]
    assert [first] * 3 == others


@pytest.mark.parametrize(
    ("level", "expected"),
    [("modules", [[("inplace", True)], [("inplace", False)]]), ("operators", ["relu_", "relu"])],
)
def test_what_writes_to_an_input_with_a_gradient_writes_elsewhere(
    level: str, expected: list[Any]
) -> None:
    """Autograd refuses to write to a leaf."""
    calls = [
        traced("net_in_place", IMAGE, level=level, backward=backward)["calls"][1]
        for backward in (False, True)
    ]

    assert expected == [call.get("keywords", call["type"].removeprefix("aten.")) for call in calls]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a module that loads a model from two files, each in its form."""
    folder = tmp_path_factory.mktemp("saved")
    exported, scripted = folder / "net.pt2", folder / "net.ts"
    program = torch.export.export(small_models.Net(), (torch.ones(1, 4, 8, 8),))
    torch.export.save(program, exported)
    torch.jit.script(small_models.Net()).save(str(scripted))
    (folder / "saved_models.py").write_text(
        "import torch\n\n"
        f"def exported():\n    return torch.export.load({str(exported)!r}).module()\n\n"
        f"def scripted():\n    return torch.jit.load({str(scripted)!r})\n"
    )
    return folder


@pytest.mark.parametrize(("factory", "has_mode"), [("exported", False), ("scripted", True)])
def test_a_saved_model_is_taken_apart_into_operators(
    saved: Path, monkeypatch: pytest.MonkeyPatch, factory: str, has_mode: bool
) -> None:
    """Its modules are no more, or run in an interpreter of their own; one is fixed in its mode."""
    monkeypatch.syspath_prepend(str(saved))
    answer = traced("", IMAGE, model=f"saved_models:{factory}")

    assert types(traced("Net", IMAGE, level="operators")) == types(answer)
    assert has_mode is answer["has_mode"]
    if not has_mode:
        with pytest.raises(RefusalError, match="was exported with a fixed mode"):
            traced("", IMAGE, model=f"saved_models:{factory}", training=True)


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"model": "no_such:net"}, "No module named 'no_such'", "working directory"),
        ({"model": "small_models:nett"}, "has no attribute 'nett'", "working directory"),
        ({"model": "small_models:raising"}, "RuntimeError: no weights today", "line"),
        ({"model": "small_models:text"}, "returns a str, not a torch.nn.Module", "function"),
        ({"inputs": []}, "nothing says what its input is", "--input 1,3,224,224"),
        ({"inputs": [{**IMAGE, "dtype": "int65"}]}, "no dtype int65", "int64"),
        ({"inputs": [{**IMAGE, "shape": [3, 3]}]}, "fails on its input 3,3", "line"),
        ({"model": "small_models:Branching"}, "fails on its input", "--real-data"),
    ],
)
def test_what_cannot_be_taken_apart_says_why(
    changes: dict[str, Any], message: str, hint: str
) -> None:
    """And what to do about it."""
    with pytest.raises(RefusalError) as caught:
        models.trace({**request("Net", IMAGE), **changes})

    assert message in caught.value.message
    assert hint in caught.value.hint


def test_each_input_keeps_its_limit_whatever_their_order() -> None:
    """Those with a name come last in a call."""
    row = {**IMAGE, "shape": [3]}
    ids = {**row, "dtype": "int64", "high": 7}
    named = [{**row, "name": "x"}, {**ids, "name": "model"}, {**row, "name": "other"}]

    inputs = traced("Named", *named, row)["inputs"]

    assert [("", None), ("x", None), ("model", 7), ("other", None)] == [
        (tensor["name"], tensor["high"]) for tensor in inputs
    ]
