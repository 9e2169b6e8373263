"""What a program passes on, where it is loaded."""

import sys
from pathlib import Path
from types import CellType

import pytest
import torch.utils._contextlib

from worker.passed import load, made_again


def test_another_python_refuses_what_a_program_defined(tmp_path: Path) -> None:
    """It executes other bytecode."""
    other = sys.version_info[0], sys.version_info[1] + 1

    with pytest.raises(RuntimeError, match=r"to builds of its own Python, 3\.\d+; this is 3"):
        load(str(tmp_path / "saved"), other)


def test_a_wrapper_is_made_of_the_code_that_the_library_has_here() -> None:
    """One that reads other variables is not what the program had."""
    place = "torch.utils._contextlib", "context_decorator.<locals>.decorate_context"
    made = made_again(*place, ("ctx_factory", "func"), (CellType(), CellType()))

    assert vars(torch.utils._contextlib) is made.__globals__
    assert made.__code__ in torch.utils._contextlib.context_decorator.__code__.co_consts
    with pytest.raises(RuntimeError, match="is another one in this build"):
        made_again(*place, ("func",), (CellType(),))
