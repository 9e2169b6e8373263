"""What the Python interface returns: values of the program that show and save themselves."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

import attrs

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.verdicts import comparison
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.core.types import CaseKey
from instruction_counts.domain import records
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.metrics import Amount
from instruction_counts.domain.outcomes import Instructions, Outcome
from instruction_counts.report import format as fmt
from instruction_counts.report.comparison import comparison_document
from instruction_counts.report.document import Column, Document, Table, Unit
from instruction_counts.report.document import Row as TableRow
from instruction_counts.report.explain import explanation_document
from instruction_counts.report.history import bisection, history
from instruction_counts.report.renderers import renderer_for
from instruction_counts.report.run import run_document
from instruction_counts.session import bisecting, explaining, histories
from instruction_counts.storage.json_files import json_parts, read_json
from instruction_counts.system.files import write_output

Row: TypeAlias = dict[str, Any]
_MOST_SHOWN = 60
_Value = TypeVar("_Value")


class StatementError(UsageError):
    """A statement failed, or was not measured; the message says why."""


class Tabular:
    """A value with rows: for ``for``, for pandas and for a notebook."""

    __slots__ = ()

    def table(self) -> list[Row]:
        """The rows as plain dictionaries with the same keys; counts are ints, times seconds."""
        raise NotImplementedError

    def dataframe(self) -> Any:
        """The rows as a ``pandas.DataFrame``.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise UsageError("pandas is not installed", "pip install pandas") from error
        return pandas.DataFrame(self.table())

    def _document(self) -> Document:
        """What a notebook shows, and files that are no JSON hold."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        # Imported here: Jinja2 is for notebooks alone.
        from instruction_counts.report.renderers.html import fragment  # noqa: PLC0415

        return fragment(self._document(), _MOST_SHOWN)


def as_kind(kind: type[_Value], value: Any) -> _Value:
    """``value`` as the subclass of its class that this module has."""
    fields = attrs.fields(type(value))
    return kind(**{field.alias: getattr(value, field.name) for field in fields})


def _of_case(key: CaseKey) -> Row:
    return {
        "label": key.path,
        "language": key.language.option,
        "runtime": key.runtime.option,
        "autograd": key.autograd.option,
        "num_threads": key.num_threads,
    }


def _of_outcome(outcome: Outcome) -> Row:
    counted, times, failure = outcome.instructions, outcome.times, outcome.failure
    return {
        "status": outcome.status.value,
        "instructions": None if counted is None else counted.per_run,
        "exact": None if counted is None else counted.exact,
        "time_s": None if times is None else times.median_s,
        "failure": "" if failure is None else failure.summary,
        **outcome.metrics,
    }


def _of_change(found: Difference) -> Row:
    return {
        "verdict": found.verdict.value,
        "base": found.base_count,
        "new": found.new_count,
        "change": found.change,
    }


@attrs.frozen(repr=False)
class Run(records.Run, Tabular):
    """What was measured: ``cases`` has a `Record` for each case and build."""

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """The run in a result file (``.json``, ``.json.gz``).

        Raises:
            DataError: the file cannot be read, or holds something else.
        """
        return as_kind(cls, read_json(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write the run into a file, by its suffix: ``.json`` and ``.json.gz`` can be loaded again.

        Raises:
            UsageError: the file cannot be written, or there is no such format.
        """
        path, run = Path(path), as_kind(records.Run, self)
        renderer = renderer_for(path.name)
        content = json_parts(run) if renderer.name == "json" else renderer.render(run_document(run))
        write_output(path, content)

    def table(self) -> list[Row]:
        """A row for each case and build."""
        rows = [
            {**_of_case(case.key), "build": case.build, **_of_outcome(case.outcome)}
            for case in self.cases
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        return [{name: row.get(name) for name in names} for row in rows]

    def _document(self) -> Document:
        return run_document(self)

    def __repr__(self) -> str:
        """Short: a record holds every function that was counted."""
        return f"<Run of {fmt.plural(len(self.cases), 'case')} on {', '.join(self.builds)}>"


@attrs.frozen(repr=False)
class Comparison(comparison.Comparison, Tabular):
    """Two sides, and a verdict on each case: ``differences``."""

    def table(self) -> list[Row]:
        """A row for each case; ``change`` is in instructions per iteration."""
        return [
            {
                **_of_case(found.key),
                **_of_change(found),
                "reason": found.reason.value,
                "relative": found.relative,
                "noise": found.noise,
                "causes": "; ".join(cause.name for cause in found.causes),
            }
            for found in self.differences
        ]

    def _document(self) -> Document:
        return comparison_document(self)

    def __repr__(self) -> str:
        said = ", ".join(f"{number:,} {verdict.value}" for verdict, number in self.tally.items())
        return f"<Comparison of {self.base.title} with {self.new.title}: {said or 'no case'}>"


@attrs.frozen(repr=False)
class Explained(explaining.Explained, Tabular):
    """Where the instructions of a case go, or where a change comes from."""

    def table(self) -> list[Row]:
        """A row for each function: exclusive instructions per iteration, rounded."""
        return [
            {
                "function": found.key.name,
                "library": found.key.library,
                "base": round(found.base or 0),
                "new": round(found.new or 0),
                "change": round(found.delta),
            }
            for found in self.difference.functions
        ]

    def _document(self) -> Document:
        return explanation_document(self)

    def __repr__(self) -> str:
        sides = " with ".join(side.title for side in self.sides)
        return f"<Explained {self.key.title} of {sides}: {round(self.difference.delta):,}>"


@attrs.frozen(repr=False)
class History(histories.Histories, Tabular):
    """Counts of cases over stored runs: ``series`` has the steps."""

    def table(self) -> list[Row]:
        """A row for each count, in order of time; ``step`` is the change of the level there."""
        rows = []
        for series in self.series:
            for segment in series.segments:
                steps = {step.after: step.change for step in segment.steps}
                rows += [
                    {
                        **_of_case(series.key),
                        "run": point.run_id,
                        "started_at": point.started_at,
                        "build": point.build,
                        "instructions": point.instructions and point.instructions.per_run,
                        "step": steps.get(place),
                    }
                    for place, point in enumerate(segment.points)
                ]
        return rows

    def _document(self) -> Document:
        return history(self.series, self.causes)

    def __repr__(self) -> str:
        return f"<History of {fmt.plural(len(self.series), 'case')}>"


@attrs.frozen(repr=False)
class Bisected(bisecting.Found, Tabular):
    """The builds between which a case changed."""

    def table(self) -> list[Row]:
        """A row for each change: the builds before and after it, and what it is."""
        return [
            {
                "before": self.builds[change.before],
                "after": self.builds[change.after],
                **_of_change(change.difference),
            }
            for change in self.changes
        ]

    def _document(self) -> Document:
        return bisection(self)

    def __repr__(self) -> str:
        return f"<Bisected {len(self.builds)} builds: {fmt.plural(len(self.changes), 'change')}>"


@attrs.frozen(repr=False)
class Result(Tabular):
    """What one iteration of a statement costs."""

    record: records.Record

    @property
    def instructions(self) -> int:
        """Instructions per iteration.

        Raises:
            StatementError: the statement was not counted.
        """
        return self._counted.per_run

    @property
    def exact(self) -> bool:
        """Whether all windows of iterations agree to the instruction; raises as `instructions`."""
        return self._counted.exact

    @property
    def _counted(self) -> Instructions:
        counted = self.record.outcome.instructions
        if counted is None:
            raise StatementError("the statement was not counted", "Use count().")
        return counted

    @property
    def time_s(self) -> float:
        """The median of the wall time of an iteration, in seconds.

        Raises:
            StatementError: the statement was not timed.
        """
        if self.record.outcome.times is None:
            raise StatementError("the statement was not timed", "Use time().")
        return self.record.outcome.times.median_s

    @property
    def metrics(self) -> Mapping[str, Amount]:
        """What else is known of an iteration, by the name of the metric."""
        return self.record.outcome.metrics

    def table(self) -> list[Row]:
        """A row for each function that was counted: exclusive instructions, rounded."""
        costs = self.record.outcome.functions
        found = () if costs is None else difference(None, costs).functions
        return [
            {
                "function": function.key.name,
                "library": function.key.library,
                "instructions": round(function.delta),
            }
            for function in found
        ]

    def _document(self) -> Document:
        columns = (
            Column("function", "function"),
            Column("library", "library"),
            Column("instructions", "instructions", Unit.COUNT),
        )
        rows = (TableRow(list(row.values())) for row in self.table())
        functions = Table("functions", "", columns, rows)
        return Document("result", answer=[repr(self)], sections=[functions])

    def __repr__(self) -> str:
        outcome, parts = self.record.outcome, []
        if outcome.instructions is not None:
            parts.append(f"{fmt.count(outcome.instructions)} instructions")
        if outcome.times is not None:
            parts.append(fmt.duration(outcome.times.median_s))
        return f"<{self.record.key.title}: {', '.join(parts) or outcome.status.value}>"
