"""Asking the interpreter of a build, without torch and within some 20 ms."""

import json
import subprocess
from collections.abc import Collection
from typing import Any

from instruction_counts.builds.hermetic import environment, interpreter_of
from instruction_counts.domain.build import Build
from instruction_counts.system.commands import called

_TIMEOUT_S = 60.0
_LACKS = (
    "import importlib.util as util, json, sys;"
    "print(json.dumps([name for name in sys.argv[1:] if util.find_spec(name) is None]))"
)


def printed(build: Build, code: str, *arguments: str) -> Any:
    """The JSON that ``code`` prints last in the interpreter of ``build``; None where that fails.

    What is imported at each start of it may print something before.
    """
    try:
        command = [interpreter_of(build), "-c", code, *arguments]
        done = called(command, env=environment(build), cwd="/", timeout=_TIMEOUT_S)
        done.check_returncode()
        return json.loads(done.stdout.rstrip().rpartition("\n")[2])
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def missing_modules(build: Build, names: Collection[str]) -> frozenset[str]:
    """Those of the top-level modules ``names`` that ``build`` has not; none where it says nothing.

    What it would be measured with counts: no folder of a script, and its own ``PYTHONPATH``.
    """
    return frozenset(printed(build, _LACKS, *sorted(names)) or () if names else ())
