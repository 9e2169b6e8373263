"""Which engines there are."""

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.engines import registry


def test_the_default_comes_first() -> None:
    """It is the first choice of ``--engine``."""
    assert [registry.DEFAULT, "timer"] == [entry.name for entry in registry.engines()]


def test_an_unknown_engine_and_what_an_engine_cannot_do_are_refused() -> None:
    """The error names those that there are, and that can."""
    with pytest.raises(UsageError, match='unknown engine "abacus"'):
        registry.engine_named("abacus")
    with pytest.raises(UsageError, match="--pin-isa requires the fork engine"):
        registry.require_profile("timer", "--pin-isa")
    registry.require_profile("fork", "--pin-isa")
