"""A toy of each thing that can be added from outside, and the program with all of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from instruction_counts import cli
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.api import TimerArgs
from instruction_counts.core.expand import materialize
from instruction_counts.core.runtimes import Grouped, Runtime
from instruction_counts.core.runtimes import register as register_runtime
from instruction_counts.core.types import Case, Language, RuntimeMode
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.metrics import Amounts, Better, Metric
from instruction_counts.domain.metrics import register as register_metric
from instruction_counts.domain.outcomes import Instructions, Outcome, Status, Times, Window
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import EngineEntry, Lend, Notice, Profile
from instruction_counts.engines.registry import register as register_engine
from instruction_counts.report.document import Document
from instruction_counts.report.renderers import Renderer
from instruction_counts.report.renderers import register as register_renderer
from instruction_counts.sources.registry import SourceEntry
from instruction_counts.sources.registry import register as register_source

# A metric: it has a column of its own, and comparisons report its changes.

SHINE = Metric(
    "shine",
    "shine of the beads",
    "lumen",
    "the abacus",
    better=Better.MORE,
    judged=True,
    heading="shine",
    has_column=True,
)


# An engine: it counts the characters of a statement, each worth some beads.


class Abacus:
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
            metrics=Amounts({SHINE.name: int(os.environ.get("SHINE", "5"))}),
        )

    @property
    def fingerprint(self) -> Fingerprint:
        """That of the build."""
        return self._facts.fingerprint

    def check(self, orders: Sequence[WorkOrder]) -> None:
        """It can always start."""

    def start(self, orders: Sequence[WorkOrder], lend: Lend) -> None:
        """Nothing to get ready."""

    def wait(self) -> None:
        """Nothing to wait for."""

    def close(self) -> None:
        """Nothing to end."""


def make_abacus(facts: BuildFacts, _: Profile, __: Notice) -> Abacus:
    """An engine for a build."""
    return Abacus(facts)


ENGINE = EngineEntry(
    "abacus",
    "counts characters",
    frozenset(),
    make_abacus,
)


# A runtime: the statement, executed twice, in Python alone.


@attrs.frozen
class Twice(Runtime):
    """Executes a statement twice."""

    def stmt(self, group: Grouped, language: Language) -> str | None:
        """The statement, and again."""
        stmt = group.stmt(language)
        return None if stmt is None else f"{stmt}\n{stmt}"


TWICE = Twice(RuntimeMode.new("TWICE", "Twice"), (Language.PYTHON,), needs=("torch.nn.Module",))
UNHEARD = Twice(RuntimeMode.new("UNHEARD", "Unheard"), (Language.PYTHON,), needs=("torch.unheard",))


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


SOURCE = SourceEntry("statements", (".list",), Statements)


# A renderer: a line for each case of a run.


def _lines(document: Document) -> Iterator[str]:
    assert document.records is not None, "it is a run"
    names = ("label", "runtime", "instructions")
    for values in zip(*map(document.records.column, names), strict=True):
        yield f"{' '.join(map(str, values))}\n"


RENDERER = Renderer("lines", (".lines",), _lines)


def main() -> int:
    """Register all of them, and run the program."""
    register_metric(SHINE)
    register_engine(ENGINE)
    register_runtime(TWICE)
    register_runtime(UNHEARD)
    register_source(SOURCE)
    register_renderer(RENDERER)
    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
