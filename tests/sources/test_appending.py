"""Definitions appended to files that people edit."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.core.api import GroupedBenchmark, GroupedSetup, GroupedStmts
from instruction_counts.core.errors import DefinitionErrors
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.sources.appending import append, check_appendable
from instruction_counts.sources.definitions import load

GROUP = GroupedStmts("x + y", setup=GroupedSetup("x = 1\ny = 2"))
FLAT = """\
from core.api import GroupedStmts
from core.types import FlatIntermediateDefinition
from core.utils import flatten

BENCHMARKS: FlatIntermediateDefinition = flatten({"a": {"b": GroupedStmts("x")}})
"""
EMPTY = """\
# Nothing yet.

from os import path

BENCHMARKS = {}


def f():
    return path
"""


def saved(path: Path, group: GroupedBenchmark = GROUP, *label: str) -> tuple[Case, ...]:
    """The cases of the file after ``group`` was appended."""
    append(path, {label or ("Mine", "add"): group})
    return load(str(path))


def left(folder: Path) -> list[Path]:
    """The files of a folder, but for what Python keeps of the definition file itself."""
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith("cases.cpython-")
    ]


def expanded(group: GroupedBenchmark = GROUP, *label: str) -> tuple[Case, ...]:
    """The cases of ``group`` itself."""
    return materialize({label or ("Mine", "add"): group})


TEXTS = st.one_of(
    st.text(max_size=30),
    st.text(alphabet="ab \t\n\r\\'\"#{}\x0c\x85\u2028é", max_size=30),
)
NAMED = TEXTS.map(lambda text: f"z = 1  # {text}")


@given(
    label=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1),
    py_stmt=NAMED,
    cpp_stmt=st.none() | NAMED,
    setups=st.tuples(TEXTS, TEXTS, TEXTS),
    options=st.fixed_dictionaries(
        {
            "signature": st.just("f(x, y) -> z"),
            "torchscript": st.booleans(),
            "autograd": st.booleans(),
            "num_threads": st.sampled_from([1, 4, (1, 4)]),
        }
    ),
)
def test_what_is_saved_is_the_same_case(
    tmp_path_factory: pytest.TempPathFactory,
    label: list[str],
    py_stmt: str,
    cpp_stmt: str | None,
    setups: tuple[str, str, str],
    options: dict[str, Any],
) -> None:
    """Whatever its code and its label hold: imported and expanded, it is what was measured."""
    group = GroupedStmts(py_stmt, cpp_stmt, GroupedSetup(*setups), **options)
    path = tmp_path_factory.mktemp("saved") / "cases.py"

    assert expanded(group, *label) == saved(path, group, *label)


@pytest.mark.parametrize(
    "before",
    [
        FLAT,
        FLAT.rstrip("\n"),
        f"\ufeff{FLAT}",
        (
            '#!/usr/bin/python\n"""Doc."""\n\nfrom core import api\n\nB = api.GroupedStmts\n\n\n'
            'def made():\n    return {"a": {"b": B("x")}}\n\n\nBENCHMARKS = made()\n'
        ),
        'BENCHMARKS = {("a", "b"): __import__("core.api").api.GroupedStmts("x")}  # end',
        (
            "from core.api import *\n\nBENCHMARKS = {}\nclass A:\n    B = GroupedStmts\n"
            'BENCHMARKS["a", "b"] = A.B("x")\n\n\ndef after(): ...\n'
        ),
    ],
)
def test_what_is_there_stays(tmp_path: Path, before: str) -> None:
    """In any form of file: the cases of before come first, and its lines are all still there."""
    path = tmp_path / "cases.py"
    path.write_bytes(before.encode())

    assert (*expanded(GroupedStmts("x"), "a", "b"), *expanded()) == saved(path)

    after = path.read_bytes().decode()
    lines = iter(after.splitlines())
    assert all(line in lines for line in before.splitlines())
    assert [path] == left(tmp_path)


def test_a_second_case_follows_the_first(tmp_path: Path) -> None:
    """And nothing is imported again."""
    path = tmp_path / "cases.py"
    saved(path, GROUP, "a")

    assert ["a", "b"] == [case.label[0] for case in saved(path, GROUP, "b")]
    assert 1 == path.read_text().count("from core.api import")


def test_the_file_is_laid_out_as_ruff_does_it(tmp_path: Path) -> None:
    """Whether it was made or extended."""
    extended, made = tmp_path / "extended.py", tmp_path / "made.py"
    extended.write_text(EMPTY)
    group = GroupedStmts(
        'z = x + "a"',
        "auto z = x;\nz += 1;",
        GroupedSetup("x = 'b'\n\ny = 1", "int x;", "#include <vector>\n#include <map>"),
        "f(x) -> z",
        torchscript=True,
        autograd=True,
        num_threads=(1, 2),
        gradient="x",
    )
    for path in (extended, made):
        saved(path, group)
        saved(path, GROUP, 'a "quoted" label')

    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--diff", "--isolated", extended, made],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (0, "") == (done.returncode, done.stdout)


@pytest.mark.parametrize(
    "content",
    [
        "import types\n" + FLAT + "BENCHMARKS = types.MappingProxyType(BENCHMARKS)\n",
        f"# -*- coding: latin-1 -*-\n# \xe9\n{FLAT}",
    ],
)
def test_a_file_that_cannot_be_extended_stays_as_it_is(tmp_path: Path, content: str) -> None:
    """The error holds the code, to be added by hand."""
    path = tmp_path / "cases.py"
    path.write_text(content, encoding="latin-1")

    with pytest.raises(UsageError, match="cannot be extended") as raised:
        append(path, {("Mine", "add"): GROUP})
    assert '    BENCHMARKS["Mine", "add"] = GroupedStmts(\n' in str(raised.value)
    assert content == path.read_text(encoding="latin-1")
    assert [path] == left(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cases.py", "x = ", "SyntaxError"),
        ("cases.py", "x = 1", "BENCHMARKS is missing"),
        ("cases.py", FLAT.replace('GroupedStmts("x")', "GroupedStmts(3)"), "expected  text"),
        ("none/cases.py", None, "there is no folder"),
    ],
)
def test_a_file_that_cannot_be_extended_is_refused_at_once(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    """Before anything is measured."""
    if content is not None:
        (tmp_path / name).write_text(content)

    with pytest.raises((DataError, DefinitionErrors, UsageError), match=message):
        check_appendable(tmp_path / name, [("a",)])


def test_a_folder_is_no_definition_file(tmp_path: Path) -> None:
    """Whatever it is called."""
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(UsageError, match="is not a file that can be written"):
        check_appendable(tmp_path / "folder.py", [("a",)])


def test_a_link_and_the_rights_of_a_file_stay(tmp_path: Path) -> None:
    """What the link points to is what changes."""
    path, link = tmp_path / "cases.py", tmp_path / "link.py"
    path.write_text(FLAT)
    path.chmod(0o600)
    link.symlink_to(path.name)

    saved(link)

    assert link.is_symlink()
    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert path.read_text().startswith(FLAT.partition("\n")[0])


def test_what_somebody_else_writes_meanwhile_is_kept(tmp_path: Path) -> None:
    """Here the file itself, when it is loaded."""
    path = tmp_path / "cases.py"
    content = (
        f"{FLAT}\nfrom pathlib import Path\n\n"
        f'if __file__ != {str(path)!r}:\n    Path({str(path)!r}).write_text("theirs")\n'
    )
    path.write_text(content)

    with pytest.raises(UsageError, match="was changed meanwhile"):
        append(path, {("Mine", "add"): GROUP})
    assert "theirs" == path.read_text()
