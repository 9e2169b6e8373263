"""How far memory layouts move counts: of the standard suite, and of cases it was not tuned to.

    make bench-layouts      (Python about 20 minutes; ARGS="--language c++" less)

Each case is counted by whole servers in several layouts. Nothing is verified or judged: these are
the counts as they come. Cases that draw random numbers are left out.
"""

import argparse
import sys
from collections.abc import Sequence

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks import foreign
from definitions import standard
from instruction_counts.cli import console
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case, CaseKey, Language
from instruction_counts.domain.build import Build
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.comparing import recount

SETS = {"the foreign set": foreign.BENCHMARKS, "the suite": standard.BENCHMARKS}
DRAWING = ("Random", "dropout, training")
"""Labels of cases that draw random numbers."""
WITHIN = (0.0, 0.0001, 0.0005, 0.001, 0.003)
_LARGEST_SHOWN = 12


@attrs.frozen
class Counted:
    """The counts of cases in some layouts, and which are exact in the first."""

    exact: frozenset[CaseKey]
    layouts: tuple[dict[CaseKey, int], ...]


def counted(cases: Sequence[Case], layouts: int) -> Counted:
    """Count ``cases`` in so many layouts."""
    runner = BuildRunner.of(
        [Build("base", sys.executable)], MeasurementSettings(times=False), console
    )
    found = {
        record.key: record.outcome.instructions
        for record in runner.run(runner.orders(cases)).run.cases
        if record.outcome.instructions is not None
    }
    first = {key: count.per_run for key, count in found.items()}
    (others,) = recount(runner, cases, layouts - 1).counts
    exact = frozenset(key for key, count in found.items() if count.exact)
    return Counted(exact, (first, *others))


def main() -> None:
    """Count in all layouts, and print a table for each set."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [language.value for language in Language]
    parser.add_argument("--language", choices=names, default=Language.PYTHON.value)
    parser.add_argument("--layouts", type=int, default=4)
    args = parser.parse_args()
    for title, definitions in SETS.items():
        cases = [
            case
            for case in materialize(definitions)
            if case.autolabels.language is Language(args.language)
            and not {*DRAWING} & {*case.label}
        ]
        if cases:
            found = counted(cases, args.layouts)
            show(title, found.exact, found.layouts)


def show(title: str, exact: frozenset[CaseKey], layouts: Sequence[dict[CaseKey, int]]) -> None:
    """How many cases stay within how much, and which move most."""
    counts = {
        key: [of_layout[key] for of_layout in layouts]
        for key in layouts[0]
        if all(key in of_layout for of_layout in layouts)
    }
    moved = {key: max(found) / min(found) - 1 for key, found in counts.items()}
    table = Table(
        "share of the cases", "cases", "", title=f"{title}, {len(layouts)} memory layouts"
    )
    rows = {"exact": len(exact & {*counts})}
    for limit in WITHIN:
        within = sum(movement <= limit for movement in moved.values())
        rows[f"within {limit:.2%}" if limit else "equal"] = within
    for what, number in rows.items():
        table.add_row(what, f"{number} of {len(counts)}", f"{number / len(counts):.1%}")
    Console().print(table)
    for key in sorted(moved, key=lambda key: -moved[key])[:_LARGEST_SHOWN]:
        Console().print(f"{moved[key]:.3%}  {key.title}  {counts[key]}", soft_wrap=True)


if __name__ == "__main__":
    main()
