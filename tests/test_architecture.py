"""Rules of the code base that a machine can check."""

import ast
import graphlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import grimp
import pytest

from tests.process import ROOT

APPLICATION = sorted((ROOT / "instruction_counts").rglob("*.py"))
CORE = sorted({*(ROOT / "core").rglob("*.py")} - {ROOT / "core" / "__init__.py"})
WORKERS = sorted((ROOT / "worker").glob("*.py"))
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}


def tree_of(path: Path) -> ast.AST:
    """A module, parsed."""
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """The path as it is called in the repository."""
    return str(path.relative_to(ROOT))


def printing(tree: ast.AST) -> Iterator[str]:
    """What in a module writes to the terminal on its own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "print":
                yield f"line {node.lineno}: print"
        elif isinstance(node, ast.Attribute) and node.attr in {"write", "writelines"}:
            stream = node.value
            if isinstance(stream, ast.Attribute) and stream.attr in STREAMS:
                yield f"line {node.lineno}: {stream.attr}.{node.attr}"
        elif isinstance(node, ast.ImportFrom) and node.module == "rich":
            yield from (
                f"line {node.lineno}: {name.name}" for name in node.names if name.name == "print"
            )


def imports_of(node: ast.AST) -> Iterator[tuple[str, ...]]:
    """What a module imports anywhere, but for the sake of types; each as what it may be called."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Import):
        yield from ((alias.name,) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield from ((f"{node.module}.{alias.name}", node.module) for alias in node.names)
    for below in ast.iter_child_nodes(node):
        yield from imports_of(below)


def circle_in(*packages: str) -> list[str]:
    """A circle of files that import each other, but for types; empty where there is none."""
    found = grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)
    graph = {name: found.find_modules_directly_imported_by(name) for name in found.modules}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


def test_no_files_import_each_other_in_a_circle() -> None:
    """Late imports count, too: they hide a circle and do not break it."""
    assert [] == circle_in("definitions", "instruction_counts", "worker")


@pytest.mark.parametrize(
    ("text", "is_circle"),
    [
        ("import toy.a", True),
        ("def f():\n    from toy.a import one", True),
        ("import toy.c", False),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from toy.a import one", False),
    ],
)
def test_a_circle_is_noticed(
    text: str, is_circle: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is closed; types alone close none."""
    (tmp_path / "toy").mkdir()
    for name, code in {"__init__": "", "a": "from toy.b import two", "b": text, "c": ""}.items():
        (tmp_path / "toy" / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)

    assert is_circle is bool(circle_in("toy"))


PURE = ("analysis", "domain", "history", "report")
OUTSIDE = (
    *("gzip", "httpx", "io", "os", "shutil", "socket", "sqlalchemy", "subprocess", "tempfile"),
    *("urllib", "instruction_counts.storage", "instruction_counts.system"),
)
OUTSIDE_CORE = (
    *(*OUTSIDE, "asyncio", "http", "logging", "multiprocessing", "pathlib", "random", "signal"),
    *("sys", "threading", "time"),
)
NAMES_ONLY = ("instruction_counts.system.program",)
READS_OR_WRITES = (
    *("iterdir", "mkdir", "open", "read_bytes", "read_text", "touch", "unlink"),
    *("write_bytes", "write_text"),
)


def reaching_out(tree: ast.AST, outside: Sequence[str] = OUTSIDE) -> Iterator[str]:
    """What in a module reads, writes, or imports what does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in READS_OR_WRITES:
                yield f"line {node.lineno}: {name}"
    for *_, module in imports_of(tree):
        if module not in NAMES_ONLY and f"{module}.".startswith(
            tuple(f"{name}." for name in outside)
        ):
            yield f"it imports {module}"


@pytest.mark.parametrize(
    "path", [path for path in APPLICATION if path.parts[len(ROOT.parts) + 1] in PURE], ids=name_of
)
def test_judging_and_rendering_read_and_write_nothing(path: Path) -> None:
    """Values in, values out: what is read is read before, what is written is written after."""
    assert [] == list(reaching_out(tree_of(path)))


@pytest.mark.parametrize("path", CORE, ids=name_of)
def test_the_core_has_no_input_and_no_output(path: Path) -> None:
    """Nor a clock or a thread."""
    tree = tree_of(path)

    assert [] == [*reaching_out(tree, OUTSIDE_CORE), *printing(tree)]


@pytest.mark.parametrize("path", APPLICATION, ids=name_of)
def test_only_the_console_prints(path: Path) -> None:
    """Everything that people read goes through one module."""
    is_console = name_of(path) == "instruction_counts/cli/console.py"

    assert is_console is bool(list(printing(tree_of(path))))


@pytest.mark.parametrize(
    ("finds", "text"),
    [
        (reaching_out, "open(path)"),
        (reaching_out, "def f():\n    import httpx"),
        (reaching_out, "from os import path"),
        (reaching_out, "from instruction_counts.storage import store"),
        (printing, "print(1)"),
        (printing, "sys.stdout.write('')"),
        (printing, "from rich import print"),
    ],
)
def test_what_a_module_must_not_do_is_noticed(
    finds: Callable[[ast.AST], Iterator[str]], text: str
) -> None:
    """In a call and in an import."""
    assert list(finds(ast.parse(text)))


@pytest.mark.parametrize("path", WORKERS, ids=name_of)
def test_what_runs_in_a_build_imports_nothing_else(path: Path) -> None:
    """Nothing of this project but its neighbours."""
    packages = {name.partition(".")[0] for *_, name in imports_of(tree_of(path))}

    neighbours = {worker.stem for worker in WORKERS}
    assert set() == packages - set(sys.stdlib_module_names) - neighbours - {"torch"}


@pytest.mark.parametrize("path", WORKERS, ids=name_of)
def test_what_runs_in_a_build_is_written_for_the_oldest_python(path: Path) -> None:
    """No syntax of a later version is used."""
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


COMMANDS = sorted(
    {
        *(ROOT / "instruction_counts" / "cli").glob("*_command.py"),
        *(ROOT / "instruction_counts" / "cli").glob("*/*.py"),
    }
)


@pytest.mark.parametrize("path", COMMANDS, ids=name_of)
def test_a_command_is_short(path: Path) -> None:
    """It parses, calls one use case, renders, and returns an exit code."""
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 120
