"""Loads what a program passes on to a statement, in the process that measures.

It is copied beside what it loads, with cloudpickle, as the build need not have either.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import sys
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
