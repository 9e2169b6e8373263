"""What is known of a build, some of it only later."""

import attrs

from instruction_counts.domain.build import completed
from tests.fakes import FINGERPRINT


def test_what_is_known_only_later_is_taken_from_the_first_that_knows_it() -> None:
    """Each fact for itself; all else stays."""
    now = attrs.evolve(FINGERPRINT, counted_capability="AVX2")
    before = attrs.evolve(FINGERPRINT, counted_capability="DEFAULT", caches="held", torch="1.0.0")

    assert attrs.evolve(now, caches="held") == completed(now, before)
