"""Blocks of runs of a case, each timed when it is asked for. Never loaded while counting.

Two of these, one in each of two builds, are timed in turns: what drifts meets both.
"""

from __future__ import annotations

import ctypes
import gc
import resource
import socket

from .main import Channel, CompiledLoop, MeasurementError, Message, Shim, with_artefact
from .times import ResumedTimer, make_timer, timer_failure

_MOST_BLOCKS = 4096
"""Of a compiled loop, which is told its number before it begins."""


def blocks(request: Message, shim: Shim) -> Message:
    """Time a block of as many runs as each message says, until nobody asks any more."""
    case = with_artefact(request["case"], "")
    gc.disable()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(request["socket"])
        asked = _Asked(Channel(connection.fileno(), connection.fileno()))
        if case["language"] == "C++":
            _time_compiled(CompiledLoop(case), asked, shim)
        else:
            _time_python(case, asked, shim)
    return {}


class _Asked:
    """The blocks that are asked for at the other end."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._before = resource.getrusage(resource.RUSAGE_SELF)

    def get_ready(self) -> None:
        """Say that the setup has run."""
        self._channel.send({"type": "ready"})

    def begin(self) -> int:
        """Wait for the next block: how many runs it has. None is asked for any more where 0."""
        message = self._channel.receive()
        self._before = resource.getrusage(resource.RUSAGE_SELF)
        return 0 if message is None else int(message["runs"])

    def end(self, seconds: float) -> None:
        """Say how long it took, and what came between."""
        before, after = self._before, resource.getrusage(resource.RUSAGE_SELF)
        self._channel.send(
            {
                "seconds": seconds,
                "preempted": after.ru_nivcsw - before.ru_nivcsw,
                "major_faults": after.ru_majflt - before.ru_majflt,
            }
        )


def _time_python(case: Message, asked: _Asked, shim: Shim) -> None:
    make_timer(case)  # compiles the case as torch does, and says where it cannot
    timer = ResumedTimer(case, shim)
    try:
        timer.timeit(1)
        asked.get_ready()
        while True:
            runs = asked.begin()
            if not runs:
                return
            asked.end(timer.timeit(runs))
    except BaseException as error:
        raise MeasurementError(timer_failure(error, timer, case)) from error


def _time_compiled(loop: CompiledLoop, asked: _Asked, shim: Shim) -> None:
    """Each block is a window of one loop, whose length is known when it begins."""
    lengths = (ctypes.c_uint64 * _MOST_BLOCKS)()
    windows = iter(range(_MOST_BLOCKS))
    clock_begin, clock_end = shim.clock_hooks
    is_over = False

    def begin() -> None:
        nonlocal is_over
        window = next(windows)
        if is_over:
            return  # the windows that are left have no runs
        if window:
            asked.end(shim.clock_s())
        else:
            asked.get_ready()
        lengths[window] = runs = asked.begin()
        is_over = not runs
        clock_begin()

    loop.run(lengths, (ctypes.CFUNCTYPE(None)(begin), clock_end))
