"""Whole values from files: what comes back, and what is said of everything else."""

from __future__ import annotations

import contextlib
import enum
import json
import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.errors import DataError, ValidationError
from instruction_counts.reading.structure import Mismatch, read_as, strict_converter


class Colour(enum.Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


@attrs.frozen
class Part:
    """Something small."""

    name: str
    size: int = 0
    share: float = 0.0
    colour: Colour = Colour.RED
    is_new: bool | None = None


@attrs.frozen
class Whole:
    """Something of parts."""

    parts: tuple[Part, ...] = ()
    by_name: Mapping[str, Part] = attrs.field(factory=dict)


CONVERTER = strict_converter()
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
PARTS = st.builds(
    Part,
    TEXTS,
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(Colour),
    st.none() | st.booleans(),
)
WHOLES = st.builds(
    Whole, st.lists(PARTS, max_size=3).map(tuple), st.dictionaries(TEXTS, PARTS, max_size=3)
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(st.sampled_from(["parts", "by_name", "name", "size", "other"]), below)
    ),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a test."""
    return tmp_path_factory.mktemp("structure")


def problems(path: Path, text: str) -> list[str]:
    """What is said of a file with that text, without its name."""
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValidationError) as caught:
        read_as(path, Whole, CONVERTER)
    return [str(found).replace(f"{path}:", "") for found in caught.value.problems]


@given(whole=WHOLES, form=st.sampled_from(["json", "yaml"]))
def test_a_value_comes_back_from_its_file(folder: Path, whole: Whole, form: str) -> None:
    """In either form."""
    plain = CONVERTER.unstructure(whole)
    path = folder / f"whole.{form}"
    text = json.dumps(plain) if form == "json" else yaml.safe_dump(plain)
    path.write_text(text, encoding="utf-8")

    assert whole == read_as(path, Whole, CONVERTER)


@given(value=VALUES)
def test_whatever_a_file_holds_it_is_the_value_or_refused(folder: Path, value: Any) -> None:
    """Without a traceback."""
    path = folder / "any.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    with contextlib.suppress(DataError):
        assert isinstance(read_as(path, Whole, CONVERTER), Whole)


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "1:1: $\n  found     [] (list)\n  expected  a mapping"),
        ('{"parts": {}}', "1:11: $.parts\n  found     {} (dict)\n  expected  a list"),
        ('{"parts": "abc"}', '1:11: $.parts\n  found     "abc"\n  expected  a list'),
        ('{"parts": [{}]}', '1:12: $.parts[0]\n  found     none\n  expected  a field "name"'),
        (
            '{"parts":\n [{"name": 1}]}',
            "2:12: $.parts[0].name\n  found     1 (int)\n  expected  a string",
        ),
        (
            '{"by_name": {"a b": {"name": "a", "size": true}}}',
            '$.by_name["a b"].size\n  found     True (bool)\n  expected  a whole number',
        ),
        ('{"parts": [{"name": "a", "colour": "rde"}]}', "one of red, blue; did you mean red?"),
        (
            '{"parts": [{"nmae": "a", "name": "a"}]}',
            '$.parts[0].nmae\n  found     a field "nmae"\n  expected  one of name,',
        ),
        ('{"parts": [],\n"parts": []}', '2:1: $.parts\n  found     "parts" again, first in line 1'),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    """Line, column, field, what was found and what was expected; the same in both forms."""
    (said,) = problems(tmp_path / name, text)

    assert expected in said


def test_all_problems_are_known_and_ten_are_shown(tmp_path: Path) -> None:
    """In the order of their lines."""
    path = tmp_path / "a.yaml"
    path.write_text("parts:\n" + "- {name: 1}\n" * 12, encoding="utf-8")
    with pytest.raises(ValidationError) as caught:
        read_as(path, Whole, CONVERTER, "Do this.")

    assert list(range(2, 14)) == [problem.line for problem in caught.value.problems]
    assert 10 == caught.value.message.count("expected  a string")
    assert str(caught.value).endswith("and 2 more\n  Do this.")


def test_an_error_comes_back_from_a_pickle(tmp_path: Path) -> None:
    """As it passes between processes."""
    path = tmp_path / "a.yaml"
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(ValidationError) as caught:
        read_as(path, Whole, CONVERTER, "Do this.")
    error = pickle.loads(pickle.dumps(caught.value))  # noqa: S301 - made here

    assert caught.value.problems == error.problems
    assert "Do this." == error.remedy


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan])
def test_a_number_has_an_end(number: float) -> None:
    """Others cannot be written to JSON."""
    with pytest.raises(Mismatch):
        CONVERTER.structure(number, float)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"\xff\xfe", "1:1: $\n  found     the byte 0xff\n  expected  text in UTF-8"),
        (b"parts:\n- \x00", "2:3: $\n  found     the character U+0000\n  expected  YAML"),
        (b"", "found     nothing"),
        (b"# nothing\n", "found     nothing"),
        (b"parts: " + b"[" * 20_000, "more than 100 levels of nesting"),
        (b"parts: " + b"{a: " * 20_000, "more than 100 levels of nesting"),
        (b"x" * (65 << 20), "expected  a file of at most 64 MiB"),
    ],
    ids=["bytes", "null", "empty", "comment", "lists", "mappings", "large"],
)
@pytest.mark.faults
def test_hostile_files_are_refused_with_one_error(
    tmp_path: Path, data: bytes, expected: str
) -> None:
    """In a moment."""
    path = tmp_path / "a.yaml"
    path.write_bytes(data)
    with pytest.raises(ValidationError) as caught:
        read_as(path, Whole, CONVERTER)

    assert 1 == len(caught.value.problems)
    assert expected in str(caught.value)
