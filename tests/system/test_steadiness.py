"""What a machine says of how steady its times are."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from instruction_counts.system.steadiness import Surroundings

STAT = "cpu  1 1 1 1 1 1 1 90 0 0\ncpu0 1 1 1 91 1 1 1 {} 0 0\ncpu1 1 1 1 1 1 1 1 60 0 0\n"
CPUS = "sys/devices/system/cpu"


def machine(root: Path, files: Mapping[str, str]) -> Surroundings:
    """Core 0 of a machine that has these files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n", encoding="ascii")
    return Surroundings((0,), root)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (STAT.format(30), 30),
        ("cpu0 1 1 1 1", 0),
        ("cpu0 1 1 1 1 1 1 1 x", 0),
        ("", 0),
    ],
    ids=["of the core", "an old kernel", "something else", "nothing"],
)
def test_stolen_time_is_that_of_the_cores(text: str, expected: int, tmp_path: Path) -> None:
    """None is known where the kernel does not say."""
    assert expected == machine(tmp_path, {"proc/stat": text}).stolen()


def test_a_machine_that_says_nothing_has_no_clock_and_needs_no_advice(tmp_path: Path) -> None:
    """As a virtual one, or one that is not Linux."""
    found = Surroundings((0, 1), tmp_path)

    assert (0, "", 0.0, []) == (
        found.clock_khz(),
        found.governor(),
        found.load(),
        [*found.advice()],
    )


def test_the_clock_is_that_of_the_first_core(tmp_path: Path) -> None:
    """With what decides it."""
    files = {
        f"{CPUS}/cpu0/cpufreq/scaling_cur_freq": "2400000",
        f"{CPUS}/cpu0/cpufreq/scaling_governor": "performance",
        "proc/loadavg": "0.25 0.1 0.1 1/100 7",
    }
    found = machine(tmp_path, files)

    assert (2_400_000, "performance", 0.25) == (found.clock_khz(), found.governor(), found.load())
    assert [] == [*found.advice()]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (f"{CPUS}/cpu0/cpufreq/scaling_governor", "powersave", "governor powersave"),
        (f"{CPUS}/intel_pstate/no_turbo", "0", "turbo"),
        (f"{CPUS}/cpufreq/boost", "1", "boost"),
        (f"{CPUS}/smt/active", "1", "--cores"),
        ("proc/loadavg", "1.5 0.1 0.1 1/100 7", "load 1.5"),
        ("proc/stat", STAT.format(10), "the hypervisor took 9% of the time"),
    ],
)
def test_what_makes_times_unsteady_is_said_with_the_remedy(
    name: str, text: str, words: str, tmp_path: Path
) -> None:
    """One line each."""
    (advice,) = machine(tmp_path, {name: text}).advice()

    assert words in advice
