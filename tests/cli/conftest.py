"""What every test of a command can rely on."""

import pytest

from tests.cli.program import Program


@pytest.fixture
def program(capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest) -> Program:
    """The program, or the command that the module of a test names as its ``COMMAND``."""
    return Program(capsys, getattr(request.module, "COMMAND", ()))
