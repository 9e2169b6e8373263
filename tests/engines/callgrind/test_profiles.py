"""What a profile says, as values."""

from collections.abc import Callable

import pytest

from instruction_counts.engines.callgrind.profiles import Call, CallgrindProfile, Function

MAIN = Function("/bin/app", "app.c", "main")
WORK = Function("/bin/app", "work.c", "work")
COPY = Function("/lib/libc.so.6", "copy.S", "copy")


def test_the_library_of_a_function_is_the_base_name_of_its_object() -> None:
    """Two builds keep the same library in different places."""
    assert COPY.library == "libc.so.6"


def test_a_zero_cost_is_left_out() -> None:
    """Having no cost line and costing nothing are the same."""
    assert CallgrindProfile(totals=1, exclusive={MAIN: 1, WORK: 0}).exclusive == {MAIN: 1}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *(
            (lambda name=name: Function("???", "???", name), "name must")
            for name in ("", " f", "\tf", "a\nb", "f'2", "f'2'3")
        ),
        *(
            (lambda pair=pair: CallgrindProfile(1, {}, descriptions=(pair,)), "a description must")
            for pair in (("a:b", "c"), ("a", "b\nc"), (" a", "b"), ("a", "b "))
        ),
        (lambda: CallgrindProfile(1, {}, command="a\nb"), "command must"),
        # Counts only grow, and calls are sums.
        (lambda: CallgrindProfile(1, {MAIN: -1}), "negative"),
        (
            lambda: CallgrindProfile(1, {}, (Call(MAIN, WORK, 1, 1), Call(MAIN, WORK, 1, 2))),
            "summed per caller",
        ),
    ],
)
def test_what_no_profile_says_is_refused(make: Callable[[], object], message: str) -> None:
    """It could not be written and read back."""
    with pytest.raises(ValueError, match=message):
        make()
