"""What times in turns find, and what they wrongly report: builds with a known slow-down.

    make bench-power      (an hour and a half; --trials 8 takes a fifth)

Ten cases call a function that spins, in the base not at all, in each new build for a known share of
what the case takes. A build without any slow-down is the test for false alarms. Both ways of timing
see the same pairs of builds: in turns (``compare``), and one after the other as it would be without
(medians whose intervals do not overlap). With ``--load`` a process keeps another core busy.
"""

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from instruction_counts.analysis.verdicts.beside import TimeChange, TimeVerdict, time_change
from instruction_counts.core.api import TimerArgs
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case
from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import Outcome, Times
from instruction_counts.domain.records import Record
from instruction_counts.execution.cores import available_cores
from instruction_counts.execution.events import Silent
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.measuring import carried_out
from instruction_counts.session.pairing import confirm

CONSOLE = Console()
SHARES = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Of what a case takes: how much longer it takes in a new build."""
_STEPS = 100_000
"""Of the spinning function, while it is timed itself."""
_OF_SERVERS = 4
"""Trials with the same servers; then come others, whose memory lies elsewhere."""

_MODULE = """\
from collections import deque
from itertools import repeat

STEPS = {steps!r}

def spin(name):
    deque(repeat(None, STEPS[name]), 0)
"""

_SETUP = """\
from spinning import spin
x, y = torch.ones(8, 8), torch.ones(8, 8)
w = torch.ones(8, 8, requires_grad=True)
linear, norm = torch.nn.Linear(8, 8), torch.nn.LayerNorm(8)
"""

STATEMENTS = {
    "add": "x + y",
    "mm": "torch.mm(x, y)",
    "sum": "x.sum()",
    "cat": "torch.cat([x, y])",
    "view": "x.t().reshape(-1)",
    "index": "x[1:, ::2]",
    "linear": "linear(x)",
    "norm": "norm(x)",
    "softmax": "torch.softmax(x, 0)",
    "backward": "(w * x).sum().backward()",
}


def case_of(name: str, stmt: str) -> Case:
    """A case that spins for as long as its build has it."""
    code = f"{stmt}\nspin({name!r})"
    (case,) = materialize({(name,): TimerArgs(code, _SETUP)})
    return case


def build_of(name: str, folder: Path, steps: Mapping[str, int]) -> Build:
    """A build whose cases spin for so many steps."""
    place = folder / name
    place.mkdir()
    (place / "spinning.py").write_text(_MODULE.format(steps=dict(steps)), encoding="utf-8")
    return Build(name, sys.executable, env={"PYTHONPATH": str(place)})


@contextlib.contextmanager
def load(core: int) -> Iterator[None]:
    """Keep a core busy; other work there goes first."""
    spin = [sys.executable, "-c", "while True: sum(range(10**6))"]
    process = subprocess.Popen(["nice", "-n", "19", "taskset", "-c", str(core), *spin])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def measured(
    settings: MeasurementSettings, builds: Sequence[Build], orders: Sequence[tuple[Case, int]]
) -> Iterator[tuple[str, str, Outcome]]:
    """The case, the build and the outcome of each order; a build after the first is beside it."""
    runner = BuildRunner.of(builds, settings, Silent())
    asked = [
        settings.order(*(case, builds[place]), counts=False, beside=builds[0] if place else None)
        for case, place in orders
    ]
    with runner.lanes() as lanes:
        found = [*carried_out(asked, lanes, runner.observer)]
    confirm(runner, found)
    for done in found:
        if done.outcome.failure is not None:
            raise SystemExit(f"{done.order.title}: {done.outcome.failure.summary}")
        yield done.order.case.label[0], done.order.build.name, done.outcome


def steps_of(
    settings: MeasurementSettings, cases: Sequence[Case], folder: Path
) -> dict[str, float]:
    """How many steps of the spinning function take as long as each case."""
    known = build_of("known", folder, {**dict.fromkeys(STATEMENTS, 0), "steps": _STEPS})
    spinning = case_of("steps", "pass")
    orders = [(case, 0) for case in (spinning, *cases)]
    medians_s = {
        name: outcome.times.median_s
        for name, _, outcome in measured(settings, [known], orders)
        if outcome.times is not None
    }
    step_s = medians_s["steps"] / _STEPS
    return {name: medians_s[name] / step_s for name in STATEMENTS}


def record_of(case: Case, build: str, outcome: Outcome, times: Times | None) -> Record:
    """A record of a case that has these times."""
    return Record.of(case, build, Outcome(outcome.status, times=times, paired=outcome.paired))


def change_in_turns(case: Case, outcome: Outcome) -> TimeChange:
    """What is said of a pair that was timed in turns."""
    paired = outcome.paired
    assert paired is not None
    sides = zip(paired.builds, (paired.base_s, paired.new_s), strict=True)
    records = [
        record_of(case, name, outcome, Times.of(values_s, paired.runs) if values_s else None)
        for name, values_s in sides
    ]
    change = time_change(*records)
    assert change is not None
    return change


def change_one_after_the_other(case: Case, outcomes: Sequence[Outcome]) -> TimeChange:
    """What is said of two builds that were timed one after the other."""
    records = [record_of(case, "", outcome, outcome.times) for outcome in outcomes]
    change = time_change(records[0], records[1])
    assert change is not None
    return change


def main() -> None:
    """Time all pairs, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=40, help="of each case and slow-down")
    parser.add_argument("--minutes", type=int, default=600, help="after which no trials begin")
    parser.add_argument("--load", action="store_true", help="keep the other core busy")
    parser.add_argument("--separate", action="store_true", help="also one after the other")
    args = parser.parse_args()
    cores = available_cores()
    settings = MeasurementSettings(jobs=1, cores=str(cores[0]), keeps_servers=False)
    cases = {name: case_of(name, stmt) for name, stmt in STATEMENTS.items()}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        steps = steps_of(settings, [*cases.values()], folder)
        if args.load:
            stack.enter_context(load(cores[-1]))
        builds = [
            build_of(name, folder, {case: round(steps[case] * share) for case in steps})
            for name, share in {"base": 0.0, **{f"new-{share}": share for share in SHARES}}.items()
        ]
        show_in_turns(settings, cases, builds, args.trials, args.minutes)
        if args.separate:
            show_separate(settings, cases, builds, args.trials)


def show_in_turns(
    settings: MeasurementSettings,
    cases: Mapping[str, Case],
    builds: Sequence[Build],
    trials: int,
    minutes: int,
) -> None:
    """A line for each slow-down: how often each verdict was given."""
    places = range(1, len(builds))
    found: dict[str, list[TimeChange]] = {build.name: [] for build in builds[1:]}
    begin = time.monotonic()
    for start in range(0, trials, _OF_SERVERS):
        if time.monotonic() - begin > minutes * 60:
            break
        number = min(_OF_SERVERS, trials - start)
        orders = [
            (case, place) for _ in range(number) for case in cases.values() for place in places
        ]
        for name, build, outcome in measured(settings, builds, orders):
            found[build].append(change_in_turns(cases[name], outcome))
    seconds = (time.monotonic() - begin) / sum(map(len, found.values()))
    table = Table("slow-down", "pairs", *(verdict.value for verdict in TimeVerdict), "mean found")
    for share, changes in zip(SHARES, found.values(), strict=True):
        said = Counter(change.verdict for change in changes)
        numbers = (f"{said[verdict] / len(changes):.1%}" for verdict in TimeVerdict)
        mean = sum(change.relative for change in changes) / len(changes)
        table.add_row(f"{share:.1%}", str(len(changes)), *numbers, f"{mean:+.2%}")
    CONSOLE.print(table)
    CONSOLE.print(f"{seconds:.2f} s a pair")


def show_separate(
    settings: MeasurementSettings, cases: Mapping[str, Case], builds: Sequence[Build], trials: int
) -> None:
    """The same where each build is timed by itself: how often a difference is called one."""
    found: dict[str, list[TimeChange]] = {build.name: [] for build in builds[1:]}
    runner = BuildRunner.of(builds, settings, Silent())
    orders = [
        settings.order(case, build, counts=False)
        for _ in range(trials)
        for case in cases.values()
        for build in builds
    ]
    base: dict[str, Outcome] = {}
    with runner.lanes() as lanes:
        for done in carried_out(orders, lanes, runner.observer):
            name, build = done.order.case.label[0], done.order.build.name
            if build == builds[0].name:
                base[name] = done.outcome
            else:
                change = change_one_after_the_other(cases[name], (base[name], done.outcome))
                found[build].append(change)
    table = Table("slow-down", "pairs", "slower", "faster", "mean found")
    for share, changes in zip(SHARES, found.values(), strict=True):
        slower = sum(change.significant and change.ratio > 1 for change in changes)
        faster = sum(change.significant and change.ratio < 1 for change in changes)
        mean = sum(change.relative for change in changes) / len(changes)
        shown = (f"{number / len(changes):.1%}" for number in (slower, faster))
        table.add_row(f"{share:.1%}", str(len(changes)), *shown, f"{mean:+.2%}")
    CONSOLE.print(table)


if __name__ == "__main__":
    main()
