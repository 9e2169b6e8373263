"""The application: builds, engines, execution, results and reports."""

import importlib
from typing import Any

__version__ = "1.0.0"


def load_ipython_extension(shell: Any) -> None:
    """What ``%load_ext instruction_counts`` calls: adds the magic ``%icount``."""
    importlib.import_module("instruction_counts.notebook.extension").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """What ``%unload_ext instruction_counts`` calls: removes it, and ends its servers."""
    importlib.import_module("instruction_counts.notebook.extension").unload(shell)
