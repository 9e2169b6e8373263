"""What `compare` finds, and what it wrongly reports: builds with known changes against their base.

    make bench-detect      (about 15 minutes)

Every case of a comparison is a trial: either the change reaches it and has to be found, with its
cause, or nothing but the memory layout is different and nothing may be reported.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import attrs
import yaml
from rich.console import Console
from rich.table import Table

from benchmarks import injected
from benchmarks.detect_cases import ARGUMENTS
from instruction_counts.domain.build import Build

ROOT = Path(__file__).resolve().parents[1]
CONSOLE = Console()


@attrs.frozen
class Experiment:
    """A build with a change, the cases that it reaches, and what has to be said of them."""

    title: str
    build: Build
    language: str
    expected: str = "same or ambiguous"
    cause: str = ""
    """What a cause has to match, where a change is expected."""


def experiments(folder: Path) -> list[Experiment]:
    """All of them; their files are made in ``folder``."""
    python = sys.executable
    names = list(ARGUMENTS)
    call = "wrapper"
    moved = injected.moved("new", python, folder / "moved", 901)
    wrapped = injected.wrapped("new", python, folder / "wrapped", names)
    wrong = injected.wrong("new", python, folder / "wrong", names)
    slower = injected.slower("new", python, folder / "slower")
    return [
        Experiment("the same build twice", Build("new", python), "both"),
        Experiment("another memory layout", moved, "both"),
        Experiment("a wrapper: one more call (Python)", wrapped, "python", "worse", call),
        Experiment("0.1% to 0.5% more (C++)", slower, "c++", "worse", "GetCPUAllocator"),
        Experiment("faster and wrong (Python)", wrong, "python", "output differs"),
    ]


def compare(experiment: Experiment, folder: Path) -> list[dict[str, object]]:
    """The cases of one comparison, as the program writes them."""
    new = experiment.build
    builds = [{"name": "base", "python": sys.executable}]
    builds.append({"name": "new", "python": str(new.python), "env": dict(new.env)})
    (folder / "builds.yaml").write_text(yaml.safe_dump({"builds": builds}), encoding="utf-8")
    command = [sys.executable, "main.py", "compare", "base", "new"]
    command += ["--builds", str(folder / "builds.yaml"), "--output", str(folder / "found.json")]
    command += ["--definitions", "benchmarks/detect_cases.py", "--db", str(folder / "runs.db")]
    if experiment.language != "both":
        command += ["--language", experiment.language]
    command.append("--no-times")
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{experiment.title}: compare ended with {done.returncode}")
    cases: list[dict[str, object]] = json.loads((folder / "found.json").read_text())["cases"]
    return cases


def row(experiment: Experiment, cases: list[dict[str, object]]) -> list[str]:
    """What was found, in a line of the table."""
    said = Counter(
        "output differs" if case["reason"] == "output differs" else str(case["verdict"])
        for case in cases
    )
    reports = len(cases) - said["same"] - said["ambiguous"]
    expects = experiment.expected != "same or ambiguous"
    named = sum(bool(re.search(experiment.cause, str(case["causes"]))) for case in cases)
    return [
        experiment.title,
        str(len(cases)),
        str(said[experiment.expected]) if expects else "–",
        str(named) if experiment.cause else "–",
        str(reports - said[experiment.expected] if expects else reports),
        " · ".join(f"{number} {verdict}" for verdict, number in said.items()),
    ]


def main() -> None:
    """Run all experiments, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the title of an experiment")
    args = parser.parse_args()
    table = Table("change", "trials", "found", "cause named", "false alarms", "verdicts")
    with tempfile.TemporaryDirectory() as name:
        for experiment in experiments(Path(name)):
            if args.only not in experiment.title:
                continue
            begin = time.perf_counter()
            cases = compare(experiment, Path(name))
            table.add_row(*row(experiment, cases))
            seconds = time.perf_counter() - begin
            CONSOLE.print(f"{experiment.title}: {seconds:.0f} s")
    CONSOLE.print(table)


if __name__ == "__main__":
    main()
