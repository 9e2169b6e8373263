"""The vocabulary of the DSL: labels, modes, and what definitions and cases are made of."""

from __future__ import annotations

import enum
import functools
import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from core.errors import DefinitionError, quoted
from core.facts import ExpectedTensor, Subject

if TYPE_CHECKING:
    from core.api import GroupedBenchmark, TimerArgs

Label: TypeAlias = tuple[str, ...]
"""The path of a benchmark in its tree: ``("Pointwise", "Math", "add")``."""

Definition: TypeAlias = Mapping[Any, Any]
"""Nested mappings of benchmarks; a key is a string, a tuple of strings, or None (adds nothing)."""

FlatIntermediateDefinition: TypeAlias = "dict[Label, GroupedBenchmark | TimerArgs]"
"""What `core.utils.flatten` returns: one level, keyed by the whole label."""

FlatDefinition: TypeAlias = "tuple[Case, ...]"
"""What `core.expand.materialize` returns: every concrete case, in a fixed order."""


WARM_LOOP = "warm loop"
"""The usual kind of a case: its statement runs in a loop that is warm when it is counted."""


class Language(enum.Enum):
    """The language in which a statement is written."""

    PYTHON = "Python"
    CPP = "C++"

    @classmethod
    def parse(cls, value: object) -> Language:
        """The language named by ``value``.

        Accepts our members, their values, their names in any case, and the members of torch's own
        ``torch.utils.benchmark.Language`` (recognised by name, so that torch need not be imported).
        """
        if isinstance(value, cls):
            return value
        name = value.name if isinstance(value, enum.Enum) else value
        if isinstance(name, str):
            for member in cls:
                if name.lower() in (member.name.lower(), member.value.lower()):
                    return member
        raise DefinitionError("language", quoted(value), 'Language.PYTHON ("python") or "c++"')

    @property
    def option(self) -> str:
        """How people write it: ``python`` or ``c++``."""
        return self.value.lower()


_further: dict[str, RuntimeMode] = {}


class RuntimeMode(enum.Enum):
    """How a statement is executed; explicit cases (`TimerArgs`) do not say.

    These three are always there; `new` makes further ones, for `core.runtimes.register`.
    """

    EAGER = "Eager"
    JIT = "TorchScript"
    EXPLICIT = ""

    def __reduce_ex__(self, protocol: object) -> tuple[type[RuntimeMode], tuple[str]]:
        """By value: Python 3.11.2 copies members by name, and has none of a further one."""
        del protocol
        return RuntimeMode, (self._value_,)

    @classmethod
    def new(cls, name: str, value: str) -> RuntimeMode:
        """A further mode, or the one that has this value: ``RuntimeMode(value)`` finds it."""
        mode = cls._value2member_map_.get(value) or _further.get(value)
        if mode is None:
            mode = _further[value] = object.__new__(cls)
            mode._name_, mode._value_ = name, value
        assert isinstance(mode, cls)
        return mode

    @classmethod
    def further(cls) -> tuple[RuntimeMode, ...]:
        """Those that `new` made; iteration has the three above alone."""
        return tuple(_further.values())

    @classmethod
    def _missing_(cls, value: object) -> RuntimeMode | None:
        return _further.get(value) if isinstance(value, str) else None

    @property
    def option(self) -> str:
        """How people write it: ``eager``, ``torchscript``, ``explicit``."""
        return self.value.lower() or "explicit"


class AutogradMode(enum.Enum):
    """Whether the backward pass is part of the statement; explicit cases do not say."""

    FORWARD = "Forward"
    FORWARD_BACKWARD = "Forward + Backward"
    EXPLICIT = ""

    @property
    def option(self) -> str:
        """How people write it: ``forward``, ``backward``, ``explicit``."""
        return self.value.lower().removeprefix("forward + ") or "explicit"


def _language(value: object) -> Language:
    return Language.parse(value)


@attrs.frozen
class AutoLabels:
    """The labels that `core.expand.materialize` infers for a case."""

    runtime: RuntimeMode
    autograd: AutogradMode
    language: Language = attrs.field(converter=_language)

    @property
    def as_dict(self) -> dict[str, str]:
        """The three labels as plain text, as reports show them."""
        return {
            "runtime": self.runtime.value,
            "autograd": self.autograd.value,
            "language": self.language.value,
        }


@attrs.frozen
class CaseKey:
    """What a case is called in every run and on every build; its code may change under it."""

    label: Label
    language: Language
    runtime: RuntimeMode
    autograd: AutogradMode
    num_threads: int

    @property
    def modes(self) -> tuple[Language, RuntimeMode, AutogradMode]:
        """Language, runtime and autograd."""
        return self.language, self.runtime, self.autograd

    @property
    def path(self) -> str:
        """The label as it is selected: ``Pointwise/Math/add``."""
        return "/".join(self.label)

    @property
    def title(self) -> str:
        """The case as people read it; the number of threads only where there are several."""
        modes = [mode.value for mode in self.modes if mode.value]
        threads = [f"{self.num_threads} threads"] if self.num_threads > 1 else []
        return " · ".join([" / ".join(self.label), *modes, *threads])

    @property
    def as_values(self) -> dict[str, Any]:
        """The key as files hold it, each part by its name; modes are spelled as options are."""
        return {
            "label": list(self.label),
            "language": self.language.option,
            "runtime": self.runtime.option,
            "autograd": self.autograd.option,
            "num_threads": self.num_threads,
        }


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
        """The identity of the case as people read it."""
        modes = [self.autolabels.language.value]
        modes += [
            mode.value for mode in (self.autolabels.runtime, self.autolabels.autograd) if mode.value
        ]
        threads = f"{self.num_threads} thread{'' if self.num_threads == 1 else 's'}"
        return " · ".join([" / ".join(self.label), *modes, threads])

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
        )
        code = "\0".join(parts)
        for path, name in self.paths.items():
            for literal in (repr(path), json.dumps(path, ensure_ascii=False)):
                code = code.replace(literal, f"<{name}>")
        return hashlib.sha256(code.encode()).hexdigest()[:16]
