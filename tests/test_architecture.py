"""Rules of the code base that a machine can check."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
APPLICATION = sorted((ROOT / "instruction_counts").rglob("*.py"))
CORE = sorted((ROOT / "core").rglob("*.py"))
WORKER = ROOT / "worker" / "main.py"
WORKERS = sorted((ROOT / "worker").glob("*.py"))
STREAMS = {"stdout", "stderr", "__stdout__", "__stderr__"}
INPUT_AND_OUTPUT = {
    "asyncio",
    "http",
    "io",
    "logging",
    "multiprocessing",
    "os",
    "pathlib",
    "random",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "sys",
    "tempfile",
    "threading",
    "time",
}


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


def imported(tree: ast.AST) -> Iterator[str]:
    """The top packages that a module imports, wherever it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def called(tree: ast.AST) -> Iterator[str]:
    """The built-in functions that a module calls by name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


@pytest.mark.parametrize("path", APPLICATION, ids=name_of)
def test_only_the_console_prints(path: Path) -> None:
    """Everything that people read goes through one module."""
    found = list(printing(ast.parse(path.read_text(encoding="utf-8"))))

    assert bool(found) is (name_of(path) == "instruction_counts/cli/console.py")


@pytest.mark.parametrize(
    "text",
    ["print(1)", "sys.stdout.write('')", "sys.__stderr__.writelines([])", "from rich import print"],
)
def test_printing_is_noticed(text: str) -> None:
    """In each of its forms."""
    assert list(printing(ast.parse(text)))


@pytest.mark.parametrize("path", CORE, ids=name_of)
def test_the_core_has_no_input_and_no_output(path: Path) -> None:
    """Values in, values out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))

    assert set() == (set(imported(tree)) & INPUT_AND_OUTPUT) | (
        set(called(tree)) & {"open", "print"}
    )


def test_the_worker_imports_the_standard_library_and_torch() -> None:
    """It runs where nothing else is installed."""
    packages = set(imported(ast.parse(WORKER.read_text(encoding="utf-8"))))

    assert {"torch"} == packages - set(sys.stdlib_module_names)


@pytest.mark.parametrize("path", WORKERS, ids=name_of)
def test_what_runs_in_a_build_imports_nothing_else(path: Path) -> None:
    """Nothing of this project but its neighbours."""
    packages = set(imported(ast.parse(path.read_text(encoding="utf-8"))))

    assert set() == packages - set(sys.stdlib_module_names) - {"torch"}


@pytest.mark.parametrize("path", WORKERS, ids=name_of)
def test_what_runs_in_a_build_is_written_for_the_oldest_python(path: Path) -> None:
    """No syntax of a later version is used."""
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))


def test_the_import_contracts_hold() -> None:
    """One direction: nothing on the left knows anything on its right."""
    script = "import sys; from importlinter.cli import lint_imports_command as run; run()"
    done = subprocess.run(
        [sys.executable, "-c", script, "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stdout


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
