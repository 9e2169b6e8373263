"""The machine whose caches are simulated: what is read, what is refused, what Callgrind gets."""

from pathlib import Path

import pytest

from instruction_counts.domain.errors import ValidationError
from instruction_counts.engines.machine import DEFAULT_MACHINE, read_machine


def test_callgrind_gets_the_geometry_of_the_packaged_machine() -> None:
    """Left to itself, it would take that of the processor that it runs on."""
    assert (
        *("--cache-sim=yes", "--branch-sim=yes"),
        *("--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64"),
    ) == read_machine().options


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("data: {size_bytes: 32000, ways: 8, line_bytes: 64}", "512 (ways x line_bytes) times"),
        ("data: {size_bytes: 49152, ways: 8, line_bytes: 64}", "times a power of two"),
        ("data: {size_bytes: 30720, ways: 8, line_bytes: 60}", "a power of two"),
        ("data: {size_bytes: 32768, ways: 0, line_bytes: 64}", "at least 1"),
        ("l2: {size_bytes: 32768, ways: 8, line_bytes: 64}", "l2"),
        ("version: 2", "1, the only supported version"),
    ],
)
def test_what_valgrind_would_not_start_with_is_named(
    tmp_path: Path, line: str, expected: str
) -> None:
    """With its place, and what was expected there."""
    lines = DEFAULT_MACHINE.read_text(encoding="utf-8").splitlines()
    kept = [other for other in lines if other.partition(":")[0] != line.partition(":")[0]]
    path = tmp_path / "machine.yaml"
    path.write_text("\n".join([*kept, line]), encoding="utf-8")

    with pytest.raises(ValidationError) as caught:
        read_machine(path)

    assert expected in str(caught.value)
