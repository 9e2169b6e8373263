"""Signals that ask the program to end, and output that may be lost; `test_faults` has commands."""

import signal
import sys
import time
from collections.abc import Iterator

import pytest

from instruction_counts.cli.surroundings import interrupts, lossy_streams
from tests.process import ROOT, called

pytestmark = pytest.mark.faults

LATE = """
import os, signal, sys, time
from instruction_counts.cli.surroundings import interrupts

with interrupts(final=True):
    pass
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(0.01)
sys.exit(130)
"""


@pytest.fixture
def own_handlers() -> Iterator[None]:
    """The handlers of this process are put back, whatever a test does to them."""
    numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_interrupts_once(number: int, own_handlers: None) -> None:
    """Each of the three that ask for an end; `timeout` sends it twice. Handlers are put back."""
    before = signal.getsignal(number)
    with interrupts(final=False):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        signal.raise_signal(number)
        time.sleep(0.01)

    assert before is signal.getsignal(number)


def test_a_signal_that_comes_late_changes_no_exit_code() -> None:
    """The program has said how it ended."""
    done = called([sys.executable, "-c", LATE], variables={"PYTHONPATH": str(ROOT)})

    assert 130 == done.returncode


def test_replaced_streams_stay(capsys: pytest.CaptureFixture[str]) -> None:
    """Those of a program that calls this one, or of a test."""
    before = sys.stdout, sys.stderr
    with lossy_streams() as lost:
        assert before == (sys.stdout, sys.stderr)
        sys.stdout.write("shown")

    assert [] == lost
    assert "shown" == capsys.readouterr().out
