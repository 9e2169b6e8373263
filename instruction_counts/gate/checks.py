"""A check as JSON: what it found of each case, and what the next one has to know of it.

Format history: 1, the first.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import cattrs

from core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.domain.errors import DataError
from instruction_counts.gate.gate import Finding, Gate, Level

FORMAT_VERSION = 1

Causes: TypeAlias = Mapping[CaseKey, Sequence[str]]


@attrs.frozen
class _Case:
    label: tuple[str, ...]
    language: Language
    runtime: RuntimeMode
    autograd: AutogradMode
    num_threads: int
    level: Level
    verdict: Verdict
    exceeded_before: bool = False
    """Whether it exceeded its limit when it was last compared, and was not this time."""

    @property
    def key(self) -> CaseKey:
        modes = self.language, self.runtime, self.autograd
        return CaseKey(self.label, *modes, self.num_threads)


def to_check_json(gate: Gate, causes: Causes) -> str:
    """Everything that the terminal shows, case by case."""
    document = {
        "check_version": FORMAT_VERSION,
        "fails": gate.fails,
        "compares": gate.compares,
        "layouts": gate.comparison.layouts,
        "cases": [_as_json(one, causes, carried=one.key in gate.carried) for one in gate.findings],
        "skipped_by_budget": [
            cattrs.unstructure(
                _Skipped(**_parts(key), time_budget=budget, exceeded_before=key in gate.carried)
            )
            for key, budget in gate.comparison.skipped_by_budget.items()
        ],
    }
    return json.dumps(document, indent=1) + "\n"


@attrs.frozen
class _Skipped:
    label: tuple[str, ...]
    language: Language
    runtime: RuntimeMode
    autograd: AutogradMode
    num_threads: int
    time_budget: str
    exceeded_before: bool

    @property
    def key(self) -> CaseKey:
        modes = self.language, self.runtime, self.autograd
        return CaseKey(self.label, *modes, self.num_threads)


def exceeded_in(path: Path) -> frozenset[CaseKey]:
    """The cases that exceeded a hard limit when they were last compared, as ``path`` tells.

    It is what the last check wrote. None where there is no such file: the first check has no
    previous one.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    found = _read(path)
    worse = {
        one.key for one in found.cases if one.level is Level.FAILS and one.verdict is Verdict.WORSE
    }
    undecided = {one.key for one in found.cases if one.exceeded_before}
    return frozenset(
        worse | undecided | {one.key for one in found.skipped_by_budget if one.exceeded_before}
    )


def moved_in(path: Path) -> frozenset[CaseKey]:
    """The cases that were worse or better, or exceeded their limit before; else as above."""
    moved = {one.key for one in _read(path).cases if one.verdict in _MOVED}
    return exceeded_in(path) | moved


_MOVED = {Verdict.WORSE, Verdict.BETTER}


@attrs.frozen
class _Check:
    cases: list[_Case]
    skipped_by_budget: list[_Skipped]


def _read(path: Path) -> _Check:
    remedy = "--previous expects a file written by `baseline check --output FILE.json`."
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        data: Any = json.loads(text)
    except FileNotFoundError:
        return _Check([], [])
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
        raise DataError(f"{path} cannot be read: {error}", remedy) from error
    version = data.get("check_version") if isinstance(data, dict) else None
    if type(version) is not int or version != FORMAT_VERSION:
        expected = f"expected {FORMAT_VERSION}, found {version!r}"
        raise DataError(f"{path}: check_version: {expected}", remedy)
    try:
        return cattrs.structure(data, _Check)
    except (cattrs.BaseValidationError, KeyError) as error:
        raise DataError(f"{path} is not the output of a check", remedy) from error


def _as_json(finding: Finding, causes: Causes, *, carried: bool) -> dict[str, Any]:
    one = finding.difference
    case = _Case(
        **_parts(one.key), level=finding.level, verdict=one.verdict, exceeded_before=carried
    )
    figures = {
        "why": finding.why,
        "reason": one.reason.value,
        "verified": one.verified,
        "base": one.base_count,
        "new": one.new_count,
        "change": one.change,
        "relative": one.relative,
        "noise": one.noise,
        "noise_origin": None if one.noise_origin is None else one.noise_origin.value,
        "causes": list(causes.get(one.key, ())),
    }
    return {**cattrs.unstructure(case), **figures}


def _parts(key: CaseKey) -> dict[str, Any]:
    return attrs.asdict(key, recurse=False)
