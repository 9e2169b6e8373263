"""Reading YAML with places: what is read, and the place that each mistake is reported at."""

import contextlib
import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.domain.errors import DataError
from instruction_counts.reading import documents
from instruction_counts.reading.documents import Node, read_bytes

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
TAGS = ["bool", "int", "float", "timestamp", "binary", "null", "merge", "map", "seq", "set", "omap"]
SCALARS = (
    TEXTS
    | st.floats().map(str)
    | st.sampled_from(["0x" + "f" * 9_999, "1:30", "2020-01-01", "9e9"])
)
SCRAPS = st.sampled_from([*"[]{}:,-?&*!|>%@`'\"# \n\t", "a", "1", "<<", "&a ", "*a", "!!", "\x00"])
"""What documents of YAML are made of."""
SCRAPPED = st.lists(SCRAPS | SCALARS).map("".join)
TAGGED = st.builds("a: !!{} {}\n".format, st.sampled_from(TAGS), SCALARS.map(json.dumps))
"""A value below a tag, which mostly does not fit it."""


def read(folder: Path, text: str, name: str = "a.yaml") -> Node:
    """A text as a file of that name has it."""
    path = folder / name
    path.write_text(text, encoding="latin-1")
    return documents.read(path, "Do this.")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples of a test."""
    return tmp_path_factory.mktemp("located")


@settings(max_examples=300)
@given(data=st.binary() | SCRAPPED.map(str.encode) | TAGGED.map(str.encode))
def test_whatever_a_file_holds_it_is_read_or_refused(folder: Path, data: bytes) -> None:
    """Without a traceback: PyYAML raises whatever comes to its mind where a tag does not fit."""
    for name in ("a.yaml", "a.json"):
        (folder / name).write_bytes(data)
        with contextlib.suppress(DataError):
            documents.read(folder / name)


def test_a_node_knows_its_line_and_path(tmp_path: Path) -> None:
    """Names that are no words stand in brackets; an empty file has no value."""
    root = read(tmp_path, "version: 1\noperators:\n  torch.add:\n    inputs: [4, 5]\n")
    node = root.below("operators", "torch.add", "inputs", 1, "none")

    assert (5, 4) == (node.value, node.line)
    assert '$.operators["torch.add"].inputs[1]' == node.problem("more").path
    assert read(tmp_path, "").value is None


NO_JSON = [
    ("", "a.json:1:1: $\n  found     nothing\n  expected  JSON"),
    ("[1\n2]", "a.json:2:1: $\n  found     Expecting ',' delimiter"),
    ("{a: 1}", "a.json:1:2: $\n  found     Expecting property name enclosed in double quotes"),
    ("[1]\n\n1", "a.json:3:1: $\n  found     Extra data"),
    *((f"[{number}]", f"{number} is not a number in JSON") for number in ("NaN", "-Infinity")),
    ("[1e999]", "1e999 is not a number in JSON"),
    (f"[{'1' * 5000}]", "Exceeds the limit"),
    ("[" * 30_000 + "]" * 30_000, "a.json: $\n  found     more than 500 levels of nesting"),
    ('{"a": 1,\n"a": 2}', '"a" twice in a mapping'),
]
NO_YAML = [
    ("a: b: c\n", "a.yaml:1:5: $\n  found     mapping values are not allowed"),
    ("a: \xff", "a.yaml: $\n  found     the byte 0xff in line 1\n  expected  text in UTF-8"),
    ("a: 1\na: 2\n", 'a.yaml:2:1: $.a\n  found     "a" again, first in line 1'),
    ("1: 2\n", "a string as the key"),
    ("a: !!python/object:os.system x\n", "a plain value"),
    ("a: !!bool maybe\n", "a plain value"),
    ("a: !!set foo\n", "a plain value"),
    (f"a: 0x{'f' * 9_999}\n", "a plain value"),
    ("a: &x [*x]\n", "a.yaml:1:8: $\n  found     the alias *x\n  expected  a value"),
    ("a: " + "[" * 30_000 + "]" * 30_000, "a.yaml:1:103: $\n  found     more than"),
]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [*(("a.json", *row) for row in NO_JSON), *(("a.yaml", *row) for row in NO_YAML)],
)
def test_what_is_no_json_or_plain_yaml_is_refused_with_its_line(
    tmp_path: Path, name: str, text: str, expected: str
) -> None:
    """JSON by its own rules, and without lines of values; also what YAML itself would accept.

    That is a name twice, objects, loops.
    """
    with pytest.raises(DataError) as caught:
        read(tmp_path, text, name)

    assert expected in str(caught.value)
    assert "Do this." == caught.value.remedy


# Bytes


@pytest.mark.parametrize("name", ["a.json", "a.json.GZ"])
def test_a_file_is_read_up_to_a_limit(tmp_path: Path, name: str) -> None:
    """Unpacked where its name says so: few bytes can unpack to more than any memory holds."""
    (tmp_path / name).write_bytes(gzip.compress(b"content") if "GZ" in name else b"content")

    assert b"con" == read_bytes(tmp_path / name, 3)
    assert bytes(3 << 20) == read_bytes(Path("/dev/zero"), 3 << 20)


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"content")[:-4], gzip.compress(bytes(99))[:-12] + b"x" * 12],
    # Packed bytes tell the time of day.
    ids=["not packed", "cut", "damaged"],
)
def test_what_cannot_be_unpacked_is_reported(tmp_path: Path, content: bytes) -> None:
    """With the remedy."""
    (tmp_path / "a.gz").write_bytes(content)
    with pytest.raises(DataError, match=r"cannot be unpacked: .*\n  Copy it again"):
        read_bytes(tmp_path / "a.gz", 1000, "Copy it again.")
