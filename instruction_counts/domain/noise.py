"""Noise floors: what moves a count without any change of code."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import TypeAlias

import attrs

from instruction_counts.domain.fingerprint import Fingerprint

_finite = attrs.validators.lt(math.inf)  # NaN is not, either


@attrs.frozen
class Noise:
    """What moves the count of one case on one build without any change of code."""

    case: str
    """For people who read the file."""
    noise: float = attrs.field(default=0.0, validator=_finite)
    """Relative spread over fresh servers of one layout."""
    layout_spread: float = attrs.field(default=0.0, validator=_finite)
    """Relative spread over layouts."""
    layouts: int = 0
    """In how many further layouts it was counted; 0 says that nothing is known of layouts."""


Noises: TypeAlias = "Mapping[str, Mapping[str, Noise]]"
"""By `fingerprint_hash`, then by the definition hash of the case."""


def fingerprint_hash(fingerprint: Fingerprint) -> str:
    """A short name for a fingerprint (SHA-256, 16 digits).

    Without the instruction set under Valgrind, which follows from the rest, and is known only while
    a server runs.
    """
    text = json.dumps(attrs.asdict(fingerprint) | {"counted_capability": ""}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
