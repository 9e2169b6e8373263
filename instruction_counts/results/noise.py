"""The noise floor of each case on each build, kept for comparisons.

File format history: 1, the first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import attrs
from platformdirs import user_data_path

from core.types import Case
from instruction_counts.builds.fingerprint import Fingerprint
from instruction_counts.errors import DataError
from instruction_counts.files import write_atomically

_VERSION = 1


class _Noise(Protocol):
    @property
    def case(self) -> Case: ...
    @property
    def repeats(self) -> tuple[int | None, ...]: ...
    @property
    def noise(self) -> float: ...
    @property
    def layout_spread(self) -> float: ...


def noise_file() -> Path:
    """Where noise floors are kept."""
    return user_data_path("instruction-counts") / "noise.json"


def fingerprint_hash(fingerprint: Fingerprint) -> str:
    """A short name for a fingerprint (SHA-256, 16 digits).

    Without the instruction set under Valgrind, which follows from the rest, and is known only while
    a server runs.
    """
    text = json.dumps(attrs.asdict(fingerprint) | {"counted_capability": ""}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def store_noise(
    fingerprint: Fingerprint, noises: Sequence[_Noise], path: Path | None = None
) -> None:
    """Add what a selftest found to the file; newer findings replace older ones.

    A case that failed in a round is left out: of its noise nothing is known.
    """
    target = path or noise_file()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = _read(target)
    mine = known.setdefault(fingerprint_hash(fingerprint), {})
    for one in noises:
        if None in one.repeats:
            continue
        mine[one.case.definition_hash] = {
            "case": one.case.title,
            "noise": one.noise,
            "layout_spread": one.layout_spread,
        }
    write_atomically(target, json.dumps({"version": _VERSION, "builds": known}, indent=1))


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}", "Remove it to start anew.") from error
    if not isinstance(data, dict) or data.get("version") != _VERSION:
        raise DataError(f"{path} is of another version", "Remove it to start anew.")
    builds = data.get("builds")
    if not isinstance(builds, dict) or not all(isinstance(one, dict) for one in builds.values()):
        raise DataError(f"{path} cannot be read: it has no builds", "Remove it to start anew.")
    return builds
