"""What moves wall times on this machine, beside the code: what can be read of it, and changed.

Files are those of Linux (Documentation/admin-guide/pm, man 5 proc). A machine that does not have
one, as virtual ones often do not, says nothing.
"""

from collections.abc import Collection, Iterator
from pathlib import Path

import attrs

from instruction_counts.system.files import text_of

ROOT = Path("/")
_CPUS = "sys/devices/system/cpu"
_STOLEN = 8
"""The column of ``/proc/stat`` with the ticks that the hypervisor took of a core."""
_MOST_STOLEN = 0.01
_MOST_LOAD = 0.5
"""Processes that want to run, for each core, before anything is measured."""


@attrs.frozen
class Surroundings:
    """What can be read while something is timed on ``cores``."""

    cores: Collection[int]
    root: Path = ROOT

    def stolen(self) -> int:
        """How many ticks of time the hypervisor took from the cores so far."""
        return sum(ticks[_STOLEN - 1] for ticks in _ticks(self.root, self.cores))

    def clock_khz(self) -> int:
        """How fast the first of the cores runs now; 0 where that cannot be read."""
        text = text_of(self.root / f"{_CPUS}/cpu{min(self.cores)}/cpufreq/scaling_cur_freq")
        return int(text) if text.isdecimal() else 0

    def governor(self) -> str:
        """What decides how fast the first of them runs: ``powersave``."""
        return text_of(self.root / f"{_CPUS}/cpu{min(self.cores)}/cpufreq/scaling_governor")

    def load(self) -> float:
        """How many processes wanted to run over the last minute, on average."""
        first = text_of(self.root / "proc/loadavg").partition(" ")[0]
        return float(first) if first.replace(".", "", 1).isdecimal() else 0.0

    def advice(self) -> Iterator[str]:
        """What makes times unsteady here, each with the remedy."""
        governor = self.governor()
        if governor not in {"", "performance"}:
            remedy = "sudo cpupower frequency-set --governor performance"
            yield f"the clock follows the load (governor {governor}): {remedy}"
        if text_of(self.root / f"{_CPUS}/intel_pstate/no_turbo") == "0":
            remedy = f"echo 1 | sudo tee /{_CPUS}/intel_pstate/no_turbo"
            yield f"the clock rises when it can (turbo): {remedy}"
        if text_of(self.root / f"{_CPUS}/cpufreq/boost") == "1":
            remedy = f"echo 0 | sudo tee /{_CPUS}/cpufreq/boost"
            yield f"the clock rises when it can: {remedy}"
        if text_of(self.root / f"{_CPUS}/smt/active") == "1":
            yield "some cores share a physical core (SMT): name one of each pair with --cores"
        if self.load() > _MOST_LOAD * len(self.cores):
            yield f"other processes run (load {self.load():g}): wait for them, or end them"
        totals = [(ticks[_STOLEN - 1], sum(ticks)) for ticks in _ticks(self.root, self.cores)]
        stolen = sum(taken for taken, _ in totals) / max(1, sum(total for _, total in totals))
        if stolen > _MOST_STOLEN:
            yield (
                f"the hypervisor took {stolen:.0%} of the time since the machine started: times "
                "are steadier on a machine of your own"
            )


def _ticks(root: Path, cores: Collection[int]) -> Iterator[list[int]]:
    """The columns of ``/proc/stat`` of these cores, as far as they are there."""
    names = {f"cpu{core}" for core in cores}
    for line in text_of(root / "proc/stat").splitlines():
        name, *columns = line.split()
        if name in names and len(columns) >= _STOLEN and all(map(str.isdecimal, columns)):
            yield [int(column) for column in columns[:_STOLEN]]
