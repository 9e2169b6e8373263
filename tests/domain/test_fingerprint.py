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
        (lambda one: one, True),
        (lambda one: attrs.evolve(one, torch="other"), False),
        (lambda one: attrs.evolve(one, allocator="other"), False),
        (lambda one: attrs.evolve(one, aslr_off=False), False),
    ],
)
def test_a_fingerprint_has_a_short_name(
    change: Callable[[Fingerprint], Fingerprint], same: bool
) -> None:
    """Another for all that may change a count."""
    changed = change(FINGERPRINT)

    assert same == (fingerprint_hash(FINGERPRINT) == fingerprint_hash(changed))
