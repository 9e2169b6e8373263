"""Whether ten thousand cases can be worked with: listed, measured, stored and compared.

    make bench-scale      (about 15 minutes, and 1 GB in the folder for temporary files)

Definitions of 10,000 cases are written and listed; some hundred of them are measured. Then two runs
of 10,000 made-up records, as large as those of the standard suite, are stored and compared: the
second is the first with 50 cases changed. Figures only; nothing is asserted.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import attrs
from rich.console import Console
from rich.table import Table

from benchmarks.scale_records import changed, fingerprint, made_up
from instruction_counts.domain.records import Record, Run
from instruction_counts.storage.store import Store

ROOT = Path(__file__).resolve().parents[1]
CONSOLE = Console()
MODES = 4
"""Cases of a group: forward and backward, in two languages."""
CHANGED = 50


@attrs.frozen
class Figure:
    """A line of the table."""

    what: str
    wanted: str
    got: str


@attrs.frozen
class Finished:
    """A process that came to its end."""

    output: str
    wall_s: float
    user_s: float
    peak_mib: int

    @property
    def got(self) -> str:
        """Its figures, for the table."""
        return f"{self.wall_s:.1f} s ({self.user_s:.1f} s user), {self.peak_mib:,} MiB at most"


def main() -> None:
    """Measure everything, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000, help="of the definitions and the runs")
    parser.add_argument("--measured", type=int, default=300, help="cases that are really measured")
    parser.add_argument("--only", choices=["list", "run", "store"], help="a part of all this")
    args = parser.parse_args()
    table = Table("what", "wanted", "got")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parts: dict[str, Callable[[], list[Figure]]] = {
            "list": lambda: listing(folder, args.cases),
            "run": lambda: running(folder, args.measured),
            "store": lambda: storing(folder, args.cases),
        }
        for part, figures in parts.items():
            if args.only in {None, part}:
                for figure in figures():
                    table.add_row(*attrs.astuple(figure))
    CONSOLE.print(table)


# Listing


def listing(folder: Path, cases: int) -> list[Figure]:
    """How long it takes to list ``cases`` cases."""
    file = folder / "cases.py"
    write_definitions(file, cases // MODES)
    listed = program("list", "--definitions", str(file))
    in_json = program("list", "--definitions", str(file), "--format", "json")
    loads = (
        "import sys; from instruction_counts.sources.definitions import load; "
        "print(len(load(sys.argv[1])), 'torch' in sys.modules)"
    )
    loaded = process([sys.executable, "-c", loads, str(file)])
    number, with_torch = loaded.output.split()
    return [
        Figure(f"list {int(number):,} cases", "under 2 s", listed.got),
        Figure("the same as JSON", "", in_json.got),
        Figure("torch imported to expand them", "no", "yes" if with_torch == "True" else "no"),
    ]


def write_definitions(file: Path, groups: int) -> None:
    """A definition file, each group in full as a person would write it."""
    entries = "".join(
        f'    ("Scale", "{number}"): GroupedStmts(\n' + f'        "y = (x + {number}.0).sum()",\n'
        f'        "auto y = (x + {number}.0).sum();",\n'
        "        setup=SETUP,\n"
        '        signature="f(x) -> y",\n'
        "        autograd=True,\n"
        "    ),\n"
        for number in range(groups)
    )
    head = (
        '"""Cases in great number."""\n\n'
        "from core.api import GroupedSetup, GroupedStmts\n\n"
        'SETUP = GroupedSetup("x = torch.ones((4, 4), requires_grad=True)",\n'
        '                     "auto x = torch::ones({4, 4}, torch::requires_grad());")\n'
    )
    file.write_text(f"{head}BENCHMARKS = {{\n{entries}}}\n", encoding="utf-8")


# Measuring


def running(folder: Path, cases: int) -> list[Figure]:
    """How fast ``cases`` cases are measured."""
    file = folder / "measured.py"
    write_definitions(file, -(-cases // 2))
    asked = ("run", "--definitions", str(file), "--language", "python")
    done = program(*asked, "--db", str(folder / "measured.db"))
    return [Figure(f"measuring {cases} cases", "", done.got)]


# Storing and comparing


def storing(folder: Path, cases: int) -> list[Figure]:
    """How long it takes to store two runs, and to read, compare and explain them."""
    db = folder / "scale.db"
    draw = random.Random(1)  # noqa: S311 - nothing here is secret
    before = resident_mib()
    stored, kept = stored_run(db, (made_up(number, draw) for number in range(cases)))
    grown = resident_mib() - before
    del kept
    draw = random.Random(1)  # noqa: S311 - nothing here is secret
    step = max(1, cases // CHANGED)
    again = (made_up(number, draw) for number in range(cases))
    stored_run(db, (changed(record) if n % step == 0 else record for n, record in enumerate(again)))
    size = sum(file.stat().st_size for file in folder.glob("scale.db*")) / 2**20
    label = f"Scale/{step}"
    commands = {
        f"compare two runs, {cases // step} cases changed": (("compare", "1", "2"), "under 5 s"),
        "the same into JSON": (("compare", "1", "2", "--output", str(folder / "c.json")), ""),
        "runs list": (("runs", "list"), ""),
        "runs show": (("runs", "show", "1"), ""),
        "history of a case": (("history", label), ""),
        "explain a case": (("explain", "1", "2", label), ""),
        "runs show as JSON": (("runs", "show", "1", "--output", str(folder / "run.json")), ""),
    }
    figures = [
        Figure("storing an outcome", "", f"{1000 * stored / cases:.1f} ms"),
        Figure(f"memory that {cases:,} stored outcomes take", "constant", f"{grown:,} MiB"),
        Figure("the database of two runs", "", f"{size:,.0f} MiB"),
    ]
    for what, (arguments, wanted) in commands.items():
        figures.append(Figure(what, wanted, program(*arguments, "--db", str(db)).got))
    return figures


def stored_run(db: Path, records: Iterable[Record]) -> tuple[float, list[Record]]:
    """Store a run as one that is measured is stored.

    Returns the seconds that this took, and the records as a run keeps them.
    """
    head = Run("0", "fork", {"default": fingerprint()}, (), "2026-01-02T03:04:05+00:00")
    spent, kept = 0.0, []
    with Store(db) as store:
        number = store.begin(head)
        for record in records:
            begin = time.perf_counter()
            kept.append(store.add(number, record))
            spent += time.perf_counter() - begin
        begin = time.perf_counter()
        store.finish(number, attrs.evolve(head, cases=tuple(kept)), interrupted=False)
        return spent + time.perf_counter() - begin, kept


# Processes


def resident_mib() -> int:
    """Resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def program(*arguments: str) -> Finished:
    """Run the program; it may find regressions."""
    return process([sys.executable, "main.py", *arguments])


_ACCOUNT = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as stream:
    print(used.ru_utime, used.ru_maxrss // 1024, file=stream)
sys.exit(code)
"""
"""A child begins with the memory of its parent, as far as Linux counts: so this one is small."""


def process(command: Sequence[str]) -> Finished:
    """Run a command to its end.

    Raises:
        SystemExit: it failed.
    """
    with tempfile.NamedTemporaryFile("r") as account:
        begin = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", _ACCOUNT, account.name, *command],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=False,
            text=True,
        )
        wall_s = time.perf_counter() - begin
        user_s, peak_mib = account.read().split()
    if done.returncode not in {0, 3}:
        raise SystemExit(f"{' '.join(command)}: ended with {done.returncode}")
    return Finished(done.stdout, wall_s, float(user_s), int(peak_mib))


if __name__ == "__main__":
    main()
