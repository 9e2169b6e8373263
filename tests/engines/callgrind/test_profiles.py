"""What a profile says, as values."""

import pytest

from instruction_counts.engines.callgrind.profiles import Call, CallgrindProfile, Function

MAIN = Function("/bin/app", "app.c", "main")
WORK = Function("/bin/app", "work.c", "work")
COPY = Function("/lib/libc.so.6", "copy.S", "copy")


def test_the_library_of_a_function_is_the_base_name_of_its_object() -> None:
    """Two builds keep the same library in different places."""
    assert COPY.library == "libc.so.6"


@pytest.mark.parametrize("name", ["", " f", "\tf", "a\nb", "f'2", "f'2'3"])
def test_a_function_with_a_name_that_no_profile_gives_is_refused(name: str) -> None:
    """It could not be written and read back."""
    with pytest.raises(ValueError, match="name must"):
        Function("???", "???", name)


def test_a_zero_cost_is_left_out() -> None:
    """Having no cost line and costing nothing are the same."""
    assert CallgrindProfile(totals=1, exclusive={MAIN: 1, WORK: 0}).exclusive == {MAIN: 1}


def test_a_negative_cost_is_refused() -> None:
    """Counts only grow."""
    with pytest.raises(ValueError, match="negative"):
        CallgrindProfile(totals=1, exclusive={MAIN: -1})


def test_two_entries_for_one_pair_are_refused() -> None:
    """Calls are sums."""
    with pytest.raises(ValueError, match="summed per caller"):
        CallgrindProfile(
            totals=1, exclusive={}, calls=(Call(MAIN, WORK, 1, 1), Call(MAIN, WORK, 1, 2))
        )


@pytest.mark.parametrize("pair", [("a:b", "c"), ("a", "b\nc"), (" a", "b"), ("a", "b ")])
def test_a_description_that_is_no_key_and_line_is_refused(pair: tuple[str, str]) -> None:
    """It could not be written and read back."""
    with pytest.raises(ValueError, match="a description must"):
        CallgrindProfile(totals=1, exclusive={}, descriptions=(pair,))


def test_a_command_of_two_lines_is_refused() -> None:
    """It could not be written and read back."""
    with pytest.raises(ValueError, match="command must"):
        CallgrindProfile(totals=1, exclusive={}, command="a\nb")
