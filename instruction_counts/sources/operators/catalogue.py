"""The operators of an installed torch, as its build tells them; kept in the cache folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.builds.inquiry import inquire, scripts_text
from instruction_counts.domain.build import Build
from instruction_counts.system.cache import Cache, key_of

"""The scripts that are asked."""
_SHOWN_TAGS = (
    "pointwise",
    "reduction",
    "view_copy",
    "inplace_view",
    "nondeterministic_seeded",
    "dynamic_output_shape",
    "data_dependent_output",
)


@attrs.frozen
class Argument:
    """An argument of a schema; ``type`` as torch prints it, such as ``Optional[ScalarType]``.

    ``default`` is None where there is none: ``has_default`` tells. ``is_write`` holds for what the
    operator changes in place.
    """

    name: str
    type: str
    kwarg_only: bool = False
    has_default: bool = False
    default: Any = attrs.field(default=None, hash=False)
    is_write: bool = False


@attrs.frozen
class Schema:
    """A schema of the namespace aten: ``name`` without it, ``overload`` empty for the default."""

    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[str, ...]

    @property
    def full_name(self) -> str:
        """``add.Tensor``, or the name alone where the overload has none."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


@attrs.frozen
class PublicOperator:
    """An operator as users call it: ``torch.linalg.norm``.

    ``native`` is its name in aten; empty where it is composed of several. ``uses`` is how often the
    Python sources of torch call something of that name: for methods, an upper limit.
    """

    name: str
    namespace: str
    native: str
    tags: tuple[str, ...]
    uses: int

    @property
    def entry_name(self) -> str:
        """As entries name it: ``Tensor.add`` for ``torch.Tensor.add``."""
        return self.name.removeprefix("torch.") if self.is_method else self.name

    @property
    def is_method(self) -> bool:
        """Whether it is called on a tensor."""
        return self.namespace == "torch.Tensor"

    @property
    def category(self) -> str:
        """Where it stands and what it does: ``torch.linalg, reduction``."""
        return ", ".join([self.namespace, *(tag for tag in _SHOWN_TAGS if tag in self.tags)])


@attrs.frozen
class Sample:
    """Arguments of an operator, as the catalogue script describes them in JSON."""

    input: Any = attrs.field(hash=False)
    args: tuple[Any, ...] = attrs.field(hash=False)
    kwargs: Mapping[str, Any] = attrs.field(hash=False)


@attrs.frozen
class OperatorSamples:
    """Samples of one variant of an operator; ``reason`` says why there are none."""

    name: str
    """As it was asked for."""
    variant: str
    samples: tuple[Sample, ...]
    reason: str = ""


def load_schemas(build: Build, cache: Cache) -> tuple[Schema, ...]:
    """Every schema of the namespace aten that the torch of ``build`` has, by name and overload.

    Raises:
        BuildError: the interpreter does not work.
        DataError: it has no torch, or one that cannot be imported.
    """
    answer = _kept(build, cache, "schemas", {})
    return tuple(_schema(schema) for schema in answer["schemas"])


def load_public_operators(build: Build, cache: Cache) -> tuple[PublicOperator, ...]:
    """Every public operator of the torch of ``build``, by namespace and name.

    Private and deprecated ones are left out. Raises what `load_schemas` does.
    """
    answer = _kept(build, cache, "public_operators", {})
    return tuple(
        PublicOperator(**{**found, "tags": tuple(found["tags"])}) for found in answer["operators"]
    )


def load_samples(
    build: Build,
    names: Sequence[str],
    dtype: str,
    limit: int,
    cache: Cache | None = None,
    *,
    requires_grad: bool = False,
) -> tuple[OperatorSamples, ...]:
    """Samples that torch tests these operators with: ``limit`` of each variant at most.

    A name may be public (``torch.linalg.norm``), native (``linalg_norm``), or as torch's database
    has it; one that it does not have yields nothing. With ``requires_grad``, tensors require a
    gradient where torch says that there is one. To read the database takes seconds.

    Raises:
        BuildError: the interpreter does not work.
        DataError: it has no torch, no such dtype, or not the module that the database needs.
    """
    request = {
        "names": list(names),
        "dtype": dtype,
        "limit": limit,
        "requires_grad": requires_grad,
    }
    if cache is None:
        answer = inquire(build, "op_db", request)
    else:
        answer = _kept(build, cache, "op_db", request)
    return tuple(_samples(found) for found in answer["operators"])


def _samples(found: Mapping[str, Any]) -> OperatorSamples:
    samples = (
        Sample(sample["input"], tuple(sample["args"]), sample["kwargs"])
        for sample in found["samples"]
    )
    return OperatorSamples(found["name"], found["variant"], tuple(samples), found["reason"])


def _kept(build: Build, cache: Cache, task: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to ``request``, asked once for each torch, task and request."""
    # Schemas come from the libraries; everything else is read from Python files, too.
    torch = inquire(build, "locate", {"sources": task != "schemas"})
    texts = [json.dumps(part, sort_keys=True) for part in (torch, dict(build.env), dict(request))]
    key = key_of(scripts_text(), task, *texts)

    def ask(folder: Path) -> None:
        answer = inquire(build, task, request)
        (folder / "answer.json").write_text(json.dumps(answer, allow_nan=False), encoding="utf-8")

    path = cache.entry("catalogue", key, ask) / "answer.json"
    answer: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return answer


def _schema(found: Mapping[str, Any]) -> Schema:
    arguments = tuple(Argument(**argument) for argument in found["arguments"])
    return Schema(found["name"], found["overload"], arguments, tuple(found["returns"]))
