"""What `compare` finds, and what it wrongly reports: builds with known changes against their base.

    make bench-detect      (about four hours)

Every case of a comparison is a trial: either the change reaches it and has to be found, with its
cause, or nothing but the memory layout is different and nothing may be reported. No percentage is
too small to be reported: the minimum effect is three instructions.

Copies of the environment at paths of other lengths are compared with the default minimum effect, in
the Python cases of the standard suite and in the foreign set; two of them have more text in a
module of torch, which no case executes.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks import detect_edits, injected
from benchmarks.detect_cases import ARGUMENTS
from instruction_counts.domain.build import Build

ROOT = Path(__file__).resolve().parents[1]
CONSOLE = Console()


@attrs.frozen
class Experiment:
    """A build with a change, the cases that it reaches, and what has to be said of them."""

    title: str
    build: Build
    reaches: tuple[str, ...] = ()
    expected: str = "worse"
    cause: str = ""
    """What a cause has to match, where a change is expected."""
    language: str = "both"
    base: Build = attrs.field(factory=lambda: Build("base", sys.executable))
    cases: tuple[str, ...] = ("--definitions", "benchmarks/detect_cases.py")
    min_effect: tuple[str, ...] = ("--min-effect", "3")


@attrs.frozen
class Found:
    """How many cases of a comparison were judged how."""

    trials: int = 0
    reached: int = 0
    found: int = 0
    named: int = 0
    false_alarms: int = 0

    def __add__(self, other: "Found") -> "Found":
        pairs = zip(attrs.astuple(self), attrs.astuple(other), strict=True)
        return Found(*map(sum, pairs))

    def cells(self) -> list[str]:
        """The numbers of a row."""
        return [str(number) for number in attrs.astuple(self)]


def experiments(folder: Path) -> Iterator[Experiment]:
    """All of them; the files of each are made in ``folder`` when it is asked for."""
    python = sys.executable
    names = tuple(ARGUMENTS)
    yield Experiment("the same build twice", Build("new", python))
    moved = injected.moved("new", python, folder / "moved", 901)
    yield Experiment("another memory layout", moved)
    yield from copies(folder / "copies")
    yield from edits(folder)
    yield from data(folder / "data")
    wrapped = injected.wrapped("new", python, folder / "wrapped", names)
    wrong = injected.wrong("new", python, folder / "wrong", names)
    calls_relu = ("nn.functional.relu", "nn.Sequential", "training")
    title = "a function around functions of torch"
    yield Experiment(title, wrapped, names + calls_relu, "worse", "wrapper", "python")
    title = "functions of torch are faster and wrong"
    yield Experiment(title, wrong, names + calls_relu, "output differs", "first", "python")


_LENGTHS = (1, 9, 30, 61, 120)
"""Of the names of the folders that copies lie in."""
_MORE_TEXT = {
    30: '\n\ndef not_called(x):\n    """Add a name and a constant."""\n    return x + 12345.75\n',
    120: f"\n\nNOT_USED = {'longer than it was ' * 40!r}\n",
}
"""What copies of these lengths have at the end of a module that torch imports."""
_SETS = {
    "the suite": ("--language", "python"),
    "the foreign set": ("--definitions", "benchmarks/foreign.py"),
}


def copies(folder: Path) -> Iterator[Experiment]:
    """Copies of the environment at paths of several lengths, the first against each."""
    environment = Path(sys.prefix)
    for stripped in (False, True)[: 1 + injected.has_symbols(environment)]:
        what = ", stripped" if stripped else ""
        places = {length: folder / f"family{what}" / ("x" * length) for length in _LENGTHS}
        made = {
            length: injected.copied("new", environment, place, stripped=stripped)
            for length, place in places.items()
        }
        base = attrs.evolve(made[_LENGTHS[0]], name="base")
        for length, build in made.items():
            if length in _MORE_TEXT:
                injected.add_to(places[length], "torch/nn/functional.py", _MORE_TEXT[length])
            for name, cases in _SETS.items():
                title = f"a copy at a path longer by {length - _LENGTHS[0]}{what}: {name}"
                yield Experiment(title, build, base=base, cases=cases, min_effect=())


def edits(folder: Path) -> Iterator[Experiment]:
    """Builds in which a single function of torch is different."""
    for number, edit in enumerate(detect_edits.PYTHON):
        place = folder / f"python-{number}"
        build = injected.edited("new", sys.executable, place, edit.file, edit.old, edit.new)
        cause = rf"{re.escape(edit.file)}:\d+ {re.escape(edit.function)}\b"
        title = f"{edit.what}: {edit.file} {edit.function}"
        yield Experiment(title, build, edit.reaches, cause=cause, language="python")
    for number, change in enumerate(detect_edits.NATIVE):
        place = folder / f"native-{number}"
        args = (change.symbol, change.library, change.times)
        build = injected.slower("new", sys.executable, place, *args)
        title = f"{change.instructions} instructions: {change.name}"
        # Reports give the last parts of a name, as many as fit.
        cause = re.escape("::".join(change.name.split("::")[-2:]))
        yield Experiment(title, build, change.reaches, cause=cause)


def data(folder: Path) -> Iterator[Experiment]:
    """Builds in which the same code meets more data: nothing but counts can tell."""
    python = sys.executable
    base = injected.with_data("base", python, folder / "base")
    sizes = {
        "in a tuple": "allowed",
        "a copied dictionary": "options",
        "a formatted text": "characters",
    }
    for name, size in sizes.items():
        cause = detect_edits.DATA_CAUSES[name]
        build = injected.with_data("new", python, folder / size, **{size: 60})
        title = f"60 instead of 8: {name}"
        cases = ("--definitions", "benchmarks/detect_data_cases.py")
        yield Experiment(title, build, (name,), cause=cause, base=base, cases=cases, min_effect=())


def compare(experiment: Experiment, folder: Path) -> list[dict[str, Any]]:
    """The cases of one comparison, as the program writes them."""
    builds = injected.write_builds(folder, experiment.base, experiment.build)
    command = [sys.executable, "main.py", "compare", "base", "new"]
    command += ["--build", str(builds), "--output", str(folder / "found.json")]
    command += [*experiment.cases, *experiment.min_effect, "--db", str(folder / "runs.db")]
    if experiment.language != "both":
        command += ["--language", experiment.language]
    command += ["--no-times"]
    done = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 3):
        raise SystemExit(f"{experiment.title}: compare ended with {done.returncode}")
    cases: list[dict[str, Any]] = json.loads((folder / "found.json").read_text())["cases"]
    return cases


def judged(experiment: Experiment, cases: list[dict[str, Any]]) -> Found:
    """How the cases were judged; what is not as it should be is printed."""
    total = Found()
    for case in cases:
        found = judged_case(experiment, case)
        total += found
        is_right = found.found == found.named == 1 if found.reached else not found.false_alarms
        if not is_right:
            keys = ("label", "language", "verdict", "reason", "base", "new", "causes")
            CONSOLE.print({key: case.get(key) for key in keys}, markup=False)
    unknown = set(experiment.reaches) - {case["label"][0] for case in cases}
    if unknown:
        raise SystemExit(f"{experiment.title}: no case is called {', '.join(sorted(unknown))}")
    return total


def judged_case(experiment: Experiment, case: dict[str, Any]) -> Found:
    """Whether a case that the change reaches is found, and another one reported."""
    said = "output differs" if case["reason"] == "output differs" else case["verdict"]
    if case["label"][0] not in experiment.reaches:
        return Found(1, false_alarms=said not in {"same", "ambiguous"})
    named = re.search(experiment.cause, " · ".join(case["causes"])) is not None
    return Found(1, 1, said == experiment.expected, named)


def main() -> None:
    """Run all experiments, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression for titles")
    args = parser.parse_args()
    headings = ("trials", "reached", "found", "cause named", "false alarms")
    table = Table("change", *headings, "verdicts", "seconds")
    total = Found()
    with tempfile.TemporaryDirectory() as name:
        for experiment in experiments(Path(name)):
            if not re.search(args.only, experiment.title):
                continue
            begin = time.perf_counter()
            cases = compare(experiment, Path(name))
            found = judged(experiment, cases)
            seconds = f"{time.perf_counter() - begin:.0f}"
            said = Counter(str(case["verdict"]) for case in cases)
            verdicts = " · ".join(f"{number} {verdict}" for verdict, number in said.items())
            table.add_row(experiment.title, *found.cells(), verdicts, seconds)
            cells = (experiment.title, *found.cells(), verdicts, f"{seconds} s")
            CONSOLE.print(*cells, sep=" | ", soft_wrap=True)
            total += found
    table.add_row("all", *total.cells())
    CONSOLE.print(table)


if __name__ == "__main__":
    main()
