"""``watch``: each new build is measured, and each step is reported once."""

import functools
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import exit_code
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import Asked, series_options, untimed_options
from instruction_counts.cli.options import DURATION, FILE, option, selection_options, several
from instruction_counts.cli.output import STDOUT, check_folder
from instruction_counts.cli.publish_command import FOLDER, publish_to
from instruction_counts.domain.errors import DataError
from instruction_counts.report.history import found_step, step_text
from instruction_counts.session.histories import HistoryRequest
from instruction_counts.session.watching import Step, WatchRequest, watch
from instruction_counts.storage.store import Store
from instruction_counts.system.site_folder import check_site_folder


def report_step(step: Step, files: Sequence[Path], command: str | None) -> None:
    """Report a step as a line of JSON to files and to a shell command; the screen shows its text.

    ``-`` is standard output, which holds JSON alone then. The command gets the line on its standard
    input; what it prints goes to stderr. A file takes a step only once, so that this can be tried
    again.

    Raises:
        OSError, DataError: it could not be reported everywhere.
    """
    line = json.dumps({"text": step_text(step), **step}) + "\n"
    for file in files:
        if file != STDOUT:
            with file.open("a+", encoding="utf-8", errors="replace") as stream:
                stream.seek(0)
                if f'"id": "{step["id"]}"' not in stream.read():
                    stream.write(line)
    if command is not None:
        shell = ["/bin/bash", "-c", command]
        done = subprocess.run(shell, input=line, stdout=2, text=True, check=False)
        if done.returncode:
            raise DataError(f"--on-step ends with {done.returncode}", f"Try it: {command}")
    if STDOUT in files:
        console.write(line)
    else:
        console.line(step_text(step))


@click.command("watch", cls=Command)
@series_options(selection_options, untimed_options, required=True)
@several("--output", "FILE", "Append each step to FILE as a line of JSON. - is stdout.", type=FILE)
@option(
    "--on-step",
    "COMMAND",
    "Shell command to run for each step. It gets the line of JSON on stdin.",
)
@option(
    "--publish site", "DIR", "Keep a site of these cases up to date, as publish does.", type=FOLDER
)
@option(
    "--state state_file",
    "FILE",
    "File that remembers what was seen  [default: one per watch in the user's data folder]",
    type=FILE,
)
@option(
    "--every",
    "DURATION",
    "Look again after each pause of this length  [default: look once]",
    type=DURATION,
)
def watch_command(
    listing: str,
    build_cmd: str | None,
    output: tuple[Path, ...],
    on_step: str | None,
    site: Path | None,
    state_file: Path | None,
    every: float | None,
    asked: Asked,
) -> int:
    r"""Measure each new build, compare it with the last, and report steps once.

    COMMAND prints the builds; those already seen are skipped. Before a change is
    reported, both builds are measured again. Without --every, it looks once, and exits with 3 if
    it found a new step.

    Examples:
      python main.py watch --command ./list_nightlies --output steps.jsonl
      python main.py watch --every 1h --build-cmd './make_venv {commit}' \
        --command 'git log --first-parent --reverse --since=1.week --format=%H'
    """
    for file in output:
        check_folder(file, f"--output {file}")
    if site is not None:
        check_site_folder(site)
    request = WatchRequest(listing, build_cmd, asked.how, state_file)
    published = HistoryRequest(asked.how.selection, min_effect=asked.how.min_effect)
    with Store(asked.db) as store:

        def publish() -> None:
            if site is not None:
                console.note(publish_to(site, store, published))

        report = functools.partial(report_step, files=output, command=on_step)
        found = watch(request, store, found_step, report, console, every, publish)
    return exit_code(regression=bool(found))
