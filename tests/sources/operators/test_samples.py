"""Calls from torch's samples: what can be written down is, and the rest is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators import python_code
from instruction_counts.sources.operators.calls import Call, Ref, Value
from instruction_counts.sources.operators.catalogue import (
    Argument,
    OperatorSamples,
    PublicOperator,
    Sample,
    Schema,
)
from instruction_counts.sources.operators.definitions import definitions_of, label_of
from instruction_counts.sources.operators.entries import Distribution
from instruction_counts.sources.operators.sample_source import resolved
from instruction_counts.sources.operators.samples import LeftOut, calls_of, remarks


def tensor(*shape: int, dtype: str = "float32", **more: Any) -> dict[str, Any]:
    """A tensor as the catalogue script describes it."""
    return {"tensor": list(shape), "dtype": dtype, "requires_grad": False, **more}


def samples(*several: Sample, name: str = "torch.f", variant: str = "") -> OperatorSamples:
    """Samples of one operator."""
    return OperatorSamples(name, variant, several)


def sample(input_: Any, *args: Any, **kwargs: Any) -> Sample:
    """One sample."""
    return Sample(input_, args, kwargs)


def only(sample: Sample, schemas: Mapping[str, list[Schema]] | None = None, **more: str) -> Call:
    """The call that one sample gives."""
    (call,) = calls_of([samples(sample, **more)], schemas or {}).calls
    return call


def schema(*returns: str) -> dict[str, list[Schema]]:
    """An operator f of one tensor, by its name."""
    return {"f": [Schema("f", "", (Argument("self", "Tensor"),), returns)]}


# What calls hold


def test_arguments_stay_where_they_are() -> None:
    """By position or by name, tensors or not."""
    call = only(sample(tensor(2), 1, tensor(3), dim=-1, weight=tensor(4)))
    assert "torch.f(input, 1, arg2, dim=-1, weight=weight)" == python_code.expression(call)


def test_a_method_is_called_on_its_input() -> None:
    """As entries do."""
    call = only(sample(tensor(2), 1), name="Tensor.f")
    assert "input.f(1)" == python_code.expression(call)


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (tensor(2, 3), Value("input", (2, 3), "float32", Distribution("normal"), False)),
        (tensor(dtype="bool"), Value("input", (), "bool", Distribution("bernoulli"), False)),
        (
            tensor(5, dtype="int64", range=[1, 4]),
            Value("input", (5,), "int64", Distribution("integers", 1, 5), False),
        ),
        (
            tensor(0, dtype="int64"),
            Value("input", (0,), "int64", Distribution("integers", 0, 10), False),
        ),
    ],
)
def test_a_tensor_is_drawn_as_its_sample_is_described(
    described: dict[str, Any], expected: Value
) -> None:
    """Whole numbers within the range of the sample's: they are often indices."""
    assert (expected,) == only(sample(described)).values


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({"tuple": [2, 1]}, (2, 1)),
        ([True, None], (True, None)),
        ([], ()),
        ("mean", "mean"),
        ({"code": "torch.float64"}, "torch.float64"),
        ({"code": "torch.channels_last"}, "torch.channels_last"),
        ({"code": "float('-inf')"}, float("-inf")),
    ],
)
def test_plain_values_are_taken_over(described: Any, expected: Any) -> None:
    """Lists, objects of torch and infinities, too."""
    assert expected == only(sample(tensor(), described)).positional[1]


def test_tensors_in_a_list_are_made_one_by_one() -> None:
    """Each under a name of its own."""
    call = only(sample([tensor(1), tensor(2)], {"tuple": [tensor(3)]}))
    assert ((Ref("input_0"), Ref("input_1")), (Ref("arg1_0"),)) == call.positional
    assert ["input_0", "input_1", "arg1_0"] == [value.name for value in call.values]


@pytest.mark.parametrize("name", ["input", "out", "gradient"])
def test_a_tensor_by_name_takes_no_variable_from_others(name: str) -> None:
    """``out`` is what the statement assigns to."""
    call = only(sample(tensor(1), **{name: tensor(2)}))
    assert f"torch.f(input, {name}={name}_)" == python_code.expression(call)


def test_the_device_that_holds_anyway_is_not_written() -> None:
    """So that C++ can be derived for factories."""
    assert {"dtype": "torch.float64"} == only(
        sample({"tuple": [5]}, dtype={"code": "torch.float64"}, device="cpu")
    ).keywords


# Labels


def test_each_sample_has_a_label_of_its_own() -> None:
    """With the variant that torch's database names, and the dtype that was asked for."""
    found = calls_of(
        [
            samples(sample(tensor(1)), sample(tensor(2))),
            samples(sample(tensor(3)), variant="unbiased"),
        ],
        {},
        "float64",
    )
    assert [
        ("op_db", "torch.f", "sample 0", "float64"),
        ("op_db", "torch.f", "sample 1", "float64"),
        ("op_db", "torch.f", "unbiased, sample 0", "float64"),
    ] == [label_of(call) for call in found.calls]


def test_a_name_of_two_operators_of_the_database_gives_no_label_twice() -> None:
    """An alias of one may be the name of another."""
    found = calls_of([samples(sample(tensor(1))), samples(sample(tensor(2)))], {})
    assert ["sample 0", "sample 1"] == [call.variant for call in found.calls]


def test_what_is_left_out_keeps_its_number() -> None:
    """What can be written down in a later version must not move the others' labels."""
    found = calls_of([samples(sample({"code": "X()"}), sample(tensor(2)))], {})
    assert ["sample 1"] == [call.variant for call in found.calls]


# Gradients


@pytest.mark.parametrize(
    ("returns", "differentiates", "expected"),
    [
        (("Tensor",), True, "torch.f(input)"),
        (("Tensor", "Tensor"), True, "torch.f(input)[0]"),
        (("List[Tensor]",), True, "torch.f(input)[0]"),
        (("int",), False, "torch.f(input)"),
    ],
)
def test_what_is_differentiated_is_the_first_tensor(
    returns: tuple[str, ...], differentiates: bool, expected: str
) -> None:
    """A number has no gradient."""
    call = only(sample(tensor(2, requires_grad=True)), schema(*returns))
    assert differentiates == call.differentiates
    assert expected == python_code.expression(call)


def test_without_a_gradient_everything_that_is_returned_is_the_output() -> None:
    """Nothing has to be chosen."""
    call = only(sample(tensor(2)), schema("Tensor", "Tensor"))
    assert "torch.f(input)" == python_code.expression(call)


def test_an_operator_without_a_schema_is_called_forward_alone() -> None:
    """Nothing tells whether it returns one tensor."""
    assert not only(sample(tensor(2, requires_grad=True))).differentiates


@pytest.mark.parametrize("name", ["Tensor.f_", "torch.f_"])
def test_what_works_in_place_has_no_gradient(name: str) -> None:
    """Torch refuses to change what requires one."""
    call = only(sample(tensor(2, requires_grad=True)), name=name)
    assert [False] == [value.requires_grad for value in call.values]
    assert call.differentiates is False


def test_where_no_schema_fits_what_all_return_holds() -> None:
    """A function in Python may take other arguments than the operator that it calls."""
    call = only(sample(tensor(2, requires_grad=True), training=True), schema("Tensor"))
    assert call.differentiates


def test_a_sample_gives_definitions_in_both_languages() -> None:
    """By the path that entries take."""
    schemas = schema("Tensor")
    made = definitions_of([only(sample(tensor(2, requires_grad=True)), schemas)], schemas)
    group = made["op_db", "torch.f", "sample 0"]
    assert "out = torch.f(input)" == group.py_fwd_stmt
    assert "auto out = torch::f(input);" == group.cpp_fwd_stmt
    assert group.autograd is True


# What is left out


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        ({"code": "PairwiseDistance()"}, "an object (PairwiseDistance)"),
        ({"code": "(1+2j)"}, "an object ((1+2j))"),
        ([[1], [2]], "a nested list"),
        ([{"tuple": [1]}], "a nested list"),
        ([tensor(1), None], "a list that mixes tensors and other values"),
        (tensor(1, dtype="uint16"), "a tensor with dtype uint16"),
        (tensor(1, layout="torch.sparse_csr"), "a tensor with the layout torch.sparse_csr"),
    ],
)
def test_what_cannot_be_written_down_is_left_out_with_the_reason(
    described: Any, reason: str
) -> None:
    """Nothing else is put in its place."""
    found = calls_of([samples(sample(tensor(1), described))], {})
    assert () == found.calls
    assert (LeftOut("torch.f", reason),) == found.left_out


def test_a_method_without_a_receiver_is_left_out() -> None:
    """Torch's samples are those of the function."""
    found = calls_of([samples(sample({"tuple": [1]}), name="Tensor.f")], {})
    assert (LeftOut("Tensor.f", "a receiver that is not a tensor"),) == found.left_out


def test_an_operator_without_samples_is_left_out_in_one_line() -> None:
    """The database fails with texts of any length."""
    operator = OperatorSamples("torch.f", "", (), "RuntimeError: no\nmore")
    assert (LeftOut("torch.f", "RuntimeError: no", is_sample=False),) == (
        calls_of([operator], {}).left_out
    )


def test_remarks_say_once_why_something_is_left_out() -> None:
    """With the number of samples, and at most three names."""
    left_out = [LeftOut(name, "x") for name in ("a", "a", "b", "c", "d", "e")]
    assert ["op_db: skipped: 6 samples of a, b, c and 2 more: x", "op_db: skipped: f: y"] == list(
        remarks([*left_out, LeftOut("f", "y", is_sample=False)])
    )


PLAIN = some.one_of(
    some.none(),
    some.booleans(),
    some.integers(-9, 9),
    some.just({"code": "torch.strided"}),
    some.just({"code": "X()"}),
    some.builds(tensor, some.integers(0, 3)),
)
DESCRIBED = some.recursive(
    PLAIN,
    lambda below: (
        some.lists(below) | some.builds(lambda found: {"tuple": found}, some.lists(below))
    ),
    max_leaves=20,
)


@given(some.lists(some.builds(sample, DESCRIBED, DESCRIBED), max_size=4))
def test_each_sample_is_a_call_or_is_left_out(several: list[Sample]) -> None:
    """Whatever it holds, and each tensor of a call is made under a name of its own."""
    found = calls_of([samples(*several)], {})
    names = [[value.name for value in call.values] for call in found.calls]
    assert len(several) == len(found.calls) + len(found.left_out)
    assert [len(labels) for labels in names] == [len(set(labels)) for labels in names]


# Which operators


PUBLIC = [
    PublicOperator("torch.add", "torch", "add", ("pointwise",), 0),
    PublicOperator("torch.Tensor.add", "torch.Tensor", "add", ("pointwise",), 0),
    PublicOperator("torch.linalg.norm", "torch.linalg", "linalg_norm", (), 0),
]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("torch.add", {"torch.add": "torch.add"}),
        ("Tensor.*", {"torch.Tensor.add": "Tensor.add"}),
        ("norm", {"torch.linalg.norm": "torch.linalg.norm"}),
        ("category:torch.tensor*", {"torch.Tensor.add": "Tensor.add"}),
    ],
)
def test_patterns_select_public_operators(pattern: str, expected: dict[str, str]) -> None:
    """By the names that entries would have."""
    assert expected == resolved(PUBLIC, [pattern])


def test_a_pattern_that_selects_no_public_operator_tells_what_is_near() -> None:
    """And that the names are torch's, not those of the file."""
    with pytest.raises(UsageError, match=r"Near: torch\.linalg\.norm\.\n  With --source op_db"):
        resolved(PUBLIC, ["nomr"])
