"""Fingerprints, and their short names."""

from __future__ import annotations

import attrs
import pytest

from instruction_counts.domain.fingerprint import fingerprint_hash
from tests.fakes import FINGERPRINT


@pytest.mark.parametrize("change", [{"torch": "other"}, {"allocator": "x"}, {"aslr_off": False}])
def test_a_fingerprint_has_a_short_name(change: dict[str, object]) -> None:
    """Another for all that may change a count."""
    assert fingerprint_hash(FINGERPRINT) == fingerprint_hash(attrs.evolve(FINGERPRINT))
    assert fingerprint_hash(FINGERPRINT) != fingerprint_hash(attrs.evolve(FINGERPRINT, **change))
