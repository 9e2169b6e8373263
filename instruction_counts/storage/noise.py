"""The noise floor of each case on each build, kept for comparisons.

File format history: 1, the first; 2, with the number of layouts. Version 1 is read, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cattrs

from instruction_counts.domain.errors import DataError
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.noise import Noise, Noises, fingerprint_hash
from instruction_counts.system.files import locked, write_atomically
from instruction_counts.system.folders import data_folder

_VERSION = 2
_READABLE = (1, 2)


def noise_file() -> Path:
    """Where noise floors are kept."""
    return data_folder() / "noise.json"


def store_noises(
    fingerprint: Fingerprint, noises: Mapping[str, Noise], path: Path | None = None
) -> None:
    """Add findings, by definition hash, to the file; of older ones the larger spreads stay.

    Others may add theirs at the same time.

    Raises:
        DataError: the file holds something else, or cannot be written.
    """
    target = path or noise_file()
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(target):
            document = _with(read_noises(target), fingerprint_hash(fingerprint), noises)
            write_atomically(target, json.dumps(document, indent=1, allow_nan=False))
    except OSError as error:
        raise DataError(
            f"{target} cannot be written: {error}", f"Make {target.parent} writable."
        ) from error


def keep_noises(
    fingerprint: Fingerprint,
    noises: Mapping[str, Noise],
    note: Callable[[str], None],
    path: Path | None = None,
) -> None:
    """`store_noises` for those who have results to show: what cannot be stored goes to ``note``."""
    try:
        store_noises(fingerprint, noises, path)
    except DataError as error:
        note(f"What was found of noise is not kept: {error}")


def read_noises(path: Path | None = None) -> Noises:
    """All that is known; nothing where there is no file.

    Raises:
        DataError: the file holds something else.
    """
    target = path or noise_file()
    remedy = f"Remove it to start anew: rm {target}"
    try:
        data: Any = json.loads(target.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{target} cannot be read: {error}", remedy) from error
    if not isinstance(data, dict) or data.get("version") not in _READABLE:
        raise DataError(f"{target} is of another version", remedy)
    try:
        return cattrs.structure(data["builds"], dict[str, dict[str, Noise]])
    except (cattrs.BaseValidationError, KeyError, AttributeError) as error:
        raise DataError(f"{target} cannot be read: it holds no noise floors", remedy) from error


def _with(known: Noises, build: str, noises: Mapping[str, Noise]) -> dict[str, Any]:
    mine = dict(known.get(build, {}))
    for key, noise in noises.items():
        mine[key] = _merged(mine.get(key), noise)
    return {"version": _VERSION, "builds": cattrs.unstructure({**known, build: mine})}


def _merged(before: Noise | None, now: Noise) -> Noise:
    if before is None:
        return now
    return Noise(
        now.case,
        max(before.noise, now.noise),
        max(before.layout_spread, now.layout_spread),
        max(before.layouts, now.layouts),
    )
