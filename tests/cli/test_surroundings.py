"""Signals that ask the program to end; `test_faults` has output that is lost."""

import signal
import sys
import time
from collections.abc import Iterator

import pytest

from instruction_counts.cli.surroundings import interrupts
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


def test_a_signal_that_is_ignored_stays_so(own_handlers: None) -> None:
    """As nohup has it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with interrupts(final=False):
        assert signal.SIG_IGN is signal.getsignal(signal.SIGHUP)


def test_a_signal_that_comes_late_changes_no_exit_code() -> None:
    """The program has said how it ended."""
    done = called([sys.executable, "-c", LATE], variables={"PYTHONPATH": str(ROOT)})

    assert 130 == done.returncode
