"""What C++ cases take to compile by g++ and by clang, and how far their counts differ.

    make bench-cpp
    make bench-cpp ARGS=10

Some cases of the standard suite for each precompiled header, as many as the argument says. Seconds
are those of processors, since the machine may be busy; what all cases of the suite take is
extrapolated from these.
"""

import itertools
import os
import resource
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from instruction_counts import api
from instruction_counts.core.types import Case, Language
from instruction_counts.domain.build import default_build
from instruction_counts.domain.selection import Selection
from instruction_counts.engines.cpp.compiler import HEADERS, Compiler
from instruction_counts.engines.cpp.source import PRELUDES, CppSource, Prelude, candidates
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import STANDARD, load_cases
from instruction_counts.system.cache import VARIABLE, Cache

COMPILERS = ("g++", "clang")
CONSOLE = Console()


def main() -> None:
    """Compile and count, and print tables."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    cases = load_cases(STANDARD, Selection(languages=(Language.CPP.value,)))
    headers = Counter(map(_header_of, cases))
    chosen = [
        case
        for header in headers
        for case in itertools.islice((c for c in cases if _header_of(c) == header), number)
    ]
    with tempfile.TemporaryDirectory() as folder:
        os.environ[VARIABLE] = folder
        for compiler in COMPILERS:
            CONSOLE.print(_compiled(compiler, chosen, headers))
        CONSOLE.print(_counted(chosen))


def _header_of(case: Case) -> Prelude:
    return candidates(CppSource.of(case), PRELUDES)[0]


def _compiled(name: str, cases: Sequence[Case], headers: Counter[Prelude]) -> Table:
    facts = MeasurementSettings(compiler=name).probe(default_build())
    compiler = Compiler(facts, Cache())
    table = Table("header", "header (s)", "MB", "case (s, median)", "cases", "all (s)")
    table.title, total_s = facts.compiler.version, 0.0
    for header, number in headers.items():
        sources = [CppSource.of(case) for case in cases if _header_of(case) == header]
        before = _megabytes()
        header_s = _seconds(lambda: compiler.header(header, ()))  # noqa: B023 - called now
        took_s = [_seconds(lambda: compiler.case(source)) for source in sources]  # noqa: B023
        case_s = statistics.median(took_s)
        all_s = header_s + number * case_s
        total_s += all_s
        figures = f"{header_s:.1f}", f"{_megabytes() - before:.0f}", f"{case_s:.2f}"
        table.add_row(header.name, *figures, str(number), f"{all_s:.0f}")
    table.add_row("all", "", "", "", str(headers.total()), f"{total_s:.0f}")
    return table


def _seconds(run: Callable[[], object]) -> float:
    """What processes that ``run`` waits for take of processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _megabytes() -> float:
    files = Path(os.environ[VARIABLE], HEADERS).rglob("*.gch")
    return sum(file.stat().st_size for file in files) / 1e6


def _counted(cases: Sequence[Case]) -> Table:
    counts: dict[str, list[int]] = {}
    for compiler in COMPILERS:
        settings = MeasurementSettings(compiler=compiler, times=False)
        for record in api.measure(cases, settings=settings).cases:
            counted = record.outcome.instructions
            counts.setdefault(record.key.title, []).append(counted.per_run if counted else 0)
    table = Table("case", *COMPILERS, "change")
    for title, (gcc, clang) in counts.items():
        table.add_row(title, f"{gcc:,}", f"{clang:,}", f"{clang / gcc - 1:+.2%}" if gcc else "")
    return table


if __name__ == "__main__":
    main()
