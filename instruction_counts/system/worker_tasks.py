"""What a worker can be asked to do: the table of its tasks.

A task is a function of a module in `worker/`, or of one that is registered from outside. It takes
the request, and in a child of a server also the `Shim`; what it returns is the answer.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

from instruction_counts.domain.registry import Registry
from instruction_counts.system.program import HOME

FOLDER = HOME / "worker"


@attrs.frozen
class Task:
    """A task, by the name of its function."""

    name: str
    module: Path
    """The file of the module that it is a function of."""
    in_child: bool = False
    """Whether it is carried out in a child of a server, which imported torch."""
    while_counting: bool = False
    """Whether that is the server under Callgrind."""
    only_for: str = ""
    """The module that prepares the servers of the cases that it is for; empty where of all."""

    @property
    def request(self) -> dict[str, str]:
        """What a request for it says; the module that counts needs no name."""
        request = {"task": self.name}
        return request if self.module == COUNTED[0] else {**request, "module": self.module.stem}


_STEADY = Path(__file__).parents[1] / "engines" / "native" / "steady.c"
COUNTED = tuple(
    FOLDER / f"{name}.py"
    for name in ("main", "compiled", "cpython", "method_cache", "names", "once")
)
"""What a process that counts executes; an edit of anything else moves no count."""


def _task(name: str, module: str, *, in_child: bool = False) -> Task:
    return Task(name, FOLDER / f"{module}.py", in_child)


_TASKS = Registry(
    "task",
    Task("counts", COUNTED[0], in_child=True, while_counting=True),
    Task("once", FOLDER / "once.py", in_child=True, while_counting=True),
    _task("once_timed", "once", in_child=True),
    _task("once_bytecodes", "executed", in_child=True),
    _task("once_operators", "executed", in_child=True),
    _task("times", "times", in_child=True),
    _task("blocks", "blocks", in_child=True),
    _task("artefact", "artefacts", in_child=True),
    _task("output", "outputs", in_child=True),
    _task("resources", "resources", in_child=True),
    _task("hardware", "hardware", in_child=True),
    _task("executed", "executed", in_child=True),
    _task("cuda_calls", "cuda_calls", in_child=True),
    _task("compiled", "artefacts", in_child=True),
    _task("loaded", "loaded", in_child=True),
    Task("loaded_while_counting", FOLDER / "loaded.py", in_child=True, while_counting=True),
    Task("compilations", FOLDER / "artefacts.py", in_child=True, only_for="compiled"),
    _task("identify", "installed"),
    _task("cuda_libraries", "installed"),
    _task("measure", "times"),
    _task("profile", "launches"),
    _task("capability", "capability"),
    _task("find", "source_lines"),
    _task("locate", "catalogue"),
    _task("schemas", "catalogue"),
    _task("public_operators", "catalogue"),
    _task("trace", "models"),
)
unregister, task_named = _TASKS.unregister, _TASKS.named


def register(task: Task) -> Task:
    """Add a task.

    Raises:
        ValueError: there is one of that name, or another module that is called like its own.
    """
    others = (other.module for other in _TASKS.values() if other.module.stem == task.module.stem)
    if any(module != task.module for module in others):
        raise ValueError(f"another module {task.module.name} is registered already")
    return _TASKS.register(task)


def request_for(
    name: str, case: Mapping[str, Any] = MappingProxyType({}), cores: Sequence[int] = ()
) -> dict[str, Any]:
    """What asks a server for a task, for a case that is given to a child on ``cores``."""
    return {**task_named(name).request, "cores": list(cores), "case": dict(case)}


def has_others() -> bool:
    """Whether tasks were registered from outside, of which other processes do not know."""
    return any(task.module.parent != FOLDER for task in _TASKS.values())


def counting_digest() -> str:
    """What tells one program that counts from another: of all that its counting process executes.

    An edit of anything else, such as a task that never runs there, does not change it.
    """
    digest = hashlib.sha256()
    for path in (*COUNTED, _STEADY):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def modules_of_servers(*, counting: bool) -> tuple[Path, ...]:
    """The files of the tasks that children of a server can be asked for, beside what counts."""
    tasks = [task for task in _TASKS.values() if task.in_child and task.while_counting is counting]
    return tuple(dict.fromkeys(task.module for task in tasks if task.module not in COUNTED))
