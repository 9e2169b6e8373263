"""Fingerprints, and their short names."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from instruction_counts.domain.fingerprint import Fingerprint, fingerprint_hash
from tests.fakes import FINGERPRINT


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda fingerprint: fingerprint, True),
        (lambda fingerprint: attrs.evolve(fingerprint, torch="other"), False),
        (lambda fingerprint: attrs.evolve(fingerprint, allocator="other"), False),
        (lambda fingerprint: attrs.evolve(fingerprint, aslr_off=False), False),
    ],
)
def test_a_fingerprint_has_a_short_name(
    change: Callable[[Fingerprint], Fingerprint], same: bool
) -> None:
    """Another for all that may change a count."""
    changed = change(FINGERPRINT)

    assert same == (fingerprint_hash(FINGERPRINT) == fingerprint_hash(changed))
