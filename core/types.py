"""The vocabulary of the DSL, and what definitions and cases are."""

import functools
import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

from instruction_counts.core.api import TORCH, GroupedBenchmark, TimerArgs
from instruction_counts.core.facts import ExpectedTensor, Subject
from instruction_counts.core.labels import (
    WARM_LOOP,
    AutogradMode,
    AutoLabels,
    CaseKey,
    Label,
    Language,
    RuntimeMode,
)

__all__ = [
    "AutoLabels",
    "AutogradMode",
    "Case",
    "CaseKey",
    "Definition",
    "FlatDefinition",
    "FlatIntermediateDefinition",
    "Label",
    "Language",
    "RuntimeMode",
]

Definition: TypeAlias = Mapping[Any, Any]
"""Nested mappings of benchmarks; a key is a string, a tuple of strings, or None (adds nothing)."""

FlatIntermediateDefinition: TypeAlias = dict[Label, GroupedBenchmark | TimerArgs]
"""What `core.utils.flatten` returns: one level, keyed by the whole label."""

FlatDefinition: TypeAlias = "tuple[Case, ...]"
"""What `core.expand.materialize` returns: every concrete case, in a fixed order."""


@attrs.frozen
class Case:
    """One concrete benchmark: a label, the inferred labels, and exactly what is executed.

    ``model_source`` is Python source that makes what only a build of torch can make, such as a
    scripted model; the worker runs it inside the build under test, saves the result, and puts the
    path of the file where ``timer_args.setup`` holds `core.runtimes.ARTEFACT_PATH`. ``metadata``
    holds JSON values that the definition gave: nothing depends on them, nor does equality.
    ``paths`` holds absolute paths in the code, each with what identifies it elsewhere; it is no
    part of equality either. ``subject`` is what the case measures, ``expected`` what it computes.
    """

    label: Label
    autolabels: AutoLabels
    timer_args: TimerArgs
    model_source: str | None = None
    metadata: Mapping[str, Any] = attrs.field(factory=dict, eq=False)
    paths: Mapping[str, str] = attrs.field(factory=dict, eq=False)
    subject: Subject | None = None
    expected: tuple[ExpectedTensor, ...] = ()

    @property
    def num_threads(self) -> int:
        """The number of threads that the case runs with."""
        threads = self.timer_args.num_threads
        assert isinstance(threads, int), "a materialized case has one thread count"
        return threads

    @property
    def key(self) -> CaseKey:
        """What the case is called."""
        labels = self.autolabels
        modes = labels.language, labels.runtime, labels.autograd
        return CaseKey(self.label, *modes, self.num_threads)

    @property
    def title(self) -> str:
        """The case as people read it."""
        return self.key.title

    @functools.cached_property
    def definition_hash(self) -> str:
        """Changes when the code of the case does, and never otherwise (SHA-256, 16 digits).

        Of ``paths`` it holds what identifies them, so that it is the same in every checkout.
        """
        parts = (
            self.autolabels.language.value,
            self.timer_args.stmt,
            self.timer_args.setup,
            self.timer_args.global_setup,
            str(self.num_threads),
            self.model_source or "",
            *([self.timer_args.kind] if self.timer_args.kind != WARM_LOOP else ()),
            *(self.timer_args.imports if self.timer_args.imports != TORCH else ()),
        )
        code = "\0".join(parts)
        for path, name in self.paths.items():
            for literal in (repr(path), json.dumps(path, ensure_ascii=False)):
                code = code.replace(literal, f"<{name}>")
        return hashlib.sha256(code.encode()).hexdigest()[:16]
