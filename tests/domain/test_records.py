"""Records, and what is known of their builds."""

import attrs

from instruction_counts.core.api import GroupedSetup, GroupedStmts
from instruction_counts.core.expand import materialize
from instruction_counts.domain.build import completed
from instruction_counts.domain.records import Record
from tests.fakes import FINGERPRINT, OK


def test_what_is_known_only_later_is_taken_from_the_first_that_knows_it() -> None:
    """Each fact for itself; all else stays."""
    now = attrs.evolve(FINGERPRINT, counted_capability="AVX2")
    before = attrs.evolve(FINGERPRINT, counted_capability="DEFAULT", caches="held", torch="1.0.0")

    assert attrs.evolve(now, caches="held") == completed(now, before)


def test_a_record_has_the_code_of_its_case() -> None:
    """That it can be measured again, and read."""
    setup = GroupedSetup(cpp_setup="int x;", global_setup="#include <map>")
    (case,) = materialize({("a",): GroupedStmts(None, "x++;", setup)})
    record = Record.of(case, "new", OK)

    assert ("x++;", "int x;", "#include <map>") == (record.stmt, record.setup, record.global_setup)
