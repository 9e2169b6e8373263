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
from instruction_counts.core.errors import DefinitionError
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
    assert [path] == list(tmp_path.glob("*.py"))


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
        assert "Mine" == saved(path, GROUP, 'a "quoted" label')[0].label[0]
        assert 1 == path.read_text().count("from core.api")

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
    assert [path] == list(tmp_path.glob("*.py"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("cases.py", "x = ", "SyntaxError"),
        ("cases.py", "x = 1", "BENCHMARKS is missing"),
        ("cases.py", FLAT.replace('GroupedStmts("x")', "GroupedStmts(3)"), "expected  text"),
        ("cases.txt/cases.py", None, "cannot be written: Not a directory"),
        ("../cases", None, "ends in .py"),
    ],
)
def test_a_file_that_cannot_be_extended_is_refused_at_once(
    tmp_path: Path, name: str, content: str | None, message: str
) -> None:
    """Before anything is measured."""
    (tmp_path / "cases.txt").touch()
    if content is not None:
        (tmp_path / name).write_text(content)

    with pytest.raises((DataError, DefinitionError, UsageError), match=message):
        check_appendable(tmp_path / name, [("a",)])


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
