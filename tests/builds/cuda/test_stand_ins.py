"""Stand-ins for CUDA's libraries: made once, loaded in their place, loud where one is missing."""

import subprocess
import sys
from pathlib import Path

import pytest

from instruction_counts.builds.cuda.stand_ins import (
    DEVICE,
    NATIVE,
    Library,
    StandIns,
    Versions,
    command,
    headers,
    identity,
    needed_libraries,
    sources,
    stand_ins,
    write,
)
from instruction_counts.builds.probing import inquire
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError
from instruction_counts.system.cache import Cache
from instruction_counts.system.worker_process import NO_STAND_IN, ending
from tests.builds.cuda.fake_torch import make_fake_torch
from tests.engines.compiled_c import GCC, NEEDS_GCC, compile_c
from tests.process import called

pytestmark = NEEDS_GCC

CALL = """\
import ctypes, sys
function, torch, *paths = sys.argv[1:]
for path in paths:
    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
print(getattr(ctypes.CDLL(torch), function)())
"""


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a torch's libraries."""
    return make_fake_torch(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """A cache for all tests here."""
    return Cache(tmp_path_factory.mktemp("cached") / "cache")


@pytest.fixture(scope="module")
def made(libraries: Path, cache: Cache) -> StandIns:
    """Stand-ins for what that torch needs."""
    return stand_ins(libraries, Versions("13.2", "9.26.0"), GCC, cache)


def compiled(folder: Path, library: Library, more: str = "") -> Path:
    """One stand-in as the program compiles it, with every warning an error, in an empty folder.

    ``more`` is said of its device.
    """
    files = sources(library)
    write(folder, headers(DEVICE.read_text("utf-8") + more, Versions("13.2", "9.26.0")))
    write(folder / library.stem, files)
    arguments = [*command(GCC, library, files), "-Wall", "-Wextra", "-Werror"]
    done = called(arguments, folder / library.stem)
    assert done.returncode == 0, done.stderr
    return folder / library.soname


def calling(function: str, libraries: Path, made: StandIns) -> subprocess.CompletedProcess[str]:
    """A process that calls a function of torch with the stand-ins in place."""
    process = [sys.executable, "-c", CALL, function, str(libraries / "libtorch_cuda.so")]
    return called([*process, *map(str, made.paths)])


def test_each_library_has_the_functions_that_torch_calls(libraries: Path) -> None:
    """By the version of a symbol or by its name, and what is only looked up while torch runs."""
    expected = (
        Library("libcuda.so.1", ("cuMemCreate",)),
        Library("libcudart.so.13", ("cudaGetDeviceCount", "cudaUnheardOf"), "libcudart.so.13"),
        Library("libnccl.so.2", ("ncclSend",)),
        Library("libnvidia-ml.so.1", ("nvmlInit_v2",)),
    )

    assert expected == needed_libraries(libraries)


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


def test_torch_gets_the_answers_of_the_stand_ins(libraries: Path, made: StandIns) -> None:
    """None of the libraries that it needs is installed."""
    assert "1" == calling("devices", libraries, made).stdout.strip()


@pytest.mark.parametrize(
    ("function", "name"), [("unheard_of", "cudaUnheardOf"), ("send", "ncclSend")]
)
def test_a_function_without_a_stand_in_ends_the_process_with_its_name(
    libraries: Path, made: StandIns, function: str, name: str
) -> None:
    """Whatever it returned would be taken for an answer.

    A library without any is loaded all the same: torch cannot be imported without it.
    """
    done = calling(function, libraries, made)
    expected = (NO_STAND_IN, f"needs {name}, which has no stand-in")

    assert expected == (done.returncode, done.stderr.strip())


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("noise\nneeds cusolver, which has no stand-in\n", "needs cusolver, which has no stand-in"),
        # A case can leave with that code by itself.
        ("x", f"the process ended with exit code {NO_STAND_IN}"),
    ],
)
def test_the_failure_of_a_case_is_what_it_needs(output: str, message: str) -> None:
    """And no exit code, which would tell nobody anything; only what a stand-in says is believed."""
    assert message == ending(NO_STAND_IN, output).message


def test_they_are_compiled_once(libraries: Path, cache: Cache, made: StandIns) -> None:
    """Nothing is added to the cache for the same torch."""
    before = cache.sizes()
    again = stand_ins(libraries, Versions("13.2", "9.26.0"), GCC, cache)

    assert (made, before) == (again, cache.sizes())


def test_another_version_is_another_entry_and_the_same_to_a_fingerprint(
    libraries: Path, cache: Cache, made: StandIns
) -> None:
    """What a library says that it is decides what torch asks it for.

    Two builds of torch are compared: what tells them apart is not of our making.
    """
    other, older = (
        stand_ins(libraries, versions, GCC, cache)
        for versions in (Versions("13.2", "9.27.0"), Versions("13.0"))
    )

    assert made.paths != other.paths
    device = DEVICE.read_text("utf-8")
    assert made.identity == other.identity == older.identity == identity(device)
    # Another device is another: it decides how many blocks a launch has, and more.
    assert made.identity != identity(device.replace("MULTIPROCESSORS 132", "MULTIPROCESSORS 7"))


@pytest.mark.parametrize(
    ("cuda", "compiler", "message", "remedy"),
    [
        # Its structures are laid out in another way.
        ("12.8", GCC, r"CUDA 12\.8; stand-ins are for CUDA 13", "Install a torch"),
        ("13.2", "", "need a C compiler", "apt-get install gcc"),
    ],
)
def test_a_build_that_can_have_none_is_refused_with_the_remedy(
    libraries: Path, cache: Cache, cuda: str, compiler: str, message: str, remedy: str
) -> None:
    """One of another generation of CUDA, or without a C compiler."""
    with pytest.raises(BuildError, match=message) as caught:
        stand_ins(libraries, Versions(cuda), compiler, cache)

    assert remedy in caught.value.remedy


def test_torch_without_its_cuda_libraries_is_asked_with_stand_ins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pip install --no-deps torch` gives such a build, which cannot be imported by itself."""
    monkeypatch.setenv("INSTRUCTION_COUNTS_CACHE", str(tmp_path / "cache"))
    make_fake_torch(tmp_path)
    with (tmp_path / "torch" / "__init__.py").open("a") as package:
        package.write("from types import SimpleNamespace as _; _C = _(_jit_get_all_schemas=list)")
    build = Build("bare", sys.executable, env={"PYTHONPATH": str(tmp_path)})

    assert {"schemas": []} == inquire(build, "schemas", {})


@pytest.mark.parametrize("stem", sorted(path.name for path in NATIVE.iterdir() if path.is_dir()))
def test_what_is_written_by_hand_compiles_without_a_warning(stem: str, tmp_path: Path) -> None:
    """Also where torch needs none of it: each torch needs another selection."""
    made = compiled(tmp_path, Library(f"{stem}.so.1", ("neverHeardOf",)))

    assert made.is_file()
