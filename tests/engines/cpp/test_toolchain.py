"""Which compilers there are, and what they find."""

import shutil
from pathlib import Path

import pytest

from instruction_counts.engines.cpp.toolchain import c_compiler, cpp_standard


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("flags = ['-std=c++20', '-fPIC']", 20),
        ("cflags.append('-std=c++17')", 17),
        ("['-std=c++14']", 17),
        ("", 17),
    ],
)
def test_the_standard_is_the_one_of_torchs_extensions(
    tmp_path: Path, text: str, expected: int
) -> None:
    """At least C++17, which every supported torch compiles as."""
    (tmp_path / "utils").mkdir()
    (tmp_path / "utils" / "cpp_extension.py").write_text(text)
    assert expected == cpp_standard(tmp_path)


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.parametrize(
    ("compiler", "variables", "expected"),
    [
        ("/usr/bin/g++", {}, "/usr/bin/gcc"),
        ("/usr/bin/c++", {}, "/usr/bin/cc"),
        ("/usr/bin/g++", {"CC": "cc"}, "/usr/bin/cc"),
        ("/opt/none/bin/x86_64-conda-g++", {}, "/usr/bin/gcc"),
        ("", {}, "/usr/bin/gcc"),
        ("", {"PATH": "/nowhere"}, ""),
    ],
)
def test_the_c_compiler_goes_with_the_cpp_compiler(
    compiler: str, variables: dict[str, str], expected: str
) -> None:
    """CC first, then its namesake, then any."""
    assert expected == c_compiler(compiler, {"PATH": "/usr/bin", **variables})
