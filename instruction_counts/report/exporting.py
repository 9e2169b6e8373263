"""Files of runs, in the format that their name asks for; written while a run grows."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import Record, Run
from instruction_counts.report import operators, table
from instruction_counts.storage.json_files import compressed_parts, json_parts
from instruction_counts.system.files import write_atomically


def to_csv(run: Run) -> str:
    """One line for each case."""
    stream = io.StringIO()
    rows = [_csv_row(record) for record in run.cases]
    writer = csv.DictWriter(stream, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _csv_row(record: Record) -> dict[str, object]:
    outcome = record.outcome
    counted, times, failure = outcome.instructions, outcome.times, outcome.failure
    used = outcome.resources
    return {
        "label": "/".join(record.label),
        "language": record.language.value,
        "runtime": record.runtime.value,
        "autograd": record.autograd.value,
        "num_threads": record.num_threads,
        "build": record.build,
        "definition_hash": record.definition_hash,
        "status": outcome.status.value,
        "instructions": counted and counted.per_run,
        "exact": counted and counted.exact,
        "spread": counted and counted.spread,
        "allocations": counted and counted.allocations,
        "allocated_bytes": counted and counted.allocated_bytes,
        "median_s": times and times.median_s,
        "iqr_s": times and times.iqr_s,
        "error": failure and failure.summary,
        "tensor_bytes": used and used.allocated_bytes,
        "peak_bytes": used and used.peak_bytes,
        "flops": used and used.flops,
        "moved_bytes": used and used.moved_bytes,
        "metadata": json.dumps(record.metadata) if record.metadata else "",
    }


class Exporter:
    """Writes a growing run to a file, whole and atomically, in the format that its name asks for.

    ``option`` is what the user wrote before the name, for messages.

    Raises:
        UsageError: the name has no known suffix, or its folder does not exist.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.monotonic,
        option: str = "--output",
    ) -> None:
        self._named = f"{option} {path}".strip()
        endings = (end for end in _FORMATS if path.name.endswith(end) and path.name != end)
        name = next(endings, None)
        if name is None:
            known = ", ".join(_FORMATS)
            raise UsageError(f"{self._named}: unknown format", f"End the name in {known}.")
        if not path.parent.is_dir():
            raise UsageError(f"{self._named}: there is no folder {path.parent}", "Make it first.")
        self._path, self._clock = path, clock
        self._serialise = _FORMATS[name]
        self._next = clock()

    def update(self, run: Run, *, final: bool = False) -> None:
        """Write ``run``, which holds what it held before and perhaps more.

        A large file is not rewritten for each case: writing takes 5% of the time at most, and the
        last state is always written.
        """
        begin = self._clock()
        if final or begin >= self._next:
            self._write(self._serialise(run))
            end = self._clock()
            self._next = end + 20 * (end - begin)

    def _write(self, content: str | bytes | Iterable[str | bytes]) -> None:
        try:
            write_atomically(self._path, content)
        except OSError as error:
            raise UsageError(
                f"{self._named} cannot be written: {error.strerror}",
                "Name a file in a folder that you may write to.",
            ) from error


def to_markdown(run: Run) -> str:
    """Tables for people: all cases, and the metrics of operators where there are any."""
    parts = (table.markdown(run), operators.markdown(run))
    return "\n".join(f"{part.rstrip()}\n" for part in parts if part)


_FORMATS: dict[str, Callable[[Run], str | bytes | Iterable[str | bytes]]] = {
    ".json": json_parts,
    ".json.gz": compressed_parts,
    ".csv": to_csv,
    ".md": to_markdown,
}
