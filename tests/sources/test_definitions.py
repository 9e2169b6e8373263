"""Loading definition files: modules, files, and every mistake that one can hold."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from instruction_counts import core
from instruction_counts.core import api, errors
from instruction_counts.core.errors import DefinitionError
from instruction_counts.core.runtimes import torchscript
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.definitions import dsl_names, load

LIKE_PYTORCH = Path(__file__).parents[1] / "fixtures" / "like_pytorch.py"


def written(folder: Path, text: str) -> str:
    """A definition file; its path."""
    path = folder / "cases.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def message_of(name: str) -> str:
    """The error that loading ``name`` gives."""
    with pytest.raises((UsageError, DefinitionError)) as caught:
        load(name)
    return str(caught.value)


def test_a_file_in_the_style_of_pytorch_is_loaded_unchanged() -> None:
    """Eager and scripted, forward and backward, in both languages, at one and two threads."""
    cases = load(str(LIKE_PYTORCH))

    assert 55 == len(cases)
    assert 2 == len({case.autolabels.language for case in cases})


def test_two_files_of_one_name_are_not_mixed_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is run when it is loaded, from where the user is."""
    labels = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        Path("cases.py").write_text(
            f"from core.api import TimerArgs\nBENCHMARKS = {{{folder!r}: TimerArgs('x')}}"
        )
        labels += [case.label for case in load("cases.py")]

    assert [("one",), ("two",)] == labels


def test_a_file_imports_its_neighbours_as_they_are_now(tmp_path: Path) -> None:
    """As a script can; the search path is as it was afterwards."""
    file = tmp_path / "cases.py"
    file.write_text(
        "from core.api import TimerArgs\nfrom sizes_of_my_cases import SIZE\n"
        "BENCHMARKS = {str(SIZE): TimerArgs('x')}"
    )
    before, labels = [*sys.path], []
    for size in (8, 9):
        (tmp_path / "sizes_of_my_cases.py").write_text(f"SIZE = {size}")
        labels += [case.label for case in load(str(file))]

    assert [("8",), ("9",)] == labels
    assert before == sys.path


@pytest.mark.parametrize(
    ("benchmark", "message"),
    [
        (
            'GroupedStmts("z = x + y",\n    signature="f(x, y) - > z")',
            ', line 4: signature\n  found     "f(x, y) - > z"\n  expected  "f(a, b, …) -> output"',
        ),
        ('TimerArgs("x @ y", language="Rust")', ', line 4: language\n  found     "Rust"\n'),
        ('GroupedVariants(*parse_stmts("x"))', ", line 4: parse_stmts\n"),
        ("None", ": BENCHMARKS['Pointwise']['add'].value\n  found     None (NoneType)\n"),
    ],
)
def test_a_mistake_names_file_place_found_and_expected(
    tmp_path: Path, benchmark: str, message: str
) -> None:
    """The line of what cannot be made, or the label of what cannot stand there."""
    imports = "from core.api import *\nfrom core.utils import parse_stmts\n"
    path = written(tmp_path, f'{imports}BENCHMARKS = {{"Pointwise": {{"add":\n{benchmark},\n}}}}\n')

    assert message_of(path).startswith(f"{path}{message}")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cases.yaml", "--definitions: file not found: cases.yaml"),
        ("cases_not_there.py", "--definitions: file not found: cases_not_there.py"),
        ("no_such_module_here", '--definitions: no module named "no_such_module_here"'),
        ("definitions.standard.deeper", 'no module named "definitions.standard.deeper"'),
    ],
)
def test_what_is_not_there_is_named(name: str, expected: str) -> None:
    """With what could be given instead."""
    assert expected in message_of(name)


def test_a_path_that_is_no_python_file_is_taken_for_nothing_else(tmp_path: Path) -> None:
    """A folder, whatever it is called, and a file with another ending."""
    (tmp_path / "cases.py").mkdir()
    (tmp_path / "cases.txt").write_text("BENCHMARKS = {}")

    assert "file not found" in message_of(str(tmp_path / "cases.py"))
    assert "is not a Python file" in message_of(str(tmp_path / "cases.txt"))


@pytest.mark.parametrize("text", ["", "BENCHMARK = {}", "BENCHMARKS = 3", "BENCHMARKS = [1]"])
def test_a_file_without_benchmarks_says_so(tmp_path: Path, text: str) -> None:
    """It has to hold a mapping of that name."""
    path = written(tmp_path, text)

    assert (
        f"{path}: BENCHMARKS is missing, or not a mapping\n"
        "  For an example, see definitions/ad_hoc.py." == message_of(path)
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\n\nx = = 2\n", ", line 3: SyntaxError: invalid syntax"),
        ("def f():\n    return 1 / 0\n\nf()\n", ", line 2: ZeroDivisionError: division by zero"),
        ("import no_helper", ", line 1: ModuleNotFoundError: No module named 'no_helper'"),
        ("import sys\nsys.exit(3)", ", line 2: SystemExit: 3"),
        ("import definitions.setup as s\ns.Setup['NO_SUCH']", ", line 2: KeyError: 'NO_SUCH'"),
        # Without an end there are no cases.
        ("BENCHMARKS = {}\nBENCHMARKS['a'] = BENCHMARKS", ": BENCHMARKS is nested too deeply, or"),
    ],
)
@pytest.mark.faults
def test_a_file_that_fails_names_the_line(tmp_path: Path, text: str, expected: str) -> None:
    """The last line of the file itself that was being run, where there is one."""
    path = written(tmp_path, text)

    assert message_of(path).startswith(f"{path}{expected}")
    assert message_of(path).endswith("\n  Fix the definition file.")


def test_a_file_does_not_replace_the_streams(tmp_path: Path) -> None:
    """This program still needs them."""
    before = sys.stdout, sys.stderr
    message_of(written(tmp_path, "import sys\nsys.stdout = sys.stderr = None"))

    assert before == (sys.stdout, sys.stderr)


def test_what_a_file_prints_is_no_part_of_a_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Results may be JSON or CSV on standard output."""
    message_of(written(tmp_path, "print('hello')"))

    assert ("", "hello\n") == capsys.readouterr()


def test_an_interrupt_is_none_of_the_file(tmp_path: Path) -> None:
    """It ends the program."""
    with pytest.raises(KeyboardInterrupt):
        load(written(tmp_path, "raise KeyboardInterrupt"))


def test_a_module_is_not_said_to_be_absent_when_its_own_import_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the names begin alike."""
    (tmp_path / "my_cases_today.py").write_text("import my_cases")
    monkeypatch.syspath_prepend(tmp_path)

    assert "No module named 'my_cases'" in message_of("my_cases_today")


def test_the_core_has_one_copy_of_each_module() -> None:
    """A class of a second copy would be no class of the first."""
    with dsl_names():
        found = [
            importlib.import_module(name)
            for name in ("core", "core.api", "core.errors", "core.runtimes.torchscript")
        ]

    assert list(map(id, (core, api, errors, torchscript))) == list(map(id, found))


def test_packages_of_the_same_names_are_back_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of somebody else's program."""
    others = {name: ModuleType(name) for name in ("core", "core.api", "definitions")}
    for name, module in others.items():
        monkeypatch.setitem(sys.modules, name, module)
    before = list(sys.path)

    with dsl_names():
        assert importlib.import_module("core.api") is api

    assert others == {name: sys.modules[name] for name in others}
    assert before == sys.path
