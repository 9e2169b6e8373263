"""How long a person waits for the first count: with no server, and with one that stayed ready.

    make bench-first

The command that people type, from its start to its end, beside `timeit` of the same statement and
the import of torch alone. Servers are kept in a folder of this benchmark, and stopped at its end.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[1]
STATEMENT, SETUP = "x + y", "import torch; x = torch.ones(4, 4); y = x + 1"
REPEATS = 5
_COUNTED = ("main.py", "time", STATEMENT, "-s", SETUP)
_KEPT = {"INSTRUCTION_COUNTS_KEEP_SERVERS": "10m"}
COMMANDS: Mapping[str, tuple[tuple[str, ...], Mapping[str, str], int]] = {
    "import torch": (("-c", "import torch"), {}, REPEATS),
    "timeit": (("-m", "timeit", "-s", SETUP, STATEMENT), {}, 1),
    "time, no server kept": (_COUNTED, {"INSTRUCTION_COUNTS_KEEP_SERVERS": "0"}, 1),
    "time, starts servers that are kept": (_COUNTED, _KEPT, 1),
    "time, finds servers": (_COUNTED, _KEPT, REPEATS),
    "time --no-times, finds servers": ((*_COUNTED, "--no-times"), _KEPT, REPEATS),
}


def main() -> None:
    """Measure, and print a table."""
    table = Table("command", "seconds (median)", "times timeit")
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        variables = {
            "INSTRUCTION_COUNTS_RUNTIME": f"{folder}/runtime",
            "INSTRUCTION_COUNTS_DB": f"{folder}/runs.db",
        }
        try:
            for name, (arguments, more, repeats) in COMMANDS.items():
                took_s = [_seconds(arguments, {**variables, **more}) for _ in range(repeats)]
                seconds[name] = statistics.median(took_s)
        finally:
            _seconds(("main.py", "servers", "stop"), variables)
    for name, median_s in seconds.items():
        table.add_row(name, f"{median_s:.2f}", f"{median_s / seconds['timeit']:.1f}")
    Console().print(table)


def _seconds(arguments: tuple[str, ...], variables: Mapping[str, str]) -> float:
    """How long a command takes, from its start to its end."""
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - begin


if __name__ == "__main__":
    main()
