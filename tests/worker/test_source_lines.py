"""Functions in files: found by line and name, with the digests of what a build executes."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from worker.executed import digest
from worker.source_lines import find

TEXT = '''"""A module."""
import sys

sys.imported = True  # nothing imports it


class Linear:
    @staticmethod
    def forward(x):
        """Call it."""
        return [y for y in
                x]

    def outer(self):
        def inner():
            return 1
        return inner


double = lambda x: 2 * x
'''


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with some functions."""
    path = tmp_path / "linear.py"
    path.write_text(TEXT, encoding="utf-8")
    return path


def found(path: Path, line: int, name: str, digest: str = "", file: str = "") -> dict[str, Any]:
    """The only function that is asked for."""
    asked = {"path": str(path), "line": line, "name": name, "file": file, "digest": digest}
    answer = find({"functions": [asked]})
    (only,) = answer["functions"]
    assert isinstance(only, dict)
    return only


@pytest.mark.parametrize(
    ("line", "name", "first", "last", "number"),
    [
        (8, "Linear.forward", "    @staticmethod", "                x]", 5),
        (14, "Linear.outer", "    def outer(self):", "        return inner", 4),
        (15, "Linear.outer.<locals>.inner", "        def inner():", "            return 1", 2),
        (20, "<lambda>", "double = lambda x: 2 * x", "double = lambda x: 2 * x", 1),
    ],
)
def test_a_function_is_found_by_its_line_and_name(
    path: Path, line: int, name: str, first: str, last: str, number: int
) -> None:
    """All its lines, with its decorators."""
    lines = found(path, line, name)["lines"]

    assert (first, last, number) == (lines[0], lines[-1], len(lines))


def test_its_digest_is_that_of_what_is_executed(path: Path) -> None:
    """And nothing of the file was executed to find it."""
    answer = found(path, 8, "Linear.forward")
    assert not hasattr(sys, "imported")
    linear = runpy.run_path(str(path))["Linear"]
    del sys.imported  # type: ignore[attr-defined]

    assert [digest(linear.forward.__code__)] == answer["digests"]


@pytest.mark.parametrize(
    ("line", "name"), [(9, "Linear.forward"), (8, "Linear.backward"), (99, "f"), (1, "<module>")]
)
def test_what_is_not_there_has_changed(path: Path, line: int, name: str) -> None:
    """The line and the name both have to be right."""
    assert {"problem": "changed"} == found(path, line, name)


@pytest.mark.parametrize("data", [b"def f(:\n", b"\x00", b"\xff\xfe", b"(" * 10_000])
def test_what_is_no_python_has_changed(path: Path, data: bytes) -> None:
    """It says so, instead of failing; what is no file, such as a folder, is gone."""
    path.write_bytes(data)

    assert {"problem": "changed"} == found(path, 1, "f")
    for other in (path.parent, path.with_name("nothing.py")):
        assert {"problem": "gone"} == found(other, 1, "f")


def test_a_file_that_another_folder_has_is_found_by_its_package(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As that of a checkout is, if it holds what was executed."""
    folder = tmp_path / "checkout" / "pack_of_mine"
    folder.mkdir(parents=True)
    (folder / "linear.py").write_text(TEXT, encoding="utf-8")
    monkeypatch.syspath_prepend(folder.parent)
    (executed,) = found(path, 8, "Linear.forward")["digests"]
    where = path.with_name("nothing.py"), 8, "Linear.forward"

    assert "lines" in found(*where, executed, "pack_of_mine/linear.py")
    for other, file in (("other", "pack_of_mine/linear.py"), (executed, "no_pack/linear.py")):
        assert {"problem": "gone"} == found(*where, other, file)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("mylib.pth", "# a checkout\n{folder}\n"),
        (
            "__editable___mylib_1_finder.py",
            "MAPPING: dict[str, str] = {{'mylib': '{folder}/mylib'}}",
        ),
    ],
    ids=["path", "finder"],
)
def test_a_checkout_is_found_where_the_folder_of_packages_says(
    tmp_path: Path, path: Path, entry: str, text: str
) -> None:
    """Of another build, too: what was executed there tells whether it is that file."""
    (executed,) = found(path, 8, "Linear.forward")["digests"]
    (tmp_path / "src/mylib").mkdir(parents=True)
    path.rename(tmp_path / "src/mylib/linear.py")
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "a.pth").mkdir()
    (packages / entry).write_text(text.format(folder=tmp_path / "src"), encoding="utf-8")
    asked = packages / "mylib/linear.py", 8, "Linear.forward"

    assert [executed] == found(*asked, executed, "mylib/linear.py")["digests"]
    assert "gone" == found(*asked, "0" * 16, "mylib/linear.py")["problem"]
