"""What a profile says, as values."""

from instruction_counts.engines.callgrind.profiles import CallgrindProfile, Function

MAIN = Function("/bin/app", "app.c", "main")
WORK = Function("/bin/app", "work.c", "work")
COPY = Function("/lib/libc.so.6", "copy.S", "copy")


def test_the_library_of_a_function_is_the_base_name_of_its_object() -> None:
    """Two builds keep the same library in different places."""
    assert COPY.library == "libc.so.6"


def test_a_zero_cost_is_left_out() -> None:
    """Having no cost line and costing nothing are the same."""
    assert CallgrindProfile(totals=1, exclusive={MAIN: 1, WORK: 0}).exclusive == {MAIN: 1}
