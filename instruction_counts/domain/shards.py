"""Shards: parts of a selection, for jobs that know nothing of each other."""

import hashlib
import heapq
import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Self

import attrs

from instruction_counts.core.types import Case, CaseKey
from instruction_counts.domain.bounds import Bounds, Count, Positive

_WRITTEN = re.compile(r"(\d{1,4})/(\d{1,4})", re.ASCII)


@attrs.frozen
class Shard:
    """One part of several.

    Which one a case is in follows from what it is called, and from ``placed``: every case is in
    exactly one, and a further case moves no other.
    """

    number: int
    """From 1."""
    total: int
    placed: Mapping[CaseKey, int] = attrs.field(factory=dict, repr=False)
    """The shards of cases that were distributed by what is known of them."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The shard that ``3/8`` means.

        Raises:
            ValueError: the text is no shard; the message says what is.
        """
        match = _WRITTEN.fullmatch(text)
        number, total = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= total:
            known = f"1/{total} to {total}/{total}" if total else "K/N, such as 3/8"
            raise ValueError(f"expected {known}")
        return cls(number, total)

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"

    def balanced(self, durations_s: Mapping[CaseKey, float]) -> Self:
        """The same, where the cases of ``durations_s`` take about as long in every shard."""
        loads = [(0.0, number) for number in range(1, self.total + 1)]
        placed = {}
        known = (key for key, duration_s in durations_s.items() if duration_s)
        for key in sorted(known, key=lambda key: (-durations_s[key], key.digest)):
            load, placed[key] = loads[0]
            heapq.heapreplace(loads, (load + durations_s[key], placed[key]))
        return attrs.evolve(self, placed=placed)

    def keeps(self, key: CaseKey) -> bool:
        """Whether the case of that key is in it."""
        return self._place(key) == self.number

    def _place(self, key: CaseKey) -> int:
        return self.placed.get(key) or int(key.digest, 16) % self.total + 1

    def of(self, whole: Sequence[Case], settings: str) -> "MeasuredShard":
        """What a run of this part of ``whole`` has to hold."""
        parts = [(case.key.digest, case.definition_hash, self._place(case.key)) for case in whole]
        digest = hashlib.sha256(json.dumps([self.total, parts]).encode()).hexdigest()[:16]
        mine = (place for place, case in enumerate(whole) if self.keeps(case.key))
        return MeasuredShard(self.number, self.total, len(whole), digest, settings, tuple(mine))


@attrs.frozen
class MeasuredShard:
    """Which part of a whole a run is."""

    number: Positive
    total: Annotated[int, Bounds(1, 9999)]
    cases: Count
    """How many the whole has."""
    digest: str
    """Of the cases of the whole, their code, and the shard of each."""
    settings: str
    """What was measured: ``counts, times``."""
    positions: tuple[Count, ...]
    """Where in the whole its cases stand, in their order."""

    def __str__(self) -> str:
        return f"{self.number}/{self.total}"
