"""Modules that lie beside a program, its notebook or its test, and in no library.

The process that counts does not search their folders: it is told the file of each that it needs.
"""

import dis
import importlib.util
import os
import re
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType
from typing import TypeAlias

from instruction_counts.domain.errors import UsageError

Place: TypeAlias = tuple[str | None, list[str]]
"""The file of a module, if it has one, and where its submodules are searched."""

_IMPORT = dis.opmap["IMPORT_NAME"]
_LIBRARIES = (
    f"{Path(os.__file__).parent}/",  # wherever the standard library was really found
    *(f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib")),
    *(f"{path}/" for path in site.getsitepackages()),
)


def modules_beside(codes: Iterable[CodeType] = ()) -> dict[str, Place]:
    """The top-level modules that the program imported, or ``codes`` import, from no library."""
    specs = {name: getattr(module, "__spec__", None) for name, module in [*sys.modules.items()]}
    specs |= {
        name: _spec_of(name)
        for code in codes
        for name in _imported(code)
        if name not in sys.modules
    }
    places = {
        name: _place_of(spec)
        for name, spec in specs.items()
        if isinstance(spec, ModuleSpec) and name == spec.name and "." not in name
    }
    return {name: place for name, place in places.items() if _is_beside(*place)}


def needed(text: bytes, beside: Mapping[str, Place]) -> dict[str, Place]:
    """Those of ``beside`` that ``text``, code or a pickle, names, with those that they name.

    Raises:
        UsageError: one has the name of a module of the standard library, which is imported instead.
    """
    found: dict[str, Place] = {}
    left = [*_named(text, beside)]
    while left:
        name = left.pop()
        if name not in found:
            found[name] = beside[name]
            left += (other for part in _texts_of(name) for other in _named(part, beside))
    for name in found.keys() & sys.stdlib_module_names:
        raise UsageError(
            f"{found[name][0] or name} has the name of a module of the standard library, "
            "which would be measured instead",
            "Rename it.",
        )
    return dict(sorted(found.items()))


def _place_of(spec: ModuleSpec) -> Place:
    return spec.origin if spec.has_location else None, [*(spec.submodule_search_locations or ())]


def _is_beside(file: str | None, folders: list[str]) -> bool:
    place = next(filter(None, [file, *folders]), "")
    return place.startswith("/") and not place.startswith(_LIBRARIES)


def _imported(code: CodeType) -> Iterator[str]:
    if _IMPORT in code.co_code:  # else nothing is, and telling instructions apart takes long
        for step in dis.get_instructions(code):
            if step.opcode == _IMPORT:
                yield step.argval.partition(".")[0]
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _imported(part)


def _spec_of(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name) if name else None
    except (ImportError, ValueError):
        return None


def _named(text: bytes, beside: Mapping[str, Place]) -> Iterator[str]:
    words = {*re.findall(rb"\w+", text)}
    for name in beside:
        if not words.isdisjoint({name.encode(), f"c{name}".encode()}):  # c: an import in a pickle
            yield name


def _texts_of(name: str) -> Iterator[bytes]:
    """The code of a module and of those in it that were imported."""
    for module, found in [*sys.modules.items()]:
        file = getattr(found, "__file__", None) or ""
        if (module == name or module.startswith(f"{name}.")) and file.endswith(".py"):
            try:
                yield Path(file).read_bytes()
            except OSError:  # importing it says why
                continue
