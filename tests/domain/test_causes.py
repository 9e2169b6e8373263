"""What makes causes of different cases the same one."""

from typing import Any

import attrs
import pytest

from instruction_counts.domain.causes import Cause, CauseKind

FORWARD = Cause(CauseKind.PYTHON, "Linear.forward", 20, 30, where="torch/linear.py", line=130)
MALLOC = Cause(CauseKind.NATIVE, "malloc", 31, 62, where="libc.so.6")


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [
        *(({"line": 140}, True), ({"base": 40, "new": 60}, True), ({"new": 5}, True)),
        # Of that name in another file, too.
        *(({"where": "torch/other.py"}, False), ({"name": "Linear.reset"}, False)),
        ({"kind": CauseKind.NATIVE}, False),
    ],
)
def test_a_python_function_is_the_same_wherever_it_stands_in_its_file(
    changes: dict[str, Any], *, is_same: bool
) -> None:
    """However often it is called, and whichever way it goes."""
    assert is_same is (FORWARD.identity == attrs.evolve(FORWARD, **changes).identity)


def test_a_native_function_that_costs_less_is_another_cause_than_one_that_costs_more() -> None:
    """Hardly one change does both. What is not executed on a side costs nothing there."""
    assert MALLOC.identity == attrs.evolve(MALLOC, new=310).identity
    assert MALLOC.identity != attrs.evolve(MALLOC, new=5).identity
    assert (62, -31) == (
        attrs.evolve(MALLOC, base=None).change,
        attrs.evolve(MALLOC, new=None).change,
    )
