"""Files of operators: what an entry may say, and the place that each mistake is reported at."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from instruction_counts.domain.errors import DataError
from instruction_counts.sources.operators.entries import (
    ByVariant,
    Distribution,
    OperatorEntry,
    Tensor,
)
from instruction_counts.sources.operators.reading import read_operators

HEAD = """\
version: 1
shapes:
  square: {small: [2, 2], typical: [8, 8]}
operators:
"""


def entry_of(folder: Path, *lines: str, name: str = "torch.add") -> OperatorEntry:
    """The one entry of a file whose fields are ``lines``."""
    return entries_of(folder, f"  {name}:", *(f"    {line}" for line in lines))[0]


def entries_of(folder: Path, *lines: str) -> tuple[OperatorEntry, ...]:
    """The entries of a file with these lines below ``operators``."""
    path = folder / "operators.yaml"
    path.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    return read_operators(path)


def test_an_entry_has_its_inputs_in_their_order(tmp_path: Path) -> None:
    """A name stands for a family of shapes, a list for one shape."""
    entry = entry_of(tmp_path, "category: arithmetic", "inputs: {input: square, other: [8]}")
    family = ByVariant({"small": (2, 2), "typical": (8, 8)})
    assert list(entry.inputs.items()) == [("input", Tensor(family)), ("other", Tensor((8,)))]


def test_an_entry_can_say_over_which_sizes_it_grows(tmp_path: Path) -> None:
    """How its inputs grow, and the range."""
    entry = entry_of(
        tmp_path, "category: a", "inputs: {x: [1, 64]}", "scale: {x: [N, 64]}", 'sizes: "4:64:2"'
    )
    assert {"x": ("N", 64)} == entry.scale
    assert "4:64:2" == entry.sizes


def test_shapes_by_variant_can_stand_in_the_entry(tmp_path: Path) -> None:
    """With or without the other fields of an input."""
    entry = entry_of(
        tmp_path,
        "category: a",
        "inputs: {input: {large: [9]}, other: {shape: {large: [9]}, dtype: int64}}",
    )
    assert entry.inputs == {
        "input": Tensor(ByVariant({"large": (9,)})),
        "other": Tensor(ByVariant({"large": (9,)}), "int64"),
    }


def test_an_input_can_be_a_list_of_tensors(tmp_path: Path) -> None:
    """Alike, or each of its own."""
    entry = entry_of(
        tmp_path,
        "category: a",
        "inputs: {tensors: {list: 2, shape: [3]}, others: {list: [[1], {shape: [2]}]}}",
    )
    assert entry.inputs == {
        "tensors": (Tensor((3,)), Tensor((3,))),
        "others": (Tensor((1,)), Tensor((2,))),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ones", Distribution("ones")),
        ("integers", Distribution("integers", 0, 10)),
        ("{integers: [1, 5]}", Distribution("integers", 1, 5)),
        ("{uniform: [-1, 1]}", Distribution("uniform", -1, 1)),
        ("{index_of: [input, 0]}", Distribution("index_of", of="input", dim=0)),
    ],
)
def test_a_distribution_has_its_bounds(tmp_path: Path, text: str, expected: Distribution) -> None:
    """Where it has any."""
    entry = entry_of(
        tmp_path,
        "category: a",
        f"inputs: {{input: [4], index: {{shape: [4], distribution: {text}}}}}",
    )
    index = entry.inputs["index"]
    assert isinstance(index, Tensor)
    assert index.distribution == expected


def test_an_entry_has_the_variants_that_all_of_its_values_have(tmp_path: Path) -> None:
    """Shapes, and keyword arguments too."""
    entry = entry_of(
        tmp_path,
        "category: a",
        "inputs: {input: {small: [1], typical: [2], large: [3]}, other: square}",
        "kwargs: {dim: {typical: 1, small: 0}}",
    )
    assert entry.variants == ("small", "typical")


def test_an_entry_without_differing_values_is_typical(tmp_path: Path) -> None:
    """One variant, so that it is measured by default."""
    assert entry_of(tmp_path, "category: a", "inputs: {input: [1]}").variants == ("typical",)


@pytest.mark.parametrize(
    ("name", "inputs", "expected"),
    [
        ("torch.add", "{input: [1]}", True),
        ("torch.add", "{input: {shape: [1], dtype: complex64}}", True),
        ("torch.add", "{input: {shape: [1], dtype: int64}}", False),
        ("torch.add", "{input: {shape: [1], requires_grad: false}}", False),
        ("torch.zeros", "{}", False),
        ("Tensor.add_", "{input: [1]}", False),
        ("Tensor.__getitem__", "{input: [1]}", True),
    ],
)
def test_an_entry_differentiates_where_an_input_can(
    tmp_path: Path, name: str, inputs: str, expected: bool
) -> None:
    """And where it does not work in place."""
    assert entry_of(tmp_path, "category: a", f"inputs: {inputs}", name=name).autograd is expected


MISTAKES = {
    "an unknown field": (["category: a", "input: {}"], 7, '"input"', "did you mean inputs?"),
    "no category": (["inputs: {}"], 6, "none", 'a field "category"'),
    "a category of another form": (["category: [a]"], 6, "list", "lower-case words"),
    "an unknown family": (
        ["category: a", "inputs: {x: sqare}"],
        7,
        "sqare",
        "did you mean square?",
    ),
    "a size that is none": (["category: a", "inputs: {x: [2, -1]}"], 7, "-1", "at least 0"),
    "an unknown dtype": (
        ["category: a", "inputs:", "  x: {shape: [2], dtype: float33}"],
        8,
        "float33",
        "did you mean float32?",
    ),
    "an unknown distribution": (
        ["category: a", "inputs: {x: {shape: [2], distribution: gauss}}"],
        7,
        "gauss",
        "one of normal, uniform",
    ),
    "bounds the wrong way round": (
        ["category: a", "inputs: {x: {shape: [2], distribution: {uniform: [1, 0]}}}"],
        7,
        "[1, 0]",
        "low less than high",
    ),
    "an index into no input": (
        ["category: a", "inputs: {x: {shape: [2], distribution: {index_of: [y, 0]}}}"],
        7,
        'index_of "y"',
        "one of x",
    ),
    "an index into no dimension": (
        ["category: a", "inputs: {x: square, y: {shape: [2], distribution: {index_of: [x, 2]}}}"],
        7,
        "index_of [x, 2]",
        "a dimension of x, which is [2, 2]",
    ),
    "a name that the backward pass has": (
        ["category: a", "inputs: {gradient: [1]}"],
        7,
        '"gradient"',
        "a valid variable name",
    ),
    "a name that C++ has": (
        ["category: a", "inputs: {int: [1]}"],
        7,
        '"int"',
        "a valid variable name",
    ),
    "a name that Python has": (
        ["category: a", "inputs: {in: [1]}"],
        7,
        '"in"',
        "a valid variable name",
    ),
    "an argument that is no name": (
        ["category: a", 'kwargs: {"a b": 1}'],
        7,
        '"a b"',
        "an argument name",
    ),
    "an argument that is a word of Python": (
        ["category: a", "kwargs: {from: 1}"],
        7,
        '"from"',
        "an argument name",
    ),
    "a list of endless tensors": (
        ["category: a", "inputs: {x: {list: 10000000000, shape: [1]}}"],
        7,
        "10000000000",
        "at most 1000",
    ),
    "a variable twice": (
        ["category: a", "inputs: {x_0: [1], x: {list: 2, shape: [1]}}"],
        7,
        '"x_0" of x_0 and of x',
        "unique variables",
    ),
    "growth of no input": (
        ["category: a", "inputs: {x: [1]}", "scale: {y: [N]}"],
        8,
        '"y"',
        "one of x",
    ),
    "growth that is none": (
        ["category: a", "inputs: {x: [1]}", "scale: {x: [3]}"],
        8,
        "'x': [3]",
        "N in at least one shape",
    ),
    "no range of sizes": (["category: a", 'sizes: "9:1"'], 7, "9:1", "For example: 16:65536"),
    "a gradient of integers": (
        ["category: a", "inputs: {x: {shape: [2], dtype: int8, requires_grad: true}}"],
        7,
        "True",
        "int8 has no gradient",
    ),
    "a variant that is none": (
        ["category: a", "kwargs: {dim: {tiny: 1}}"],
        7,
        '"tiny"',
        "one of small, typical, large, skewed",
    ),
    "variants that do not meet": (
        ["category: a", "inputs: {x: {small: [1]}, y: {large: [1]}}"],
        6,
        "no shared variant",
        "at least one variant",
    ),
    "autograd that cannot be": (
        ["category: a", "inputs: {x: {shape: [2], dtype: int64}}", "autograd: true"],
        8,
        "True",
        "no input can require a gradient",
    ),
    "an argument twice": (
        ["category: a", "inputs: {x: [1]}", "kwargs: {x: 1}"],
        8,
        "1",
        "a name other than x",
    ),
    "a position of nothing": (
        ["category: a", "inputs: {x: [1]}", "positional: [dim]"],
        8,
        "dim",
        "one of x",
    ),
    "C++ that is only promised": (["category: a", "cpp: true"], 7, "True", "C++ code, or false"),
    "an output that is no index": (["category: a", "output: first"], 7, "first", "whole number"),
    "an object that torch has not": (
        ["category: a", "kwargs: {dtype: torch.float-64}"],
        7,
        "torch.float-64",
        "a torch object",
    ),
}


@pytest.mark.parametrize(("lines", "line", "found", "expected"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_reported_with_its_file_line_entry_and_field(
    tmp_path: Path, lines: list[str], line: int, found: str, expected: str
) -> None:
    """What was found there, and what was expected."""
    with pytest.raises(DataError) as caught:
        entry_of(tmp_path, *lines)
    message = str(caught.value)
    assert re.search(rf'operators\.yaml:{line}:\d+: \$\.operators\["torch\.add"\]', message)
    assert found in message.split("found")[1].split("expected", maxsplit=1)[0]
    assert expected in message.split("  expected  ")[1]


@pytest.mark.parametrize("name", ["add", "numpy.add", "torch.nn.Linear.forward", "torch.add-1"])
def test_an_operator_is_named_as_torch_names_it(tmp_path: Path, name: str) -> None:
    """So that the call can be written from the name."""
    with pytest.raises(DataError, match="torch\\.X"):
        entries_of(tmp_path, f'  "{name}": {{category: a}}')


def test_a_method_needs_its_receiver(tmp_path: Path) -> None:
    """Its first input."""
    with pytest.raises(DataError, match="the receiver"):
        entry_of(tmp_path, "category: a", name="Tensor.add_")


def test_all_mistakes_of_a_file_are_reported_at_once(tmp_path: Path) -> None:
    """In several entries, too."""
    with pytest.raises(DataError) as caught:
        entries_of(
            tmp_path,
            "  torch.add: {category: a, inputs: {x: [-1]}, output: -1}",
            "  torch.mul: {category: a, inpts: {}}",
        )
    assert str(caught.value).count("  expected  ") == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "a mapping"),
        ("version: 1\n", 'a field "operators"'),
        ("version: 2\noperators: {torch.add: {category: a}}\n", "the only supported version"),
        ("version: 1\noperators: {}\n", "at least one operator"),
        ("version: 1\noperators: [torch.add]\n", "a mapping"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    """With what it should be."""
    path = tmp_path / "operators.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=expected):
        read_operators(path)
