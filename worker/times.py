"""Wall times, and the reference engine: torch's own Timer as it is. Never loaded while counting."""

from __future__ import annotations

import ctypes
import os
import re
import select
import threading
from typing import Any

from .main import (
    CompiledLoop,
    MeasurementError,
    Message,
    PythonLoop,
    Shim,
    Source,
    describe,
    pin,
    with_artefact,
)

_SIGKILL = 9


def measure(request: Message) -> Message:
    """One case with ``Timer.blocked_autorange`` and ``Timer.collect_callgrind``."""
    _end_with_controller(request["read_fd"])
    pin(request["cores"])
    import torch

    torch.set_num_threads(request["case"]["num_threads"])  # an artefact may hold to it
    case = with_artefact(request["case"], request["folder"])
    timer = make_timer(case)
    result = {}
    try:
        if request["times"]:
            result["times"] = time_blocks(timer, request)
        if request["counts"]:
            result["counts"] = _collect_callgrind(timer, request)
    except BaseException as error:
        raise MeasurementError(timer_failure(error, timer, case)) from error
    return result


def times(request: Message, shim: Shim) -> Message:
    """Wall times of a case."""
    case = with_artefact(request["case"], "")
    if case["language"] == "C++":
        timer = make_timer(
            {**case, "stmt": "pass", "setup": "", "global_setup": "", "language": ""}
        )
        timer._timer = CompiledTimer(CompiledLoop(case), shim)
    else:
        timer = make_timer(case)
        if shim.starts_in_children:
            timer._timer = ResumedTimer(case, shim)
    try:
        return {"times": time_blocks(timer, request)}
    except BaseException as error:
        raise MeasurementError(timer_failure(error, timer, case)) from error


def make_timer(case: Message) -> Any:
    """The Timer of a case."""
    from torch.utils.benchmark import Timer
    from torch.utils.benchmark.utils.timer import Language

    is_cpp = case["language"] == "C++"
    try:
        return Timer(
            stmt=case["stmt"],
            setup=case["setup"] or ("" if is_cpp else "pass"),
            global_setup=case["global_setup"],
            num_threads=case["num_threads"],
            language=Language.CPP if is_cpp else Language.PYTHON,
        )
    except SyntaxError as error:
        failure = describe(error, {})
        # Without the file, which only timeit names.
        failure["message"] = "%s: %s" % (type(error).__name__, error.msg)
        failure["code"] = (error.text or "").strip()
        failure["place"] = place_of(failure["code"], case)
        raise MeasurementError(failure) from error


def time_blocks(timer: Any, request: Message) -> Message:
    """Wall times of one run: a value for each block of runs, which the Timer chooses."""
    # A first run that is slow would make it choose blocks of one run.
    timer.timeit(1)
    measurement = timer.blocked_autorange(min_run_time=request["min_run_time_s"])
    return {"values_s": list(measurement.times), "runs": measurement.number_per_run}


def _collect_callgrind(timer: Any, request: Message) -> Message:
    stats = timer.collect_callgrind(
        number=request["number"], repeats=request["repeats"], collect_baseline=True
    )
    return {
        "runs": request["number"],
        "windows": [one.counts(denoise=False) for one in stats],
        "baseline": sum(cost.count for cost in stats[0].baseline_exclusive_stats),
        "exclusive": [[cost.count, cost.function] for cost in stats[0].stmt_exclusive_stats],
        "inclusive": [[cost.count, cost.function] for cost in stats[0].stmt_inclusive_stats],
    }


def timer_failure(error: BaseException, timer: Any, case: Message) -> Message:
    """What went wrong inside a Timer, at the user's line."""
    if isinstance(error, MeasurementError):
        return error.failure
    if case["language"] == "C++" and "error: " in str(error):
        return compiler_failure(str(error))
    # timeit compiles the code under this name, and keeps its text.
    source = getattr(getattr(timer, "_timer", None), "src", "")
    lines = {"line": (1, source.count("\n") + 1)}
    failure = describe(error, {"<timeit-src>": Source(source, lines)})
    failure["place"] = place_of(failure["code"], case)
    return failure


_MOST_RUNS = 10**9
"""Torch's Timer adds runs until they take some time: more than a second's worth take none."""


class CompiledTimer:
    """What torch's Timer calls in place of ``timeit.Timer``: blocks of a compiled loop."""

    def __init__(self, loop: CompiledLoop, shim: Shim) -> None:
        self._loop, self._shim = loop, shim

    def timeit(self, number: int) -> float:
        """Seconds that ``number`` runs take, after some to warm up (TorchScript needs several)."""
        if number > _MOST_RUNS:
            message = "the statement takes no time: the compiler removes it, since nothing uses it"
            raise MeasurementError({"kind": "compile", "message": message})
        lengths = (ctypes.c_uint64 * 2)(min(number, 10), number)
        self._loop.run(lengths, self._shim.clock_hooks)
        return float(self._shim.clock_s())


class ResumedTimer:
    """The same for a Python case whose setup runs once: each run of it would compile again."""

    def __init__(self, case: Message, shim: Shim) -> None:
        self._loop, self._shim = PythonLoop(case, shim.idle_hooks, pausing=True), shim
        self._runs: list[int] = []
        self._windows = ((runs, *shim.clock_hooks) for runs in iter(self._runs.pop, None))

    def timeit(self, number: int) -> float:
        """Seconds that ``number`` runs take."""
        self._runs.append(number)
        self._loop.run_window(self._windows)
        return float(self._shim.clock_s())


def _end_with_controller(read_fd: int) -> None:
    """Kill the process group, Valgrind and compilers included, when the controller is gone."""

    def watch() -> None:
        poll = select.poll()
        poll.register(read_fd, 0)  # the hang-up alone, which cannot be masked
        poll.poll()
        os.killpg(0, _SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


_COMPILER_ERROR = re.compile(r"^[^\s:][^:]*:\d+:(?:\d+:)? (?:fatal )?(error: .*)$", re.MULTILINE)


def compiler_failure(output: str) -> Message:
    """The first error in the output of a C++ compiler, and the last of the output."""
    found = _COMPILER_ERROR.search(output)
    message = found[1] if found else "the C++ compiler failed"
    return {"kind": "compile", "message": message, "output": output[-4000:]}


def place_of(code: str, case: Message) -> str:
    """Where a line of code stands in a case: ``stmt line 1``; empty if it is not there."""
    for name in ("stmt", "setup", "global_setup"):
        for number, line in enumerate(case[name].splitlines(), 1):
            if code and line.strip() == code:
                return "%s line %d" % (name, number)
    return ""
