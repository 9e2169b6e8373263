"""What the machine can do, and how much is copied to find out."""

import os
from pathlib import Path

import pytest

from instruction_counts.builds.probing import measure_machine
from instruction_counts.domain.build import default_build
from worker.capability import copied_bytes, last_level_cache_bytes

MIB = 1 << 20


@pytest.mark.slow
def test_a_core_can_do_what_cores_can() -> None:
    """Within two orders of magnitude of what they do today."""
    machine = measure_machine(default_build(), min(os.sched_getaffinity(0)))

    assert 10**8 < machine.copy_bytes_per_s < 10**12
    assert 10**8 < machine.matmul_flops_per_s < 10**13


@pytest.mark.parametrize(
    ("cache_mib", "free_mib", "expected_mib"),
    [(100, 100_000, 200), (8, 100_000, 64), (500, 800, 100), (500, 100, 64)],
)
def test_more_is_copied_than_caches_hold(cache_mib: int, free_mib: int, expected_mib: int) -> None:
    """Source and target four times as much; less where there is not so much memory."""
    assert expected_mib * MIB == copied_bytes(cache_mib * MIB, free_mib * MIB)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [((), 64 * MIB), (("48K", "2048K", "32768K"), 32 * MIB), (("odd",), 64 * MIB)],
)
def test_the_largest_cache_counts(tmp_path: Path, sizes: tuple[str, ...], expected: int) -> None:
    """The last one before memory."""
    for number, size in enumerate(sizes):
        folder = tmp_path / "cpu0" / "cache" / f"index{number}"
        folder.mkdir(parents=True)
        (folder / "size").write_text(f"{size}\n")

    assert expected == last_level_cache_bytes(tmp_path)
