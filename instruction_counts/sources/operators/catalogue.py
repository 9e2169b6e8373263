"""The operators of an installed torch, as its build tells them, and which of them have an entry."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import cattrs

from instruction_counts.builds.probing import inquire, scripts_text
from instruction_counts.domain.build import Build
from instruction_counts.sources.operators.entries import OperatorEntry
from instruction_counts.system.cache import Cache, key_of

_NAMESPACES = {"linalg": "linalg_", "fft": "fft_", "special": "special_", "sparse": "_sparse_"}


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


Schemas: TypeAlias = Mapping[str, Sequence[Schema]]
"""All overloads, by their common name."""


@attrs.frozen
class PublicOperator:
    """An operator as users call it: ``torch.linalg.norm``, whose name in aten is ``native``.

    ``uses`` is how often the Python sources of torch call something of that name: for methods, an
    upper limit.
    """

    name: str
    namespace: str
    native: str
    uses: int

    @property
    def entry_name(self) -> str:
        """As entries name it: ``Tensor.add`` for ``torch.Tensor.add``."""
        is_method = self.namespace == "torch.Tensor"
        return self.name.removeprefix("torch.") if is_method else self.name


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


@attrs.frozen
class Coverage:
    """The public operators of a build, and those without an entry; those called most first."""

    public: tuple[PublicOperator, ...]
    uncovered: tuple[PublicOperator, ...]


def coverage(build: Build, entries: Sequence[OperatorEntry]) -> Coverage:
    """Which public operators of the torch of ``build`` entries cover.

    Private and deprecated ones are left out. Raises what `load_schemas` does.
    """
    found = inquire(build, "public_operators", {})["operators"]
    return covered(cattrs.structure(found, list[PublicOperator]), entries)


def covered(public: Iterable[PublicOperator], entries: Sequence[OperatorEntry]) -> Coverage:
    """Which operators entries cover.

    An entry covers the operator of its name. The entry of a function also covers what has the same
    native name: ``torch.add`` covers ``Tensor.add``, as both call aten::add.
    """
    operators = sorted(public, key=lambda operator: (-operator.uses, operator.entry_name))
    natives = {operator.entry_name: operator.native for operator in operators}
    names = {entry.name for entry in entries}
    functions = {
        natives.get(entry.name) or native_name(entry.name)
        for entry in entries
        if not entry.is_method
    }
    uncovered = (
        operator
        for operator in operators
        if operator.entry_name not in names and operator.native not in functions
    )
    return Coverage(tuple(operators), tuple(uncovered))
