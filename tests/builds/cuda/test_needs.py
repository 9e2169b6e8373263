"""What torch's libraries need of CUDA's, read from a library that needs some."""

from pathlib import Path

import pytest

from instruction_counts.builds.cuda.needs import Library, needed_libraries
from instruction_counts.domain.errors import BuildError
from tests.builds.cuda.fake_torch import make_fake_torch
from tests.engines.compiled_c import NEEDS_GCC, compile_c

pytestmark = NEEDS_GCC


def test_each_library_has_the_functions_that_torch_calls(tmp_path: Path) -> None:
    """By the version of a symbol or by its name, and what is only looked up while torch runs."""
    expected = (
        Library("libcuda.so.1", ("cuMemCreate",)),
        Library("libcudart.so.13", ("cudaGetDeviceCount", "cudaUnheardOf"), "libcudart.so.13"),
        Library("libnccl.so.2", ("ncclSend",)),
        Library("libnvidia-ml.so.1", ("nvmlInit_v2",)),
    )

    assert expected == needed_libraries(make_fake_torch(tmp_path))


def test_a_cpu_build_needs_none(tmp_path: Path) -> None:
    """Its libraries need those of the system alone; no program is asked about no file."""
    assert () == needed_libraries(tmp_path)
    source = tmp_path / "torch.c"
    source.write_text("int zero(void) { return 0; }", encoding="utf-8")
    compile_c("-shared", "-fPIC", "-o", tmp_path / "libtorch.so", source)

    assert () == needed_libraries(tmp_path)


def test_a_damaged_library_is_an_error_that_names_it(tmp_path: Path) -> None:
    """A copy that was cut off, say."""
    (tmp_path / "libtorch.so").write_bytes(b"no library")

    with pytest.raises(BuildError, match=r"libtorch\.so"):
        needed_libraries(tmp_path)
