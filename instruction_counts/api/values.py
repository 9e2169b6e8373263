"""What the Python interface returns: values of the program that show and save themselves."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

import attrs

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.verdicts import comparison
from instruction_counts.domain import records
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.metrics import Amount
from instruction_counts.domain.outcomes import Instructions
from instruction_counts.report import format as fmt
from instruction_counts.report.comparison import comparison_document
from instruction_counts.report.document import Column, Document, Row, Table, Unit
from instruction_counts.report.explain import explanation_document
from instruction_counts.report.gate import check_document
from instruction_counts.report.history import bisection, history
from instruction_counts.report.renderers import renderer_for
from instruction_counts.report.renderers.json import plain, rows_of
from instruction_counts.report.run import run_document
from instruction_counts.session import bisecting, checking, explaining, histories
from instruction_counts.storage.json_files import json_parts, read_json
from instruction_counts.system.files import write_output

_MOST_SHOWN = 60
_Value = TypeVar("_Value")


class StatementError(UsageError):
    """A statement failed, or was not measured; the message says why."""


class Tabular:
    """A value with rows: for ``for``, for pandas and for a notebook."""

    __slots__ = ()

    def table(self) -> list[dict[str, Any]]:
        """The rows of its CSV as plain dictionaries with the same keys.

        Counts are in instructions per iteration, times in seconds.
        """
        found = self._document().records
        assert found is not None, "each of these has records"
        rows: list[dict[str, Any]] = plain(rows_of(found))
        return rows

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

    def _document(self) -> Document:
        return run_document(self)

    def __repr__(self) -> str:
        """Short: a record holds every function that was counted."""
        return f"<Run of {fmt.plural(len(self.cases), 'case')} on {', '.join(self.builds)}>"


@attrs.frozen(repr=False)
class Comparison(comparison.Comparison, Tabular):
    """Two sides, and a verdict on each case: ``differences``."""

    def _document(self) -> Document:
        return comparison_document(self)

    def __repr__(self) -> str:
        said = ", ".join(f"{number:,} {verdict.value}" for verdict, number in self.tally.items())
        return f"<Comparison of {self.base.title} with {self.new.title}: {said or 'no case'}>"


@attrs.frozen(repr=False)
class Check(checking.Check, Tabular):
    """A comparison with a baseline, and what exceeds the limits."""

    def _document(self) -> Document:
        return check_document(self.gate)

    def __repr__(self) -> str:
        return f"<Check that {'fails' if self.gate.fails else 'passes'}: {self.comparison!r}>"


@attrs.frozen(repr=False)
class Explained(explaining.Explained, Tabular):
    """Where the instructions of a case go, or where a change comes from."""

    def _document(self) -> Document:
        return explanation_document(self)

    def __repr__(self) -> str:
        sides = " with ".join(side.title for side in self.sides)
        return f"<Explained {self.key.title} of {sides}: {round(self.difference.delta):,}>"


@attrs.frozen(repr=False)
class History(histories.Histories, Tabular):
    """Counts of cases over stored runs: ``series`` has the steps."""

    def _document(self) -> Document:
        return history(self.series, self.causes)

    def __repr__(self) -> str:
        return f"<History of {fmt.plural(len(self.series), 'case')}>"


@attrs.frozen(repr=False)
class Bisected(bisecting.Found, Tabular):
    """The builds between which a case changed."""

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

    def _document(self) -> Document:
        costs = self.record.outcome.functions
        found = () if costs is None else difference(None, costs).functions
        columns = (
            Column("function", "function"),
            Column("library", "library"),
            Column("instructions", "instructions", Unit.COUNT),
        )
        rows = (Row((of.key.name, of.key.library, round(of.delta))) for of in found)
        functions = Table("functions", "", columns, rows)
        return Document("result", answer=[repr(self)], sections=[functions], records=functions)

    def __repr__(self) -> str:
        outcome, parts = self.record.outcome, []
        if outcome.instructions is not None:
            parts.append(f"{fmt.count(outcome.instructions)} instructions")
        if outcome.times is not None:
            parts.append(fmt.duration(outcome.times.median_s))
        return f"<{self.record.key.title}: {', '.join(parts) or outcome.status.value}>"
