"""The options that say which cases, and which part of them: ``--shard``, ``--balance``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from instruction_counts.cli.options import (
    EXISTING_FILE,
    Written,
    case_options,
    definitions_options,
    gathered,
    option,
)
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.shards import Shard
from instruction_counts.storage.json_files import read_json

_SHARD = option(
    "--shard",
    "K/N",
    "Only the K-th of N parts of the selected cases: 3/8.",
    type=Written("shard", Shard.parse),
)
_BALANCE = option(
    "--balance",
    "FILE.json",
    "Earlier results whose times balance the shards. All shards need the same file.",
    type=EXISTING_FILE,
)


def _balanced(shard: Shard | None, balance: Path | None) -> Shard | None:
    if balance is None:
        return shard
    if shard is None:
        raise UsageError(
            "--balance: there are no shards to balance", "Add --shard 1/8, or drop it."
        )
    durations_s: dict[CaseKey, float] = defaultdict(float)
    for record in read_json(balance).cases:
        durations_s[record.key] += record.outcome.duration_s
    return shard.balanced(durations_s)


_balanced_shard = gathered("shard", (_SHARD, _BALANCE), _balanced)


def sharded_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `selection_options`, with ``--shard``."""
    return definitions_options(_SHARD(case_options(function)))


def balanced_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with ``--balance``: for runs, which can be merged only where no case is missed."""
    return definitions_options(_balanced_shard(case_options(function)))
