"""Sample inputs of operators, from the database that torch tests itself with."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any, Set

from .installed import Message, RefusalError, identity, import_torch


def op_db(request: Message) -> Message:
    """Samples of the operators ``names``: of each variant ``limit`` at most, of type ``dtype``.

    With ``requires_grad``, inputs require a gradient where torch says that there is one.
    """
    torch = import_torch()
    dtype = getattr(torch, request["dtype"], None)
    if not isinstance(dtype, torch.dtype):
        raise RefusalError("torch has no dtype %r" % request["dtype"], "For example: float32")
    database = _database()
    operators = []
    for name in request["names"]:
        for entry in database:
            if name in spellings(entry):
                made = _samples(torch, entry, dtype, request)
                operators.append({"name": name, "variant": entry.variant_test_name, **made})
    return {**identity(torch), "operators": operators}


def _database() -> Any:
    try:
        from torch.testing._internal.common_methods_invocations import op_db as database
    except ModuleNotFoundError as error:
        if str(error.name).startswith("torch."):
            raise RefusalError("this torch has no samples of operators") from error
        raise RefusalError(
            "torch's samples of operators need the module %s" % error.name,
            "%s -m pip install %s" % (sys.executable, error.name),
        ) from error
    except Exception as error:
        message = "torch's samples of operators cannot be read: %s: %s"
        raise RefusalError(message % (type(error).__name__, error)) from error
    return database


def spellings(entry: Any) -> Set[str]:
    """All that an operator of the database is called: publicly, as a method, and natively."""
    names = {entry.name, *(alias.name for alias in entry.aliases)}
    public = {owner + name for owner in ("torch.", "torch.Tensor.") for name in names}
    return {*names, *public, entry.aten_name}


def _samples(torch: Any, entry: Any, dtype: Any, request: Message) -> Message:
    if dtype not in entry.dtypes:
        return {"samples": [], "reason": "it does not take %s" % dtype}
    has_gradient = entry.supports_autograd and dtype in entry.backward_dtypes
    torch.manual_seed(0)
    try:
        inputs = entry.sample_inputs(
            "cpu", dtype, requires_grad=request["requires_grad"] and has_gradient
        )
        samples = [_sample(torch, sample) for sample in itertools.islice(inputs, request["limit"])]
    except Exception as error:  # noqa: BLE001 - the database fails as it likes
        return {"samples": [], "reason": "%s: %s" % (type(error).__name__, error)}
    return {"samples": samples, "reason": ""}


def _sample(torch: Any, sample: Any) -> Message:
    return {
        "input": described(torch, sample.input),
        "args": [described(torch, value) for value in sample.args],
        "kwargs": {name: described(torch, value) for name, value in sample.kwargs.items()},
    }


def described(torch: Any, value: Any) -> Any:
    """A value as JSON; a tensor by what it is like, other objects by the code that makes them."""
    if isinstance(value, torch.Tensor):
        tensor = {
            "tensor": list(value.shape),
            "dtype": str(value.dtype).replace("torch.", ""),
            "requires_grad": bool(value.requires_grad),
        }
        if str(value.dtype).startswith(("torch.int", "torch.uint")) and value.numel():
            tensor["range"] = [int(value.min()), int(value.max())]  # often an index
        if value.layout is not torch.strided:
            tensor["layout"] = str(value.layout)
        return tensor
    if isinstance(value, list):
        return [described(torch, item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [described(torch, item) for item in value]}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"code": "float(%r)" % str(value)}
    return {"code": repr(value)}
