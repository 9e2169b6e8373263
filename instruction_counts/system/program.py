"""Where this program lies, and the name that it was started with."""

import sys
from pathlib import Path

from instruction_counts import core

HOME = Path(core.__file__).resolve().parents[1]
"""Holds ``core``, ``definitions`` and ``worker``: the checkout, or the installed package."""

PROGRAM = "instruction-counts"
"""The name of the installed program."""

DATABASE_VARIABLE = "INSTRUCTION_COUNTS_DB"
"""The variable of the environment that names the database of runs."""


def program_name() -> str:
    """What starts the program: ``python main.py`` in a checkout, or the installed program."""
    file = Path(sys.argv[0])
    if file.parts[-2:] == ("instruction_counts", "__main__.py"):
        return "python -m instruction_counts"
    return "python main.py" if file.name == "main.py" else PROGRAM
