"""A toy of each thing that can be added from outside, and the program with all of them."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from instruction_counts import cli
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core import runtimes
from instruction_counts.core.api import TimerArgs
from instruction_counts.core.expand import materialize
from instruction_counts.core.runtimes import ARTEFACT_PATH, Grouped, Runtime
from instruction_counts.core.types import Case, Language, RuntimeMode
from instruction_counts.domain import metrics
from instruction_counts.domain.build import Fingerprint
from instruction_counts.domain.outcomes import (
    FunctionCost,
    FunctionCosts,
    Instructions,
    Outcome,
    Status,
    Times,
    Window,
)
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines import kinds, registry
from instruction_counts.engines.callgrind import read
from instruction_counts.engines.counting import Counted, Loop
from instruction_counts.engines.engine import Engine, EngineEntry
from instruction_counts.report import renderers
from instruction_counts.report.document import Document
from instruction_counts.sources import registry as sources
from instruction_counts.system import worker_tasks

TASKS = Path(__file__).with_name("toy_tasks.py")

# A metric: it has a column of its own, and comparisons report its changes.

SHINE = metrics.Metric(
    "shine",
    "shine of the beads",
    "lumen",
    better=metrics.Better.MORE,
    judged=True,
    heading="shine",
    has_column=True,
)


# An engine: it counts the characters of a statement, each worth some beads.


class Abacus(Engine):
    """Counts without running anything."""

    def __init__(self, facts: BuildFacts) -> None:
        self._facts = facts

    def measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        """As many instructions as the statement has characters, times the beads."""
        del cores, folder
        count = len(order.case.timer_args.stmt) * int(os.environ.get("BEADS", "100"))
        windows = (Window(1, count), Window(2, 2 * count))
        return Outcome(
            Status.OK,
            instructions=Instructions(count, exact=True, windows=windows) if order.counts else None,
            times=Times.of([1e-6, 1e-6, 1e-6], 10) if order.times else None,
            metrics=metrics.Amounts({SHINE.name: int(os.environ.get("SHINE", "5"))}),
        )

    @property
    def fingerprint(self) -> Fingerprint:
        """That of the build."""
        return self._facts.fingerprint


ENGINE = EngineEntry("abacus", "counts characters", False, lambda facts, *_: Abacus(facts))


# A runtime: the statement, executed twice, in Python alone.


@attrs.frozen
class Twice(Runtime):
    """Executes a statement twice."""

    def stmt(self, group: Grouped, language: Language) -> str:
        """The statement, and again."""
        return f"{group.stmt(language)}\n{group.stmt(language)}"


TWICE = Twice(RuntimeMode.new("TWICE", "Twice"), (Language.PYTHON,), needs=("torch.nn.Module",))
UNHEARD = Twice(
    RuntimeMode.new("UNHEARD", "Unheard"), (Language.PYTHON,), needs=("torch.nn", "torch.unheard")
)


# A source of cases: a text file with a statement in each line.


@attrs.frozen
class Statements:
    """The lines of a file."""

    path: Path

    def cases(self) -> tuple[Case, ...]:
        """A case of each line."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return materialize(
            {(self.path.stem, str(number)): TimerArgs(line) for number, line in enumerate(lines)}
        )


SOURCE = sources.SourceEntry("statements", (".list",), Statements)


# A renderer: a line for each case of a run.


def _lines(document: Document) -> Iterator[str]:
    assert document.records is not None, "it is a run"
    names = ("label", "runtime", "instructions")
    for values in zip(*map(document.records.column, names), strict=True):
        yield f"{' '.join(map(str, values))}\n"


RENDERER = renderers.Renderer("lines", (".lines",), _lines)


# A runtime whose artefact has a suffix of its own: made once in the build, loaded in each child.


@attrs.frozen
class Packed(Runtime):
    """Adds a tensor that was saved."""

    def stmt(self, group: Grouped, language: Language) -> str:
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
    RuntimeMode.new("PACKED", "Packed"),
    (Language.PYTHON,),
    artefact=runtimes.Artefact(".toy", SAVING),
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
        least,
    )


FIRST = kinds.Kind("first", "first", _evaluate, has_windows=False, children=2)

# A metric that is measured in the build.

LETTERS = metrics.Metric("letters", "letters", "letters", has_column=True, task="letters")


def main() -> int:
    """Register all of them, and run the program."""
    metrics.register(SHINE)
    registry.register(ENGINE)
    runtimes.register(TWICE)
    runtimes.register(UNHEARD)
    sources.register(SOURCE)
    renderers.register(RENDERER)
    worker_tasks.register(worker_tasks.Task("letters", TASKS, in_child=True))
    worker_tasks.register(worker_tasks.Task("first", TASKS, in_child=True, while_counting=True))
    metrics.register(LETTERS)
    kinds.register(FIRST)
    runtimes.register(PACKED)
    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
