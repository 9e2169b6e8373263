"""The worker's parts that need neither torch nor a process of their own."""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from worker.main import (
    Channel,
    CodeSeen,
    MeasurementError,
    PythonLoop,
    _links_not_followed,
    _search_through_links,
    as_value,
)
from worker.times import compiler_failure, place_of


def case(**parts: str) -> dict[str, Any]:
    """A case as the protocol carries it."""
    return {"stmt": "", "setup": "", "global_setup": "", **parts}


# The channel


def test_messages_are_received_one_by_one() -> None:
    """However they come; what is no whole message before the end is none. Each is one line."""
    (read_fd, requests), (answers, write_fd) = os.pipe(), os.pipe()
    channel = Channel(read_fd, write_fd)
    channel.send({"text": "two\nlines"})
    assert b'{"text": "two\\nlines"}\n' == os.read(answers, 1000)
    os.write(requests, b'{"n": 1}\n{"n":')
    first = channel.receive()
    os.write(requests, b' 2}\n{"type": "fork"')
    second = channel.receive()
    os.close(requests)

    assert [{"n": 1}, {"n": 2}, None] == [first, second, channel.receive()]
    for descriptor in (read_fd, answers, write_fd):
        os.close(descriptor)


# Results as values


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (ValueError("bad"), {"kind": "exception", "message": "ValueError: bad"}),
        (KeyboardInterrupt(), {"kind": "exception", "message": "KeyboardInterrupt"}),
        # One that is described is passed on as it is.
        (
            MeasurementError({"kind": "refused", "message": "no", "place": "x", "code": "y"}),
            {"kind": "refused", "message": "no", "place": "x", "code": "y"},
        ),
    ],
)
def test_whatever_is_raised_is_a_failure(error: BaseException, failure: dict[str, str]) -> None:
    """Also what programs end with; a result is ok, with what the function returned."""

    def function(_: dict[str, Any]) -> dict[str, Any]:
        raise error

    described = {"place": "", "code": "", **failure}

    assert {"status": "failed", "failure": described} == as_value(function, {})
    assert {"status": "ok", "asked": 3} == as_value(lambda one: {"asked": one["n"]}, {"n": 3})


# Places in the user's code


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("x + y;", "stmt line 2"),
        ("auto x = 1;", "setup line 1"),
        ("#include <vector>", "global_setup line 3"),
        ("y;", "stmt line 3"),
        ("z;", ""),
        ("", ""),
    ],
)
def test_a_line_is_found_in_its_part(code: str, place: str) -> None:
    """However it is indented there; in the statement first, which is what is measured."""
    parts = case(
        stmt="// first\n    x + y;\ny;",
        setup="auto x = 1;\ny;",
        global_setup="\n\n#include <vector>",
    )

    assert place == place_of(code, parts)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("\na.cpp:2:5: warning: x\na.cpp:3:9: error: 'f' unknown\n", "error: 'f' unknown"),
        ("\na.cpp:4:10: fatal error: no f.h\na.cpp:5:1: error: y", "error: no f.h"),
        ("\n/x.h:3: error: old\n", "error: old"),
        ("the end", "the C++ compiler failed"),
    ],
)
def test_the_first_error_of_a_compiler_is_reported(output: str, message: str) -> None:
    """Torch shows all of the output, after its own lines; the last of it is kept."""
    failure = compiler_failure("x" * 10_000 + output)

    assert message == failure["message"]
    assert "x" * (4000 - len(output)) + output == failure["output"]


def test_links_to_a_build_are_not_followed_while_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python keeps the real path of each module, whose length would move what lies behind it.

    Elsewhere and afterwards they are: a case sees the paths that there are.
    """
    target, linked, elsewhere = (tmp_path / name for name in ("target", "work/build", "elsewhere"))
    target.mkdir()
    linked.parent.mkdir()
    linked.symlink_to(target)
    elsewhere.symlink_to(target)
    monkeypatch.chdir(linked.parent)
    paths = (linked / "x" / "..", str(linked), b"/", elsewhere)
    with _links_not_followed():
        found = [os.path.realpath(path) for path in paths]

    assert [str(linked), str(linked), b"/", str(target)] == found
    assert str(target) == os.path.realpath(linked)


def test_what_lies_elsewhere_is_searched_through_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each in its place; what Python knew of it is forgotten."""
    monkeypatch.setattr(sys, "path", ["/a", "/b"])
    monkeypatch.setattr(sys, "path_importer_cache", {"/a": None, "/b": None})
    _search_through_links({"1": "/links/path-01"})

    assert (["/a", "/links/path-01"], {"/a": None}) == (sys.path, sys.path_importer_cache)


# The loop of a Python case


def run_loop(
    stmt: str, setup: str = "", lengths: tuple[int, ...] = (2, 3)
) -> tuple[list[str], list[str]]:
    """What happens in a loop whose case calls ``happens``: when idle, then in its windows."""
    idle, events = list[str](), list[str]()
    idle_hooks, hooks = (
        [partial(where.append, name) for name in ("begin", "end")] for where in (idle, events)
    )
    loop = PythonLoop(case(stmt=stmt, setup=f"happens = events.append\n{setup}"), idle_hooks)
    loop._function.__globals__["events"] = events
    loop.run(list(lengths), hooks)
    return idle, events


def test_a_loop_runs_the_setup_and_then_its_windows() -> None:
    """The hooks stand around each, after others when it warmed up idle; a case finds torch."""
    idle, events = run_loop("happens(torch.__name__)", "happens('setup')", (2, 0, 1))

    assert ["begin", "end"] * 40 == idle
    runs = [["torch", "torch"], [], ["torch"]]
    assert ["setup", *(event for run in runs for event in ("begin", *run, "end"))] == events


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"""a\n  b\n\nc"""', "a\n  b\n\nc"),
        ("f'''a\n{1 +\n 1}'''", "a\n2"),
        ("'a\\\n b'", "a b"),
        ("('a'\n'''b\n''')", "ab\n"),
    ],
)
def test_strings_of_several_lines_are_what_they_are(text: str, value: str) -> None:
    """The code around them becomes a block; they do not."""
    stmt = f"if True:\n  happens({text})\n  happens('end')"
    _, events = run_loop(stmt, f"x = {text}; happens(x)\nif x:\n    happens(x)", (1,))

    assert [value, value, "begin", value, "end", "end"] == events


def test_code_of_a_case_has_no_future_statement_of_the_worker() -> None:
    """What reads its annotations, as custom operators of torch do, finds types and no texts."""
    _, events = run_loop("happens(f.__annotations__['a'].__name__)", "def f(a: int): pass", (1,))

    assert ["begin", "int", "end"] == events


def test_a_window_may_decide_how_long_the_next_one_is() -> None:
    """Lengths are read when they are due."""
    lengths, seen = [1, 1], list[int]()

    def end() -> None:
        lengths[1] = 5

    loop = PythonLoop(case(stmt="seen.append(1)"), (list, list))
    loop._function.__globals__["seen"] = seen
    loop.run(lengths, (list, end))

    assert 6 == len(seen)


def test_the_code_that_a_loop_enters_is_seen() -> None:
    """Its own and what it calls, in runs that belong to no window; then nothing looks any more."""
    found: list[Any] = []
    setup = "def called(): pass\ndef not_called(): pass"
    loop = PythonLoop(case(stmt="called()", setup=setup), (list, list))
    begun: list[int] = []
    loop.run([1, 1], (lambda: begun.append(len(found)), list), CodeSeen(found.append))

    names = [code.co_name for code in found]
    assert {"ic_case", "called"} <= {*names}
    assert "not_called" not in names
    assert [len(found)] * 2 == begun
    assert sys.getprofile() is None
    if sys.version_info >= (3, 12):
        assert [None] * 6 == [sys.monitoring.get_tool(tool) for tool in range(6)]


DIVIDED = "ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("stmt", "setup", "message", "place", "code"),
    [
        ("1 / 0", "a = 1\n\n", DIVIDED, "stmt line 1", "1 / 0"),
        ("x = (\n    1 /\n    0\n)", "", DIVIDED, "stmt line 2", "1 /"),
        ("x", "a = 1\n1 / 0\nb = 2\n", DIVIDED, "setup line 3", "1 / 0"),
        ("f()", "def f():\n    return 1 / 0", DIVIDED, "setup line 3", "return 1 / 0"),
        # Where in a library it was raised says less than the line that called it.
        (
            *("import fractions\nfractions.Fraction(1, 0)", ""),
            *("ZeroDivisionError: Fraction(1, 0)", "stmt line 2", "fractions.Fraction(1, 0)"),
        ),
        # Only line breaks end a line.
        ("a = '\x0c \x85 \u2028'\n1 / 0", "", DIVIDED, "stmt line 2", "1 / 0"),
        # What does not compile is placed before anything of it runs.
        ("x = = 1", "", "SyntaxError: invalid syntax", "stmt line 1", "x = = 1"),
        ("x", "y = (", "SyntaxError: '(' was never closed", "setup line 2", "y = ("),
        # What is wrong is in a file of somebody else.
        (
            *("compile('y = (', 'lib.py', 'exec')", ""),
            *("SyntaxError: '(' was never closed (lib.py, line 1)", "stmt line 1"),
            "compile('y = (', 'lib.py', 'exec')",
        ),
        # It would end the child without a result.
        (
            "import sys\nsys.exit(0)",
            *("", "SystemExit: the code called sys.exit(0)", "stmt line 2", "sys.exit(0)"),
        ),
    ],
)
def test_the_users_line_of_a_failure_is_named(
    stmt: str, setup: str, message: str, place: str, code: str
) -> None:
    """Also in statements of several lines."""
    with pytest.raises(MeasurementError) as caught:
        run_loop(stmt, setup)

    found = [caught.value.failure[name] for name in ("message", "place", "code")]
    assert [message, place, code] == found
