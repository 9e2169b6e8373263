"""The library that fills fresh memory, with a real compiler."""

import subprocess
from pathlib import Path

import pytest

from tests.engines.compiled_c import NEEDS_GCC, PROGRAMS, compile_c

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "instruction_counts" / "engines" / "native" / "fresh.c"

pytestmark = NEEDS_GCC


@pytest.mark.parametrize(
    "linking",
    [
        pytest.param(["-Wl,-z,lazy"], id="lazy"),
        pytest.param(["-Wl,-z,now,-z,relro"], id="read-only"),
        pytest.param(["-fno-plt", "-Wl,-z,now,-z,relro"], id="without a table of calls"),
        pytest.param(["-fno-pie", "-no-pie"], id="at a fixed address"),
    ],
)
def test_all_fresh_memory_is_filled(tmp_path: Path, linking: list[str]) -> None:
    """However a program reaches its allocator, and whether a block is new or used again."""
    library, program = tmp_path / "fresh.so", tmp_path / "fills"
    compile_c("-O2", "-shared", "-fPIC", "-o", library, SOURCE)
    compile_c("-O1", "-fno-builtin", *linking, "-o", program, PROGRAMS / "fills.c", "-ldl")

    done = subprocess.run([program, library], capture_output=True, text=True, check=True)

    contents = {line.split()[0]: {*line.split()[1:]} for line in done.stdout.splitlines()}
    assert {"zero"} == contents.pop("calloc")
    assert [{"filled"}] * 6 == list(contents.values())
