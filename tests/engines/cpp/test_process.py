"""Compilers end with what waits for them, and what they say is a failure."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from instruction_counts.domain.outcomes import FailureKind
from instruction_counts.engines.cpp.process import CompilerProcesses, diagnosis
from instruction_counts.engines.cpp.source import CppSource
from tests.process import executable
from tests.waiting import ends_soon

HANGING = """
case "$*" in *c++-header*) sleep 600 & echo $! > child; echo $$ > own; wait ;; esac
"""


def test_an_interrupt_ends_a_compiler_with_what_it_started(tmp_path: Path) -> None:
    """Nobody else knows of it: it runs in a session of its own, which Ctrl-C does not reach."""
    compiler = executable(tmp_path / "g++", HANGING)
    commands = CompilerProcesses(os.environ, timeout_s=600)
    own, child = tmp_path / "own", tmp_path / "child"

    def has_text(path: Path) -> bool:
        return path.exists() and path.stat().st_size > 0

    def interrupt() -> None:
        while not (all(map(has_text, (own, child))) and commands._running):
            time.sleep(0.01)
        time.sleep(0.2)  # until it is waited for
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may ignore it
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        commands.run([compiler, "-x", "c++-header", "prelude.hpp"], tmp_path)
    thread.join()
    signal.signal(signal.SIGINT, before)

    assert ends_soon(int(own.read_text()))
    assert ends_soon(int(child.read_text()))


def test_long_output_keeps_its_end() -> None:
    """The last 4000 characters."""
    output = "stmt:1:5: error: first\n" + "x" * 5000
    failure = diagnosis(output, CppSource("", "", "code"))
    assert "error: first" == failure.message
    assert "x" * 4000 == failure.output


@pytest.mark.parametrize("output", ["", "nonsense", "stmt:99:1: error: beyond the end"])
def test_odd_output_is_still_a_failure(output: str) -> None:
    """Whatever the compiler says."""
    assert FailureKind.COMPILE is diagnosis(output, CppSource("", "", "code")).kind


def test_an_error_in_a_header_is_placed_at_the_line_that_clang_names_after_it() -> None:
    """It says last what asked for the instantiation, where g++ says it first."""
    output = (
        "/usr/include/tiny.h:7:12: error: no member named 'size' in 'int'\n"
        "stmt:2:3: note: in instantiation of function template 'tiny::f<int>' requested here\n"
    )
    failure = diagnosis(output, CppSource("", "", "int x;\n  tiny::f(x);"))
    assert ("stmt line 2", "tiny::f(x);") == (failure.place, failure.code)
