"""The operators of an installed torch, as its build tells them; kept in the cache folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.builds.build import Build
from instruction_counts.builds.inquiry import inquire, script_path
from instruction_counts.cache import Cache, key_of

_SCRIPT = "catalogue"


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


def load_schemas(build: Build, cache: Cache) -> tuple[Schema, ...]:
    """Every schema of the namespace aten that the torch of ``build`` has, by name and overload.

    Raises:
        BuildError: the interpreter does not work.
        DataError: it has no torch, or one that cannot be imported.
    """
    answer = _kept(build, cache, {"question": "schemas"})
    return tuple(_schema(one) for one in answer["schemas"])


def _kept(build: Build, cache: Cache, request: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to ``request``, asked once for each torch, script and request."""
    torch = inquire(build, _SCRIPT, {"question": "locate"})
    texts = [json.dumps(one, sort_keys=True) for one in (torch, dict(build.env), dict(request))]
    key = key_of(script_path(_SCRIPT).read_text(encoding="utf-8"), *texts)

    def ask(folder: Path) -> None:
        answer = inquire(build, _SCRIPT, request)
        (folder / "answer.json").write_text(json.dumps(answer), encoding="utf-8")

    path = cache.entry("catalogue", key, ask) / "answer.json"
    answer: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return answer


def _schema(found: Mapping[str, Any]) -> Schema:
    arguments = tuple(Argument(**one) for one in found["arguments"])
    return Schema(found["name"], found["overload"], arguments, tuple(found["returns"]))
