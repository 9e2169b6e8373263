"""The name that messages call the program by."""

import pytest

from instruction_counts.system.program import program_name


@pytest.mark.parametrize(
    ("started", "expected"),
    [
        ("main.py", "python main.py"),
        ("/usr/local/bin/instruction-counts", "instruction-counts"),
        ("/site-packages/instruction_counts/__main__.py", "python -m instruction_counts"),
        ("/site-packages/pytest/__main__.py", "instruction-counts"),
        ("notebook.py", "instruction-counts"),
    ],
)
def test_messages_use_the_name_that_the_program_was_started_with(
    started: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they say can be copied and works."""
    monkeypatch.setattr("sys.argv", [started])

    assert expected == program_name()
