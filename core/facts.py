"""What a definition states of its cases beside their code: what they measure, what they compute.

None of it changes what is executed, or the definition hash; it travels into results. Constructors
of definitions check it, with `core.checks`.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs


@attrs.frozen
class Operator:
    """The case calls one operator of torch, with inputs that were drawn for it."""

    name: str
    category: str = ""
    variant: str = ""
    """Which of the operator's shapes: ``typical``, or the shapes themselves."""
    shapes: Mapping[str, tuple[int, ...]] = attrs.field(factory=dict, hash=False)
    """Of each tensor."""
    dtype: str | None = None
    seed: int = 0
    no_cpp: str = ""
    """Why the operator has no case in C++; empty where it has one."""


@attrs.frozen
class Use:
    """A place in a model where a layer is called, and how often it is in one run."""

    model: str
    path: str
    count: int = 1


@attrs.frozen
class Layer:
    """The case is a layer of models, with all places where they use it."""

    type: str
    """``Conv2d``, ``add``."""
    uses: tuple[Use, ...] = ()


@attrs.frozen
class Model:
    """The case is a model as a whole."""

    name: str
    calls: int = 0
    """How often a run of it calls layers; 0 where that is not known."""


Subject: TypeAlias = Operator | Layer | Model
"""What a case measures, where reports know more to say of it than of any code."""

SUBJECTS: Mapping[str, type[Subject]] = {"operator": Operator, "layer": Layer, "model": Model}
"""The types of subjects, by the ``kind`` that files name them with."""


@attrs.frozen
class ExpectedTensor:
    """What a case has to compute in one tensor; None is not checked."""

    name: str
    """A variable, or ``result`` for a value that the statement drops."""
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    sum: float | None = None
    tolerance: float = 1e-6
    """How far the sum may be off."""


def subject_values(subject: Subject | None) -> dict[str, Any] | None:
    """A subject as files hold it, with its ``kind``."""
    if subject is None:
        return None
    (kind,) = (name for name, kind in SUBJECTS.items() if isinstance(subject, kind))
    return {"kind": kind, **attrs.asdict(subject)}
