"""Where a run is when it has ended, and what can be done with it: lines to be copied."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import secrets
import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from instruction_counts.cli import console
from instruction_counts.cli.output import Exporter
from instruction_counts.domain.errors import DataError
from instruction_counts.session.comparing import Compared
from instruction_counts.session.measuring import MeasuredRun
from instruction_counts.storage.store import Store
from instruction_counts.system.program import program_name

if TYPE_CHECKING:
    from instruction_counts.sources.specification.expansion import Specification


def result_files(specification: Specification | None) -> tuple[Path, ...]:
    """A new file in each directory of the specification's reporters; the directories are made."""
    if specification is None:
        return ()
    words = re.sub(r"[^\w.-]+", "-", specification.name).strip("-.") or "run"
    moment = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{words}-{moment}-{secrets.token_hex(2)}.json"
    for folder in specification.reporters.directories:
        with contextlib.suppress(OSError):  # a file in it is refused then
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return tuple(folder / name for folder in specification.reporters.directories)


def show_places(
    measured: MeasuredRun,
    exporters: Sequence[Exporter],
    store: Store,
    say: Callable[[str], None],
) -> list[Path]:
    """Show where the run is; returns the files that hold it."""
    places = {each.destination.path: each in measured.unsaved for each in exporters}
    written = [path for path, is_lost in places.items() if not is_lost]
    for path in written:
        say(f"Saved: {path}")
    if measured.run_id is not None and measured.run.is_stored:
        say(saved(store, measured.run_id))
        for path in places.keys() - written:
            again = _export(measured.run_id, path.name, store.option)
            console.error(f"Not saved: {path}. The run is stored: {again}")
    return written


def saved(store: Store, run_id: int) -> str:
    """Where the run is, and how to compare it with the last one before that shares a case.

    A run of several builds is compared with none.
    """
    hint = ""
    with contextlib.suppress(DataError):  # the database has gone away since
        this, shared = store.summary(run_id), store.runs_with_cases_of(run_id)
        earlier = (run for run in store.summaries() if run.id < run_id and run.id in shared)
        before = next(earlier, this)
        if before is not this and len(this.builds) == len(before.builds) == 1:
            names = [str(before.id), str(run_id), *store.option]
            hint = f" Compare: {program_name()} compare {shlex.join(names)}"
    return f"Saved as run {run_id}.{hint}"


def go_on(run_id: int | None, files: Iterable[Path], option: Sequence[str] = ()) -> str:
    """How to go on from a run that was interrupted; empty where nothing holds it.

    ``option`` names its database to other commands.
    """
    for file in files:
        if file.name.endswith((".json", ".json.gz")):
            return f"Go on with the same options, and --resume {shlex.quote(str(file))}"
    if run_id is None:
        return ""
    export = _export(run_id, "FILE.json", option)
    return f"Go on with the same options, and --resume FILE.json, from: {export}"


def interrupted_comparison(
    compared: Compared, again: Sequence[str], option: Sequence[str] = ()
) -> str:
    """What is left of a comparison that was interrupted, and how to go on.

    ``again`` are the arguments that compare what its run has. ``option`` names the database to
    other commands.
    """
    texts = ["Interrupted: this is what was found so far; no file was written."]
    if compared.run_id is not None:
        texts.append(f"Show it again: {program_name()} {shlex.join([*again, *option])}")
        if compared.has_rest:
            export = _export(compared.run_id, "FILE.json", option)
            resume = shlex.join(["run", "--resume", "FILE.json", *option])
            rest = f"{program_name()} {resume} with the same builds and cases"
            texts.append(f"Measure the rest: {export}, then {rest}")
    return "\n".join(texts)


def _export(run_id: int, name: str, option: Sequence[str]) -> str:
    words = ["runs", "show", str(run_id), "--output", name, *option]
    return f"{program_name()} {shlex.join(words)}"
