"""What one iteration executes, as the worker sees it in a real Python and a real torch."""

import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch

from worker.executed import CASE_FILE, GENERATED, Bytecodes, Operators, digest, observe
from worker.main import PythonLoop

UUID = "0f8fad5b_d9cb_469f_a165_70867728950e"


def functions(stmt: str, setup: str = "") -> dict[str, dict[str, Any]]:
    """The functions that a statement executes, by name."""
    loop = PythonLoop({"stmt": stmt, "setup": setup}, (list, list))
    seen = Bytecodes(*loop.statement)
    observe(loop.run, [seen])
    return {row["name"]: row for row in seen.rows()}


def operators(stmt: str, setup: str = "") -> dict[tuple[str, bool], int]:
    """Operators that a statement calls: name and whether backward -> calls."""
    seen = Operators(torch)
    observe(PythonLoop({"stmt": stmt, "setup": setup}, (list, list)).run, [seen])
    return {(row["name"], row["backward"]): row["calls"] for row in seen.rows()}


def module(folder: Path, name: str, text: str) -> str:
    """A module below a folder, and the setup that imports it from there."""
    path = folder / f"{name.replace('.', '/')}.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return f"import sys; sys.path.insert(0, {str(folder)!r}); import {name}"


def test_a_statement_is_a_function_of_its_own_wherever_it_stands() -> None:
    """The loop around it and the setup are none of it.

    Each line executes as much as the other; neither specialisation nor caches show.
    """
    one, two, three = (functions("\n".join(["a + a"] * n), "a = 1")["statement"] for n in (1, 2, 3))

    assert one["file"] == CASE_FILE
    assert three["bytecodes"] - two["bytecodes"] == two["bytecodes"] - one["bytecodes"] > 0
    assert {"statement": one} == functions(
        "a + a", "a = 1\nb = 2\n\nfor c in range(9):\n    b += c"
    )


@pytest.mark.parametrize(("name", "after"), [("pack", ""), ("hooked", "; sys.path.pop(0)")])
def test_a_function_stands_where_its_package_does(tmp_path: Path, name: str, after: str) -> None:
    """Not where that is installed, nor how it was found: a hook finds what is on no path."""
    setup = module(tmp_path, f"{name}.inner", "\n\ndef f():\n    return 1\n")
    row = functions(f"{name}.inner.f()", setup + after)["f"]

    assert row["file"] == f"{name}/inner.py"
    assert row["line"] == 3


def test_what_is_compiled_for_a_case_does_not_stand_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has another number in each child, and lies beside the worker's package there."""
    monkeypatch.setattr(sys.modules["worker"], "__path__", [str(tmp_path / "times-compiled")])
    file = str(tmp_path / "times-compiled" / "caches-000005" / "oz" / "coz.py")
    code = f"names = {{}}\nexec(compile('def f(): return 1', {file!r}, 'exec'), names)"

    assert "coz.py" == functions("f()", f"{code}\nf = names['f']")["f"]["file"]


def test_what_a_function_executes_is_its_own(tmp_path: Path) -> None:
    """Calls add up; a generator that was started before is entered again."""
    text = "def f():\n    return 1\ndef numbers():\n    while True:\n        yield 1\n"
    setup = module(tmp_path, "called", text) + "\ng = called.numbers()"
    once, twice = (functions("\n".join(["called.f()"] * n), setup)["f"] for n in (1, 2))

    assert twice["bytecodes"] == 2 * once["bytecodes"]
    assert functions("next(g)", setup)["numbers"]["bytecodes"] > 0


@pytest.mark.parametrize(
    "file", ["<made>", str(Path(tempfile.gettempdir(), "tmpx1.py"))], ids=["none", "temporary"]
)
def test_generated_code_is_known_by_its_digest(file: str) -> None:
    """Its file is a name that anybody could have given, or one of each process."""
    code = f"compile('def f(): return 1', {file!r}, 'exec')"
    setup = f"names = {{}}\nexec({code}, names)\nf = names['f']"
    other = setup.replace("return 1", "return 2")
    rows = [functions("f()", text)["f"] for text in (setup, other)]

    assert rows[0]["file"] == GENERATED
    assert rows[0]["digest"] != rows[1]["digest"]


def test_an_iteration_that_raises_says_where() -> None:
    """As it does when it is counted."""
    with pytest.raises(Exception) as raised:  # noqa: PT011  (of the worker, or of the user)
        functions("1 / 0")

    assert "division by zero" in str(vars(raised.value))


def digest_of(text: str) -> str:
    """That of the function ``f`` in some code."""
    names: dict[str, Any] = {}
    exec(text, names)  # noqa: S102
    return str(digest(names["f"].__code__))


ADDS = "def f(a): return a + 1"
CALLS = f"def f(a): return __compiled_fn_3_{UUID}(a)"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        # An edit above it changes nothing in it.
        (ADDS, f"\n\n\n{ADDS}", True),
        (ADDS, "def f(a): return a + 2", False),
        (ADDS, "def f(a): return a - 1", False),
        (ADDS, "def f(a): return a + 1.0", False),
        (ADDS, "def f(b): return b + 1", False),
        # A docstring takes no part; the first constant of other code may be a text that it uses.
        ("def f(a):\n    'A'\n    return a", "def f(a):\n    'B'\n    return a", True),
        ("def f(a): return ['A' for _ in a]", "def f(a): return ['B' for _ in a]", False),
        ("def f():\n    class A: x = 1", "def f():\n    class B: x = 1", False),
        # Dynamo gives graphs names of a number and a random one; another graph has another name.
        (CALLS, f"def f(a): return __compiled_fn_12_{UUID.replace('0', '1')}(a)", True),
        (CALLS, "def f(a): return __compiled_fn(a)", True),
        (CALLS, "def f(a): return __other_fn(a)", False),
        # Of what it defines, what has a name has a digest of its own.
        ("def f():\n    def g(): return 1", "def f():\n    def g(): return 2", True),
        ("def f():\n    class A: x = 1", "def f():\n    class A: x = 2", True),
        ("def f(): return lambda: 1", "def f(): return lambda: 2", False),
    ],
    ids=[
        *("moved", "constant", "instruction", "type", "name"),
        *("docstring", "comprehension", "class", "another process", "by itself", "another graph"),
        *("inner function", "body of a class", "lambda"),
    ],
)
def test_a_digest_depends_on_what_a_function_does(one: str, other: str, is_same: bool) -> None:
    """Constants, instructions, types and names; not what differs from process to process."""
    assert is_same is (digest_of(one) == digest_of(other))


def test_operators_are_counted_with_those_that_they_call() -> None:
    """As torch dispatches them."""
    found = operators("torch.nn.functional.linear(x, x)", "import torch\nx = torch.ones(2, 2)")

    assert (1, 1) == (found["aten::linear", False], found["aten::t", False])


def test_operators_of_the_backward_pass_are_told_apart() -> None:
    """By the node of the graph that calls them."""
    setup = "import torch\nx = torch.ones(2, 2, requires_grad=True)"
    stmt = "with torch.autograd.profiler.record_function('my::range'):\n"
    found = operators(f"{stmt}    x.sin().sum().backward()", setup)

    # Nodes of the graph, and ranges that people name, are no operators.
    assert [] == [name for name, _ in found if not name.startswith("aten::")]
    assert found["aten::sin", False] == 1
    assert found["aten::cos", True] == 1
    assert ("aten::cos", False) not in found
