"""Which operators are asked for, and what in place of what their entries say."""

from typing import Any

import pytest

from instruction_counts.core.expand import materialize
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators.calls import Overrides, calls
from instruction_counts.sources.operators.entries import VARIANTS, OperatorEntry, Tensor
from instruction_counts.sources.operators.source import definitions_of, operators, selected
from tests.sources.operators.made import entry

ENTRIES = tuple(
    entry(name, category=category, inputs={})
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
        (("TORCH.Add",), ["torch.add"]),
        (("add",), ["torch.add", "Tensor.add"]),
        (("torch.fft.*",), ["torch.fft.fft", "torch.fft.rfft"]),
        (("category:*ion", "torch.add"), ["torch.add", "torch.sum"]),
        (("*",), [known.name for known in ENTRIES]),
    ],
)
def test_operators_are_selected_by_name_and_by_category(
    patterns: tuple[str, ...], expected: list[str]
) -> None:
    """In the order of the file, each once."""
    assert [found.name for found in selected(ENTRIES, patterns)] == expected


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


def test_operators_are_asked_for_as_options_ask_for_them() -> None:
    """Nothing stated is the typical shape; shapes of inputs take the place of named ones."""
    assert Overrides() == operators("torch.add").overrides
    assert VARIANTS == operators("*", shapes=["all"]).overrides.variants
    expected = Overrides(dtypes=("int8",), inputs=({"x": (1, 2)}, {"x": (3,)}), seed=5)
    asked = operators("*", dtypes=["int8"], inputs={"x": [[1, 2], (3,)]}, seed=5)
    assert expected == asked.overrides


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"shapes": ["tiny"]}, 'no shape "tiny"'),
        ({"dtypes": ["float65"]}, r"no dtype .*(?s:.*)did you mean float64"),
        ({"devices": ["tpu"]}, r'no device "tpu"(?s:.*)cuda'),
    ],
)
def test_what_cannot_be_asked_of_operators_is_refused(asked: dict[str, Any], expected: str) -> None:
    """With what there is."""
    with pytest.raises(UsageError, match=expected):
        operators("torch.add", **asked)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        (
            entry("torch.not", inputs={"input": Tensor((3,), "int64")}),
            {("a", "torch.not", "typical"): "int64"},
        ),
        (
            entry("torch.neg", inputs={"index": Tensor((3,), "int64"), "input": Tensor((3,))}),
            {("a", "torch.neg", "typical", "float64"): "float64"},
        ),
        (entry("torch.zeros", inputs={}), {("a", "torch.zeros", "typical"): None}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_labels_and_subjects_have_the_dtype_of_the_tensors(
    operator: OperatorEntry, expected: dict[tuple[str, ...], str | None]
) -> None:
    """Not one that was asked for in vain."""
    made = definitions_of(calls(operator, Overrides(dtypes=("float64",))), {})
    assert expected == {label: group.subject.dtype for label, group in made.items()}


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ((), {("typical",): None}),
        (("cuda",), {("typical", "cuda"): "cuda"}),
        (("cpu", "cuda"), {("typical", "cpu"): "cpu", ("typical", "cuda"): "cuda"}),
    ],
    ids=len,
)
def test_each_device_that_is_asked_for_is_a_case_of_its_own(
    devices: tuple[str, ...], expected: dict[tuple[str, ...], str | None]
) -> None:
    """With a label that says so: otherwise a comparison would take it for the CPU's."""
    cases = materialize(definitions_of(calls(entry("torch.neg"), Overrides(devices=devices)), {}))

    assert expected == {case.label[2:]: case.timer_args.device for case in cases}


def test_what_no_tensor_goes_into_is_made_on_the_device_and_not_scripted() -> None:
    """A script does not know the variable that says where."""
    zeros = entry("torch.zeros", {"size": (2,)}, inputs={}, torchscript=True)
    cases = materialize(definitions_of(calls(zeros, Overrides(devices=("cuda",))), {}))

    assert ["out = torch.zeros(size=[2], device=device)"] == [
        case.timer_args.stmt for case in cases
    ]
