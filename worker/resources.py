"""What a statement uses beside instructions: memory, operations, and what it moves."""

from __future__ import annotations

import ast
import re
from typing import Any, Callable, Sequence

from .main import MeasurementError, Message, Shim, describe, with_artefact
from .outputs import code_of, values_in, with_named_results


def resources(request: Message, shim: Shim) -> Message:
    """What one run of a Python statement allocates, computes and moves, after one to warm up.

    What cannot be told is None, with the reason; None without one is a statement for whose
    operators torch knows no number of floating point operations.
    """
    del shim
    import torch

    case = with_artefact(request["case"], "")
    torch.set_num_threads(case["num_threads"])
    setup: Message = {"torch": torch}
    exec(code_of(case["setup"], "<setup>"), setup)
    code = code_of(case["stmt"], "<stmt>")

    def run() -> None:
        # In names of its own, so that it neither frees nor finds what an earlier run made.
        exec(code, dict(setup))

    run()
    reasons: list[str] = []
    memory = _if_possible(reasons, lambda: allocated_in(torch, run))
    metrics = {
        "tensor_bytes": memory and memory[0],
        "peak_bytes": memory and memory[1],
        "flops": _if_possible(reasons, lambda: flops_in(run)),
        "moved_bytes": _if_possible(reasons, lambda: moved_bytes(torch, setup, case["stmt"])),
    }
    return {"metrics": metrics, "reason": "; ".join(reasons)}


def _if_possible(reasons: list[str], function: Callable[[], Any]) -> Any:
    try:
        return function()
    except MeasurementError as error:
        reasons.append(error.failure["message"])
    except Exception as error:  # noqa: BLE001 - whatever a tool of torch cannot do
        reasons.append(describe(error, {})["message"].partition("\n")[0][:300])
    return None


def allocated_in(torch: Any, run: Callable[[], None]) -> tuple[int, int]:
    """The bytes that torch allocates for tensors in a run, and the most that it holds at once."""
    # Not torch.profiler, which is the same with two seconds of imports.
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        run()
    changes = [
        (one.start_ns() if hasattr(one, "start_ns") else one.start_us(), one.nbytes())
        for one in profile.kineto_results.events()
        if one.name() == "[memory]"
    ]
    held, peak, allocated = 0, 0, 0
    for _, size in sorted(changes, key=lambda change: change[0]):
        held += size
        peak = max(peak, held)
        allocated += max(size, 0)
    return allocated, peak


def flops_in(run: Callable[[], None]) -> int | None:
    """Floating point operations of a run; None where torch has a formula for none of its parts."""
    try:
        from torch.utils.flop_counter import FlopCounterMode
    except ImportError:
        message = "this torch does not count floating point operations"
        raise MeasurementError({"message": message}) from None
    with FlopCounterMode(display=False) as mode:
        run()
    # Its total is 0 both for an empty matrix product and for what it knows nothing of.
    by_operator = mode.get_flop_counts().get("Global", {})
    return sum(int(flops) for flops in by_operator.values()) if by_operator else None


def moved_bytes(torch: Any, setup: Message, stmt: str) -> int:
    """Bytes of the setup's tensors that the statement names, and of those that it makes."""
    names = {node.id for node in ast.walk(ast.parse(stmt)) if isinstance(node, ast.Name)}
    before = _tensors_by_path(torch, setup)
    versions = {id(one): _version(one) for one in before.values()}
    memory = {*map(_address, before.values())}
    namespace = dict(setup)
    exec(code_of(with_named_results(stmt), "<stmt>"), namespace)
    after = _tensors_by_path(torch, namespace).values()
    read = [one for path, one in before.items() if re.split(r"[.\[]", path)[0] in names]
    changed = [one for one in after if versions.get(id(one), _version(one)) != _version(one)]
    made = [one for one in after if _address(one) not in memory]
    return distinct_bytes(read) + distinct_bytes([*changed, *made])


def _tensors_by_path(torch: Any, namespace: Message) -> dict[str, Any]:
    values = values_in(torch, namespace)
    return {path: one for path, one in values if isinstance(one, torch.Tensor)}


def _version(tensor: Any) -> int:
    # It goes up with every change in place. Tensors of inference mode have none.
    return 0 if tensor.is_inference() else int(tensor._version)


def distinct_bytes(tensors: Sequence[Any]) -> int:
    """Bytes of tensors; those that share memory count no more than there is of it."""
    wholes: dict[int, int] = {}
    views: dict[int, dict[Any, int]] = {}
    for tensor in tensors:
        address = _address(tensor)
        wholes[address] = int(_storage(tensor).nbytes())
        view = (tensor.storage_offset(), tuple(tensor.shape), tensor.stride())
        views.setdefault(address, {})[view] = tensor.numel() * tensor.element_size()
    return sum(min(wholes[address], sum(sizes.values())) for address, sizes in views.items())


def _storage(tensor: Any) -> Any:
    # Sparse tensors and others have none, and raise.
    return getattr(tensor, "untyped_storage", tensor.storage)()


def _address(tensor: Any) -> int:
    return int(_storage(tensor).data_ptr())
