"""Cases as they are defined."""

from __future__ import annotations

import json

from instruction_counts.report.cases import as_json, code_of
from tests.fakes import make_case

CASE = make_case("Group", "add")


def test_a_case_has_its_identity_and_its_code() -> None:
    """With the keys that result files have."""
    found = json.loads(json.dumps(as_json(CASE)))

    assert list(CASE.label) == found["label"]
    assert CASE.definition_hash == found["definition_hash"]
    assert CASE.timer_args.stmt == found["stmt"]


def test_each_part_of_the_code_has_a_name() -> None:
    """What is empty is not shown."""
    found = dict(code_of(CASE))

    assert CASE.definition_hash == found["definition"]
    assert CASE.timer_args.stmt == found["statement"]
    assert "" not in found.values()
