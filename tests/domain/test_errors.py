"""Errors of use: a message with its remedy, which may be a command of this program."""

import pytest

from instruction_counts.domain.errors import DataError, UsageError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UsageError("no case"), "no case"),
        (UsageError("no case", "Name one."), "no case\n  Name one."),
        (UsageError("no case", "See:", "list"), "no case\n  See: python main.py list"),
        (DataError("no file", command="run"), "no file\n  python main.py run"),
    ],
)
def test_the_remedy_calls_the_program_as_the_reader_does(error: UsageError, text: str) -> None:
    """Its command is data, and only who shows it knows how the program was started.

    In a traceback, or in a program that uses the Python interface, it is the installed program.
    """
    assert text == error.text("python main.py")
    assert text.replace("python main.py", "instruction-counts") == str(error)
