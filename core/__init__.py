"""The benchmark DSL and its expansion: pure values, no I/O, no torch.

Its name is `instruction_counts.core`. Definition files call it ``core``, which is another name of
the same modules, never a second copy of them.
"""

import importlib
import pkgutil
from sys import modules

if __name__ == "core":
    _whole = importlib.import_module("instruction_counts.core")
    for _module in pkgutil.walk_packages(_whole.__path__, "instruction_counts.core."):
        _name = _module.name.removeprefix("instruction_counts.")
        modules[_name] = importlib.import_module(_module.name)
    modules["core"] = _whole
