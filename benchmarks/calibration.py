"""How well instructions and estimated cycles follow measured time: of a run that has all three.

    make bench-calibration       (ten minutes; ARGS="--language python" less)
    python -m benchmarks.calibration suite.json [--output page.html] [--picture chart.png]

For each group of the suite: Spearman's rank correlation with the time, and the spread of the time
that an instruction, or a cycle, takes. The spread is the 90th to the 10th percentile: 1.5 says that
most cases lie within a factor of 1.5 of one another.
"""

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy

from instruction_counts.cli import console
from instruction_counts.domain.records import Record, Run
from instruction_counts.report.document import (
    Chart,
    ChartKind,
    Column,
    Document,
    Series,
    Unit,
    table_of,
)
from instruction_counts.report.renderers import renderer_for
from instruction_counts.storage.json_files import read_json
from instruction_counts.system.files import write_output
from scripts.pictures import photograph

_FEWEST = 5
"""A correlation of fewer cases says nothing."""
_ALL = "all"


class Point(NamedTuple):
    """A case: its time, and what is to follow it."""

    title: str
    seconds: float
    """Of the fastest block: what else the machine does only adds."""
    instructions: int
    cycles: float


class Group(NamedTuple):
    """Cases, and how well either figure follows their times."""

    name: str
    points: Sequence[Point]

    def rank_correlation(self, of: str) -> float:
        """Spearman's: 1 where the figure puts the cases in the order of their times."""
        found = scipy.stats.spearmanr([point.seconds for point in self.points], self._figures(of))
        return float(found.statistic)

    def spread(self, of: str) -> float:
        """The 90th to the 10th percentile of the time that one of the figure takes."""
        each = np.array([point.seconds for point in self.points]) / self._figures(of)
        low, high = np.percentile(each, [10, 90])
        return float(high / low)

    def _figures(self, of: str) -> np.ndarray:
        return np.array([getattr(point, of) for point in self.points], dtype=float)


def groups_of(records: Iterable[Record]) -> Iterator[Group]:
    """The cases that have all three figures, by the top of their label; then all of them."""
    by_name: dict[str, list[Point]] = defaultdict(list)
    for record in records:
        counted, times, cycles = (
            getattr(record.outcome, name) for name in ("instructions", "times", "cycles")
        )
        if counted and times and cycles and counted.per_run > 0 and cycles.median > 0:
            figures = min(times.values_s or (times.median_s,)), counted.per_run, cycles.median
            point = Point(record.key.title, *figures)
            for name in (record.label[0], _ALL):
                by_name[name].append(point)
    for name in sorted(by_name, key=lambda name: (name == _ALL, name)):
        if len(by_name[name]) >= _FEWEST:
            yield Group(name, by_name[name])


def document_of(run: Run) -> Document:
    """A line for each group, and two charts."""
    groups = [*groups_of(run.cases)]
    figures = {"instructions": "instructions", "cycles": "est. cycles"}
    columns = [
        Column("group", "group", of=lambda group: group.name),
        Column("cases", "cases", Unit.COUNT, of=lambda group: len(group.points)),
        *(
            Column(f"{key}_{name}", heading, Unit.NUMBER, title, of=_figure(name, key))
            for name, title in (("rank_correlation", "rank correlation"), ("spread", "spread"))
            for key, heading in figures.items()
        ),
    ]
    table = table_of("groups", "Time against instructions and cycles", columns, groups)
    charts = (
        _chart(key, heading, [group for group in groups if group.name != _ALL])
        for key, heading in figures.items()
    )
    return Document("calibration", "Calibration", sections=(table, *charts))


def _figure(name: str, key: str) -> Callable[[Group], float]:
    return lambda group: float(getattr(group, name)(key))


def _chart(key: str, heading: str, groups: Iterable[Group]) -> Chart:
    series = (
        Series(
            group.name,
            tuple(point.seconds for point in group.points),
            tuple(getattr(point, key) for point in group.points),
            tuple(point.title for point in group.points),
        )
        for group in groups
    )
    axes = "fastest time (s)", f"{heading} per iteration"
    return Chart(f"Time against {heading}", ChartKind.POINTS, series, *axes, logarithmic=True)


def main() -> None:
    """Print the table, and write a page if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path, help="JSON file of `run --metrics cycles`")
    parser.add_argument("--output", type=Path, help="page with the charts: FILE.html")
    parser.add_argument("--picture", type=Path, help="the chart of instructions: FILE.png")
    args = parser.parse_args()
    document = document_of(read_json(args.result))
    console.show(document)
    if args.output is not None:
        write_output(args.output, renderer_for(str(args.output)).render(document))
    if args.picture is not None:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            write_output(page, renderer_for(page.name).render(document))
            photograph(page, ".chart", args.picture)


if __name__ == "__main__":
    main()
