"""What cases are called: labels, languages, runtimes, autograd, and the key of them all.

Modes are spelled in one way where people write them, in options, in YAML and in results:
``python``, ``c++``; ``eager``, ``torchscript``, ``compiled``, ``exported``, ``explicit`` and
whatever else is registered; ``forward``, ``forward+backward``, ``explicit``.
"""

import enum
import hashlib
import json
from typing import Any, TypeAlias, TypeVar

import attrs

from instruction_counts.core.errors import DefinitionError, quoted

Label: TypeAlias = tuple[str, ...]
"""The path of a benchmark in its tree: ``("Pointwise", "Math", "add")``."""

WARM_LOOP = "warm loop"
"""The usual kind of a case: its statement runs in a loop that is warm when it is counted."""

ONCE = "once"
"""The kind of a case whose statement runs a single time in its process."""

CPU, CUDA = DEVICES = ("cpu", "cuda")
"""Where the tensors of a case are, as torch spells it."""


class _Spelled(enum.Enum):
    @property
    def option(self) -> str:
        """How people write it: ``c++``, ``torchscript``, ``forward+backward``, ``explicit``."""
        return str(self.value).lower().replace(" + ", "+") or "explicit"


class Language(_Spelled):
    """The language in which a statement is written."""

    PYTHON = "Python"
    CPP = "C++"

    @classmethod
    def parse(cls, value: object) -> "Language":
        """The language named by ``value``.

        Accepts our members, their values, their names in any case, and the members of torch's own
        ``torch.utils.benchmark.Language`` (recognised by name, so that torch need not be imported).
        """
        name = value.name if isinstance(value, enum.Enum) else value
        for member in cls:
            if isinstance(name, str) and name.upper() in {member.name, member.value.upper()}:
                return member
        raise DefinitionError("language", quoted(value), 'Language.PYTHON ("python") or "c++"')


_further: "dict[str, RuntimeMode]" = {}


class RuntimeMode(_Spelled):
    """How a statement is executed; explicit cases (`TimerArgs`) do not say.

    These are always there; `new` makes further ones, for `core.runtimes.register`.
    """

    EAGER = "Eager"
    JIT = "TorchScript"
    COMPILED = "Compiled"
    EXPORTED = "Exported"
    EXPLICIT = ""

    def __reduce_ex__(self, protocol: object) -> "tuple[type[RuntimeMode], tuple[str]]":
        """By value: Python 3.11.2 copies members by name, and has none of a further one."""
        del protocol
        return RuntimeMode, (self._value_,)

    @classmethod
    def new(cls, name: str, value: str) -> "RuntimeMode":
        """A further mode, or the one that has this value: ``RuntimeMode(value)`` finds it."""
        mode = cls._value2member_map_.get(value) or _further.get(value)
        if mode is None:
            mode = _further[value] = object.__new__(cls)
            mode._name_, mode._value_ = name, value
        assert isinstance(mode, cls)
        return mode

    @classmethod
    def _missing_(cls, value: object) -> "RuntimeMode | None":
        return _further.get(value) if isinstance(value, str) else None


class AutogradMode(_Spelled):
    """Whether the backward pass is part of the statement; explicit cases do not say."""

    FORWARD = "Forward"
    FORWARD_BACKWARD = "Forward + Backward"
    EXPLICIT = ""


Mode = TypeVar("Mode", Language, RuntimeMode, AutogradMode)


def by_option(kind: type[Mode]) -> dict[str, Mode]:
    """The modes of a kind by their spelling, in the order in which reports list them.

    Further runtimes come last.
    """
    known: Any = kind
    further: Any = _further.values() if kind is RuntimeMode else ()
    return {mode.option: mode for mode in (*known, *further)}


@attrs.frozen
class AutoLabels:
    """The labels that `core.expand.materialize` infers for a case."""

    runtime: RuntimeMode
    autograd: AutogradMode
    language: Language


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
    def digest(self) -> str:
        """What tells it from others on any machine, however long its label is (SHA-256)."""
        text = json.dumps(list(self.as_values.values()))
        return hashlib.sha256(text.encode()).hexdigest()

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
