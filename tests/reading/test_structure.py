"""Whole values from files: what comes back, and what is said of everything else."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import attrs
import pytest

from instruction_counts.domain.bounds import Bounds, Count
from instruction_counts.domain.errors import ValidationError
from instruction_counts.reading.structure import (
    Check,
    Mismatch,
    Parsed,
    Several,
    Text,
    among,
    read_as,
    refuse,
    require_version,
    strict_converter,
)


@attrs.frozen
class Part:
    """Something small."""

    name: str


def halves(value: object) -> float:
    """A number in a text: ``3 halves``."""
    number, word = str(value).split()
    if word != "halves":
        raise ValueError(f"expected halves, not {word}")
    return int(number) / 2


@attrs.frozen
class Form:
    """One of each form that a field can have."""

    label: tuple[str, ...]
    name: Text = "a"
    count: Count = 0
    seed: Annotated[int, Bounds(1, 5)] = 1
    dtype: Annotated[str, among(("float32", "float64"))] = "float32"
    shapes: Several[str] = ()
    sizes: Annotated[Several[int], Check(len, "at least one size")] = (1,)
    by_name: Mapping[Annotated[str, Check(str.isidentifier, "a variable")], int] = {}
    length: Annotated[float, Parsed(halves)] = 0.5
    path: Path | None = None
    code: Text | Part | bool = False
    cpp: Text | Literal[False] | None = None
    output: int | None = attrs.field(default=None, alias="file")

    def __attrs_post_init__(self) -> None:
        refuse(Mismatch(f"no {name}", at=("by_name", name)) for name in self.by_name if name > "x")


FORMS = strict_converter()
require_version(FORMS, Form, "version", 1)


@pytest.mark.parametrize(("name", "place"), [("a.yaml", ":1:49: $"), ("a.json", ": $")])
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, name: str, place: str) -> None:
    """Field, what was found and what was expected; in YAML also line and column."""
    path = tmp_path / name
    path.write_text('{"version": 1, "label": ["a"], "by_name": {"a": true}}', encoding="utf-8")
    with pytest.raises(ValidationError) as caught:
        read_as(path, Form, FORMS)
    (problem,) = caught.value.problems

    said = f"{path}{place}.by_name.a\n  found     True (bool)\n  expected  a whole number"
    assert said == str(problem)


def test_all_problems_are_known_and_ten_are_shown(tmp_path: Path) -> None:
    """In the order of their lines."""
    path = tmp_path / "a.yaml"
    path.write_text("version: 1\nlabel:\n" + "- 1\n" * 12, encoding="utf-8")
    with pytest.raises(ValidationError) as caught:
        read_as(path, Form, FORMS, "Do this.")

    assert list(range(3, 15)) == [problem.line for problem in caught.value.problems]
    assert 10 == caught.value.message.count("expected  a string")
    assert str(caught.value).endswith("and 2 more\n  Do this.")


def form(folder: Path, **fields: Any) -> Form:
    """A form as a file of this folder gives it."""
    path = folder / "a.json"
    path.write_text(json.dumps({"version": 1, "label": ["a"], **fields}), encoding="utf-8")
    return read_as(path, Form, FORMS)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("shapes", "a", ("a",)),
        ("shapes", ["a", "b"], ("a", "b")),
        ("sizes", 3, (3,)),
        ("length", "3 halves", 1.5),
        ("path", "b/c", "b/c"),
        ("path", "/b", Path("/b")),
        ("code", True, True),
        ("code", {"name": "a"}, Part("a")),
        ("cpp", False, False),
        ("file", 5, 5),
    ],
)
def test_a_field_takes_its_forms(
    tmp_path: Path, field: str, value: object, expected: object
) -> None:
    """One or several, a text or a mapping; paths begin in the folder of the file."""
    if field == "path" and isinstance(expected, str):
        expected = tmp_path / expected
    found = form(tmp_path, **{field: value})

    assert expected == getattr(found, "output" if field == "file" else field)
    assert field in FORMS.unstructure(found)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"label": "a"}, ['$.label\n  found     "a"\n  expected  a list']),
        ({"key": {}}, ['$.key\n  found     a field "key"\n  expected  one of label, name']),
        ({"lable": []}, ["did you mean label?"]),
        ({"name": "  "}, ['$.name\n  found     ""\n  expected  a non-empty string']),
        ({"count": -1}, ["a whole number, at least 0"]),
        ({"count": 1.0}, ["a whole number, at least 0"]),
        ({"count": 2**63}, ["found     65 bits\n  expected  a whole number of at most 64"]),
        ({"seed": 6}, ["a whole number, at least 1, at most 5"]),
        ({"dtype": "float46"}, ["one of float32, float64; did you mean float64?"]),
        ({"dtype": []}, ["one of float32, float64"]),
        ({"shapes": [1]}, ["$.shapes[0]\n  found     1 (int)\n  expected  a string"]),
        ({"sizes": []}, ["$.sizes\n  found     [] (list)\n  expected  at least one size"]),
        ({"by_name": {"a b": 1}}, ['$.by_name["a b"]\n  found     "a b"\n  expected  a variable']),
        ({"by_name": {"y": 1, "z": 2}}, ["$.by_name.y", "$.by_name.z"]),
        (
            {"length": "2 thirds"},
            ['$.length\n  found     "2 thirds"\n  expected  halves, not thirds'],
        ),
        ({"path": "a\0"}, ["a path without null characters"]),
        ({"path": "~no-such-user/a"}, ["a path in a home directory that exists"]),
        ({"code": 1}, ["a string, or a mapping, or true or false"]),
        ({"cpp": True}, ["one of false"]),
        ({"version": 2}, ["$.version\n  found     2 (int)\n  expected  1, the only supported"]),
        ({"name": "", "seed": 0, "sizes": []}, ["$.name", "$.seed", "$.sizes"]),
    ],
)
def test_every_mismatch_of_a_file_is_named(
    tmp_path: Path, fields: Mapping[str, Any], expected: list[str]
) -> None:
    """At once, each with its place."""
    with pytest.raises(ValidationError) as caught:
        form(tmp_path, **fields)
    said = sorted(str(problem) for problem in caught.value.problems)

    assert len(expected) == len(said)
    assert all(text in problem for text, problem in zip(expected, said, strict=True)), said
