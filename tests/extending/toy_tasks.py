"""Tasks of a worker that are registered from outside: they run in the build under test."""

import os
from typing import Any

from .main import Message, with_artefact


def letters(request: Message, shim: Any) -> Message:
    """A metric: the letters of a statement, in a child that has torch."""
    return {"metrics": {"letters": sum(map(str.isalpha, request["case"]["stmt"]))}}


def first(request: Message, shim: Any) -> Message:
    """Count the first run of a statement, which nothing warmed up."""
    case = with_artefact(request["case"], "")
    namespace: Message = {}
    exec(f"import torch\n{case['setup']}", namespace)  # noqa: S102 - as the worker does
    code, (begin, end) = compile(case["stmt"], "<stmt>", "exec"), shim.count_hooks
    begin()
    exec(code, namespace)  # noqa: S102
    end()
    pid = os.getpid()
    return {"dump": f"{request['dumps']}.{pid}.1", "pid": pid}
