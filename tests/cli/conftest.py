"""What every test of a command can rely on."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.cli.program import Program


@pytest.fixture(autouse=True)
def keep_signals() -> Iterator[None]:
    """The program takes SIGTERM as an interrupt; the tests' own process does not."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Program:
    """The program, or the command that the module of a test names as its ``COMMAND``."""
    return Program(capsys, getattr(request.module, "COMMAND", ()))
