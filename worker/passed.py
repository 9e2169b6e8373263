"""Loads what a program passes on to a statement, in the process that measures.

It is copied beside what it loads, with cloudpickle, as the build need not have either.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any


def load(path: str, python: tuple[int, int]) -> Any:
    """The values that a program of this version of ``python`` saved.

    Raises:
        RuntimeError: this is another Python, which executes other bytecode.
    """
    if sys.version_info[:2] != python:
        raise RuntimeError(
            "functions and classes of a program go to builds of its own Python, %d.%d;"
            " this is %d.%d. Install their module there" % (*python, *sys.version_info[:2])
        )
    importlib.import_module("cloudpickle")
    sys.path.remove(str(Path(path).parent))
    if path.endswith(".pt"):
        import torch

        return torch.load(path, weights_only=False)
    return pickle.loads(Path(path).read_bytes())  # noqa: S301 - of the program that counts


def find(places: dict[str, tuple[str | None, list[str]]], folder: str) -> None:
    """Find modules at their places, which are a file or folders, and in a folder those of no place.

    What is found anywhere else is not looked for here.
    """
    del sys.path[0]  # where this lies
    sys.meta_path.append(_Finder(places, folder))


class _Finder:
    """Finds top-level modules by their places.

    Python itself would list the folders: whatever else lies there would lie in memory, and move
    counts. So only what a place is not known of, as nobody imported it yet, is found as it does.
    """

    def __init__(self, places: dict[str, tuple[str | None, list[str]]], folder: str) -> None:
        self._places, self._folder = places, folder

    def find_spec(self, name: str, path: Any = None, _: Any = None) -> ModuleSpec | None:
        if path is not None:
            return None
        if name not in self._places:
            return PathFinder.find_spec(name, [self._folder])
        file, folders = self._places[name]
        if file is not None:
            return spec_from_file_location(name, file, submodule_search_locations=folders or None)
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = folders
        return spec


def made_again(module: str, name: str, reads: tuple[str, ...], cells: Any) -> FunctionType:
    """A function as code of a module makes it inside another one, of which it ``reads`` variables.

    ``name`` is qualified, ``decorator.<locals>.wrapper``, and ``cells`` have the variables.

    Raises:
        RuntimeError: the module makes none that reads these variables.
    """
    outer, *inner = name.split(".<locals>.")
    owner: Any = importlib.import_module(module)
    namespace = vars(owner)
    for part in outer.split("."):
        owner = getattr(owner, part)
    codes = [inspect.unwrap(owner).__code__]
    for part in ".".join(inner).split("."):
        constants = [each for code in codes for each in code.co_consts]
        codes = [each for each in constants if isinstance(each, CodeType) and each.co_name == part]
    codes = [code for code in codes if code.co_freevars == reads]
    if len(codes) != 1:
        raise RuntimeError("%s of %s is another one in this build" % (name, module))
    return FunctionType(codes[0], namespace, None, None, cells)
