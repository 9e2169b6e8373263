"""The operators of an installed torch, as its build tells them, and which of them have an entry."""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import cattrs

from instruction_counts.builds.inquiry import inquire, scripts_text
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators.entries import OperatorEntry
from instruction_counts.system.cache import Cache, key_of

_NAMESPACES = {"linalg": "linalg_", "fft": "fft_", "special": "special_", "sparse": "_sparse_"}
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


Schemas: TypeAlias = Mapping[str, Sequence[Schema]]
"""All overloads, by their common name."""


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

    @property
    def category_parts(self) -> tuple[str, ...]:
        """What the category can be asked for by: as a whole, or a part of it."""
        category = self.category.lower()
        return (category, *category.split(", "))


def native_name(operator: str) -> str:
    """The name that torch's schema has for an operator: ``torch.fft.rfft`` is ``fft_rfft``."""
    *path, name = operator.split(".")
    return _NAMESPACES.get(path[-1] if path else "", "") + name


def load_schemas(build: Build, cache: Cache) -> Schemas:
    """Every schema of the namespace aten that the torch of ``build`` has; each torch is asked once.

    Raises:
        BuildError: the interpreter does not work.
        DataError: it has no torch, or one that cannot be imported.
    """

    def ask(folder: Path) -> None:
        answer = inquire(build, "schemas", {})
        (folder / "answer.json").write_text(json.dumps(answer, allow_nan=False), encoding="utf-8")

    torch = inquire(build, "locate", {})
    texts = [json.dumps(part, sort_keys=True) for part in (torch, dict(build.env))]
    path = cache.entry("catalogue", key_of(scripts_text(), *texts), ask) / "answer.json"
    found = json.loads(path.read_text(encoding="utf-8"))["schemas"]
    schemas: dict[str, list[Schema]] = defaultdict(list)
    for schema in cattrs.structure(found, list[Schema]):
        schemas[schema.name].append(schema)
    return dict(schemas)


def load_public_operators(build: Build) -> tuple[PublicOperator, ...]:
    """Every public operator of the torch of ``build``, by namespace and name.

    Private and deprecated ones are left out. Raises what `load_schemas` does.
    """
    found = inquire(build, "public_operators", {})["operators"]
    return cattrs.structure(found, tuple[PublicOperator, ...])


# Which of them have an entry


@attrs.frozen
class Coverage:
    """Public operators, those called most first."""

    public: tuple[PublicOperator, ...]
    """All of them."""
    named: tuple[PublicOperator, ...]
    """With an entry of their own."""
    shared: tuple[PublicOperator, ...]
    """With the entry of a function that has their native name."""
    uncovered: tuple[PublicOperator, ...]


def coverage(
    public: Iterable[PublicOperator],
    entries: Sequence[OperatorEntry],
    categories: Sequence[str] = (),
) -> Coverage:
    """Which operators entries cover; only those of ``categories`` where any are named.

    An entry covers the operator of its name. The entry of a function also covers what has the same
    native name: ``torch.add`` covers ``Tensor.add``, as both call aten::add.

    Raises:
        UsageError: there is no such category; the error names what is near.
    """
    operators = sorted(public, key=lambda operator: (-operator.uses, operator.entry_name))
    natives = {operator.entry_name: operator.native for operator in operators}
    names = {entry.name for entry in entries}
    functions = {
        natives.get(entry.name) or native_name(entry.name)
        for entry in entries
        if not entry.is_method
    }
    found = _in_categories(operators, categories)
    named = [operator for operator in found if operator.entry_name in names]
    others = [operator for operator in found if operator.entry_name not in names]
    return Coverage(
        tuple(found),
        tuple(named),
        tuple(operator for operator in others if operator.native in functions),
        tuple(operator for operator in others if operator.native not in functions),
    )


def _in_categories(
    operators: Sequence[PublicOperator], patterns: Sequence[str]
) -> Sequence[PublicOperator]:
    """Those whose category matches a pattern, as a whole or in a part; all without any."""

    def is_in(operator: PublicOperator, pattern: str) -> bool:
        return any(fnmatchcase(text, pattern.lower()) for text in operator.category_parts)

    for pattern in patterns:
        if not any(is_in(operator, pattern) for operator in operators):
            known = {text for operator in operators for text in operator.category_parts}
            near = ", ".join(difflib.get_close_matches(pattern.lower(), sorted(known), n=3))
            raise UsageError(
                f"'{pattern}' matches no category.{f' Near: {near}.' if near else ''}",
                "For example: torch.linalg, pointwise or 'torch.Tensor*'",
            )
    return [
        operator
        for operator in operators
        if not patterns or any(is_in(operator, pattern) for pattern in patterns)
    ]
