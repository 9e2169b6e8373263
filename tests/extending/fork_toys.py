"""Toys that the fork engine measures: a runtime, a kind of case, and a metric, from outside."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from instruction_counts import cli
from instruction_counts.core.runtimes import ARTEFACT_PATH, Artefact, Grouped, Runtime
from instruction_counts.core.runtimes import register as register_runtime
from instruction_counts.core.types import Language, RuntimeMode
from instruction_counts.domain.metrics import Metric
from instruction_counts.domain.metrics import register as register_metric
from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts, Instructions, Window
from instruction_counts.engines.callgrind import read
from instruction_counts.engines.counting import Counted, Loop
from instruction_counts.engines.kinds import Kind
from instruction_counts.engines.kinds import register as register_kind
from instruction_counts.system.worker_tasks import Task
from instruction_counts.system.worker_tasks import register as register_task

TASKS = Path(__file__).with_name("toy_tasks.py")

# A runtime whose artefact has a suffix of its own: made once in the build, loaded in each child.


@attrs.frozen
class Packed(Runtime):
    """Adds a tensor that was saved."""

    def stmt(self, group: Grouped, language: Language) -> str | None:
        """The statement, and the tensor."""
        return f"{group.stmt(language)}\ny.add_(packed)"

    def setup(self, group: Grouped, language: Language) -> str:
        """Load it."""
        del group, language
        return f'packed = torch.load("{ARTEFACT_PATH}")\nassert "{ARTEFACT_PATH}".endswith(".toy")'

    def artefact_source(self, group: Grouped) -> str:
        """Make it of the inputs."""
        return f"import torch\n{group.inputs(Language.PYTHON)}\npacked = x.clone()\n"


SAVING = "def save(path):\n    torch.save(packed, path)\n"
PACKED = Packed(
    RuntimeMode.new("PACKED", "Packed"), (Language.PYTHON,), artefact=Artefact(".toy", SAVING)
)

# A kind of case without windows: its first run, in several children.


def _evaluate(answers: Sequence[Mapping[str, Any]], folder: Path, loop: Loop) -> Counted:
    assert loop == Loop()
    profiles = [read(folder / f"{answer['dump']}-01") for answer in answers]
    least = min(profiles, key=lambda profile: profile.totals)
    costs = (
        FunctionCost(key.library, key.file, key.name, cost, cost)
        for key, cost in sorted(least.exclusive.items(), key=lambda item: -item[1])
    )
    windows = tuple(Window(1, profile.totals) for profile in profiles)
    is_exact = len({profile.totals for profile in profiles}) == 1
    return Counted(
        Instructions(least.totals, exact=is_exact, windows=windows),
        FunctionCosts(1, tuple(costs)),
        least.exclusive,
    )


ONCE = Kind("once", "once", _evaluate, has_windows=False, children=2)

# A metric that is measured in the build.

LETTERS = Metric("letters", "letters", "letters", "the statement", has_column=True, task="letters")


def main() -> int:
    """Register all of them, and run the program."""
    register_task(Task("letters", TASKS, in_child=True))
    register_task(Task("once", TASKS, in_child=True, while_counting=True))
    register_metric(LETTERS)
    register_kind(ONCE)
    register_runtime(PACKED)
    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
