"""What a run measures beside counts and times."""

from __future__ import annotations

import attrs
import pytest

from instruction_counts.core.facts import Operator
from instruction_counts.session.running import RunRequest
from tests.fakes import make_case

CASE = make_case("Group", "add", metadata={"operator": "torch.add"})
OPERATOR = attrs.evolve(CASE, subject=Operator("torch.add"))


@pytest.mark.parametrize(
    ("asked", "expected"), [(None, [False, True]), (True, [True, True]), (False, [False, False])]
)
def test_resources_are_those_of_operators_unless_something_is_asked_for(
    asked: bool | None, expected: list[bool]
) -> None:
    """They take time, and other cases have no figures to compare them with.

    Metadata make no operator of a case.
    """
    request = RunRequest((CASE, OPERATOR), (), resources=asked)

    assert expected == [request.wants_resources(case) for case in request.cases]
