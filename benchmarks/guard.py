"""Whether a check can be relied on: it fails with a change and passes without, time after time.

    make bench-guard      (about 45 minutes; ARGS="--times 3" for less)

A baseline is accepted once. Then `baseline check` is run by turns on the same build and on one with
a known change: a wrapper around one function of torch. Exit codes, the verdict of the summary and
the cause that it names are held against what they have to be.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks import injected
from instruction_counts.domain.build import Build

ROOT = Path(__file__).resolve().parents[1]
CONSOLE = Console(width=120)
CHANGED = "mm"
CASES = [CHANGED, "add", "softmax"]
CAUSE = re.compile(rf"^\| {CHANGED} \|.*\bwrapper\b.*\|$", re.MULTILINE)
"""The line of the changed case, with the function that is new in it."""


@attrs.frozen
class Trial:
    """A build to check, and what the check has to say of it."""

    title: str
    build: Build
    code: int
    verdict: str
    cause: re.Pattern[str] | None = None


@attrs.frozen
class Checked:
    """What one check said."""

    code: int
    summary: str
    wall_s: float

    def is_right(self, trial: Trial) -> bool:
        """Whether all of it is as it has to be."""
        named = trial.cause is None or bool(trial.cause.search(self.summary))
        said = self.summary.startswith(f"**{trial.verdict}")
        return self.code == trial.code and said and named


def program(folder: Path, *args: str) -> int:
    """The exit code of a command of the program, on the files of ``folder``."""
    command = [sys.executable, "main.py", *args, "--db", str(folder / "runs.db")]
    with (folder / "log").open("a", encoding="utf-8") as log:
        done = subprocess.run(command, cwd=ROOT, check=False, stdout=log, stderr=log)
    return done.returncode


def measuring() -> list[str]:
    """The options of everything that measures: a few cases, in Python and C++, without times."""
    only = [f"--only={name}" for name in CASES]
    return ["--definitions", "benchmarks/detect_cases.py", "--no-times", *only]


def accept(folder: Path) -> Path:
    """A baseline of the interpreter that runs this program."""
    run, baseline = folder / "run.json", folder / "baseline.json"
    steps = (
        ["run", *measuring(), "--output", str(run)],
        ["baseline", "accept", str(baseline), str(run)],
    )
    for step in steps:
        code = program(folder, *step)
        if code:
            raise SystemExit(f"{step[0]} ended with {code}:\n{(folder / 'log').read_text()}")
    return baseline


def check(trial: Trial, baseline: Path, layouts: int) -> Checked:
    """Check the build of ``trial`` once."""
    folder = baseline.parent
    config, summary = injected.write_builds(folder, trial.build), folder / "summary.md"
    summary.unlink(missing_ok=True)
    options = ["--build", str(config), "--layouts", str(layouts), "--output", str(summary)]
    begin = time.perf_counter()
    code = program(folder, "baseline", "check", str(baseline), *measuring(), *options)
    wall_s = time.perf_counter() - begin
    return Checked(code, summary.read_text(encoding="utf-8") if summary.exists() else "", wall_s)


def row(trial: Trial, found: Sequence[Checked]) -> list[str]:
    """What came of a trial, in a line of the table."""
    walls = [trial_check.wall_s for trial_check in found]
    return [
        trial.title,
        str(len(found)),
        f"{trial.code}, {trial.verdict}" + (", the cause" if trial.cause else ""),
        " ".join(str(trial_check.code) for trial_check in found),
        str(sum(trial_check.is_right(trial) for trial_check in found)),
        f"{statistics.median(walls):.0f} s ({min(walls):.0f} to {max(walls):.0f})",
    ]


def main() -> int:
    """Run all checks, and print the table; 1 if one of them was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="checks of each kind (20)")
    parser.add_argument("--layouts", type=int, default=1, help="memory layouts of a check (1)")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = sys.executable
        wrapped = injected.wrapped("new", python, folder / "site", [CHANGED])
        trials = [
            Trial("without a change", Build("new", python), 0, "PASSES"),
            Trial("one wrapper more", wrapped, 3, "FAILS", CAUSE),
        ]
        baseline = accept(folder)
        found: dict[str, list[Checked]] = {trial.title: [] for trial in trials}
        for number in range(args.times):
            for trial in trials:
                made = check(trial, baseline, args.layouts)
                found[trial.title].append(made)
                said = "right" if made.is_right(trial) else "WRONG"
                CONSOLE.print(
                    f"{number + 1} {trial.title}: {made.code}, {made.wall_s:.0f} s, {said}"
                )
        CONSOLE.print(found[trials[-1].title][-1].summary, markup=False, soft_wrap=True)
    table = Table("build", "checks", "wanted", "exit codes", "right", "wall time")
    for trial in trials:
        table.add_row(*row(trial, found[trial.title]))
    CONSOLE.print(table)
    return int(
        any(
            not trial_check.is_right(trial)
            for trial in trials
            for trial_check in found[trial.title]
        )
    )


if __name__ == "__main__":
    sys.exit(main())
