"""The torch that is installed beside this interpreter, or why there is none."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any, Dict

from .main import MeasurementError

Message = Dict[str, Any]


class RefusalError(MeasurementError):
    """A task that this build cannot carry out, and what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__({"kind": "refused", "message": message, "hint": hint})
        self.message, self.hint = message, hint


def torch_folder() -> Path:
    """Where it lies, without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        raise RefusalError(
            "%s has no torch" % sys.executable,
            "%s -m pip install torch     or name another build" % sys.executable,
        )
    return Path(spec.origin).parent


def import_torch() -> Any:
    """It, or a refusal with the reason."""
    torch_folder()
    try:
        import torch
    except Exception as error:  # a broken torch fails in many ways
        message = "cannot import torch: %s: %s" % (type(error).__name__, error)
        hint = "The error is torch's own; all of it:  %s -c 'import torch'" % sys.executable
        raise RefusalError(message, hint) from error
    return torch


def identity(torch: Any) -> Message:
    """Its version, and the commit that it was built from."""
    return {
        "torch_version": str(torch.__version__),
        "git_version": getattr(torch.version, "git_version", None) or "",
    }


def summary(error: BaseException) -> str:
    """The type of an error, and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
