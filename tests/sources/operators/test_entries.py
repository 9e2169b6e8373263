"""Files of operators: what an entry may say, and the place that each mistake is reported at."""

import re
from pathlib import Path

import pytest

from instruction_counts.domain.errors import DataError
from instruction_counts.sources.operators.entries import (
    Distribution,
    OperatorEntry,
    Tensor,
    read_operators,
)

HEAD = """\
version: 1
shapes:
  square: {small: [2, 2], typical: [8, 8]}
operators:
"""


def entry_of(folder: Path, fields: str, name: str = "torch.add") -> OperatorEntry:
    """The one entry of a file with these fields."""
    return entries_of(folder, f"  {name}: {{category: a, {fields}}}")[0]


def entries_of(folder: Path, *lines: str) -> tuple[OperatorEntry, ...]:
    """The entries of a file with these lines below ``operators``."""
    path = folder / "operators.yaml"
    path.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    return read_operators(path)


FAMILY = Tensor({"small": (2, 2), "typical": (8, 8)})
LARGE = {"large": (9,)}
DRAWN = {
    "ones": Distribution("ones"),
    "integers": Distribution("integers", 0, 10),
    "{integers: [1, 5]}": Distribution("integers", 1, 5),
    "{uniform: [-1, 1]}": Distribution("uniform", -1, 1),
    "{index_of: [other, 0]}": Distribution("index_of", of="other", dim=0),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("square", FAMILY),
        ("[8]", Tensor((8,))),
        ("[]", Tensor(())),
        ("{shape: {large: [9]}, dtype: int64}", Tensor(LARGE, "int64")),
        ("{list: [square, square]}", (FAMILY, FAMILY)),
        ("{list: [[1], {shape: [2]}]}", (Tensor((1,)), Tensor((2,)))),
        *(
            (f"{{shape: [4], distribution: {text}}}", Tensor((4,), distribution=distribution))
            for text, distribution in DRAWN.items()
        ),
    ],
)
def test_an_input_is_a_shape_or_states_more(
    tmp_path: Path, text: str, expected: Tensor | tuple[Tensor, ...]
) -> None:
    """A name stands for a family of shapes; inputs are in their order."""
    entry = entry_of(tmp_path, f"inputs: {{input: {text}, other: [8]}}")

    assert [("input", expected), ("other", Tensor((8,)))] == list(entry.inputs.items())


@pytest.mark.parametrize(
    "fields", ["inputs: {x: square}, kwargs: {n: {typical: 0, large: 1}}", "inputs: {input: [1]}"]
)
def test_an_entry_has_the_variants_that_all_of_its_values_have(tmp_path: Path, fields: str) -> None:
    """Shapes, and keyword arguments too; without any, it is measured by default."""
    assert ("typical",) == entry_of(tmp_path, fields).variants


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
    assert entry_of(tmp_path, f"inputs: {inputs}", name).differentiates is expected


INDEX = "{shape: [2], distribution: {index_of: [%s]}}"
MISTAKES = [
    # Fields, each of its own form.
    ("inputs: {x: {shape: [2], dtype: float33}}", "float33", "did you mean float32?"),
    ("inputs: {x: {shape: [2], distribution: gauss}}", "gauss", "one of normal, uniform"),
    ("inputs: {x: {shape: [2], distribution: {uniform: [1, 0]}}}", "[1, 0]", "low less than high"),
    ("inputs: {x: {shape: [2], distribution: {}}}", "{}", "exactly one of uniform"),
    ("inputs: {gradient: [1]}", '"gradient"', "a valid variable name"),
    ("inputs: {int: [1]}", '"int"', "a valid variable name"),
    ("inputs: {x: {list: [[1]], dtype: int8}}", '"dtype"', "one of list"),
    ("inputs: {x: {list: 3}}", "3", "a list"),
    ("kwargs: {from: 1}", '"from"', "an argument name"),
    ("kwargs: {dim: {tiny: 1}}", '"tiny"', "one of small, typical, large, skewed"),
    ("kwargs: {dtype: torch.float-64}", "torch.float-64", "a torch object"),
    ("kwargs: {when: 2024-01-01}", "2024", "a plain value"),
    ('sizes: "9:1"', "9:1", "For example: 16:65536"),
    ("cpp: true", "True", "one of false"),
    ('overload: "a b"', "a b", "the name of an overload"),
    # What does not go together.
    ("inputs: {x: sqare}", "sqare", "did you mean square?"),
    ("inputs: {x: " + INDEX % "y, 0" + "}", 'index_of "y"', "one of x"),
    (
        "inputs: {x: square, y: " + INDEX % "x, 2" + "}",
        *("index_of [x, 2]", "a dimension of x, which is [2, 2]"),
    ),
    ("inputs: {x: square, y: {shape: {large: [1]}}}", "no shared variant", "at least one variant"),
    ("scale: {y: [N]}", '"y"', "nothing"),
    ("inputs: {x: [1]}, scale: {x: [3]}", "'x': [3]", "N in at least one shape"),
    ("inputs: {x: [1]}, kwargs: {x: 1}", "1", "a name other than x"),
    ("inputs: {x: [1]}, positional: [dim]", "dim", "one of x"),
    ("inputs: {x: [1]}, positional: [x, x]", "x", "unique names"),
]


@pytest.mark.parametrize(("fields", "found", "expected"), MISTAKES)
def test_a_mistake_is_reported_with_its_file_line_entry_and_field(
    tmp_path: Path, fields: str, found: str, expected: str
) -> None:
    """What was found there, and what was expected."""
    with pytest.raises(DataError) as caught:
        entry_of(tmp_path, fields)
    message = str(caught.value)
    assert re.search(r'operators\.yaml:5:\d+: \$\.operators\["torch\.add"\]', message)
    assert found in message.split("found")[1].split("expected", maxsplit=1)[0]
    assert expected in message.split("  expected  ")[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "version: 1\nshapes: {a: {z: [1]}}\noperators: {torch.a: {category: a,inputs: {x: a}}}",
            r"^[^\n]*\n  found     \"z\"\n  expected  one of small[^\n]*\n  See",
        ),
        (
            "version: 1\noperators: {torch.a: {category: a, inputs: {x: none}}}",
            "expected  a list of sizes, or a name that is stated under shapes",
        ),
        ("version: 2\noperators: {torch.add: {category: a}}\n", "the only supported version"),
        ("version: 1\noperators: {}\n", "at least one operator"),
        # The call can be written from the name, and a method has a receiver.
        *(
            (f'version: 1\noperators: {{"{name}": {{category: a}}}}\n', r"expected  torch\.X")
            for name in ("add", "numpy.add", "torch.a-1", "torch.nn.Linear.forward")
        ),
        *(
            (f"version: 1\noperators: {{{entry}}}\n", f"  expected  {expected}")
            for entry, expected in (
                ("torch.add: {inputs: {}}", 'a field "category"'),
                ("torch.add: {category: [a]}", "lower-case words"),
                ("torch.add: [a]", "a mapping"),
                ("Tensor.add_: {category: a}", "at least one input, for the receiver"),
            )
        ),
        ("version: 1\noperators: [torch.add]\n", "a mapping"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    """With what it should be."""
    path = tmp_path / "operators.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=expected):
        read_operators(path)
