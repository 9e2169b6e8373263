"""The wheel as a user has it: installed, without the checkout, used from an empty directory."""

import json
import shutil
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import attrs
import pytest

from tests.process import ROOT, called

pytest.importorskip("hatchling")

pytestmark = pytest.mark.slow

SHIPPED = {".py", ".c", ".h", ".yaml"}
"""Code, the allocator and the stand-ins for CUDA in C, operators and the described device."""

LIKE_PYTORCH = ROOT / "tests" / "fixtures" / "like_pytorch.py"


@attrs.frozen
class Installed:
    """The program in a virtual environment of its own, and an empty directory to call it from."""

    wheel: Path
    environment: Path
    empty: Path

    @property
    def site_packages(self) -> Path:
        """Where the wheel was installed."""
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        return self.environment / "lib" / version / "site-packages"

    def output_of(self, *command: str) -> str:
        """What a program of the environment prints that succeeds in the empty directory."""
        program = str(self.environment / "bin" / command[0])
        done = called([program, *command[1:]], self.empty, {"PYTHONPATH": ""})
        assert 0 == done.returncode, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel of this checkout, installed beside what is installed already."""
    folder = tmp_path_factory.mktemp("install")
    place = Installed(built(folder), folder / "environment", folder / "empty")
    place.empty.mkdir()
    venv.create(place.environment, with_pip=False, symlinks=True)
    # The others are found where they are: torch is large. Our own editable install is not: a
    # path that a .pth file adds has no part in others.
    others = place.site_packages / "others.pth"
    others.write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    pip("--python", str(place.environment), "install", "--no-deps", "--quiet", str(place.wheel))
    return place


def built(folder: Path) -> Path:
    """A wheel of this checkout's files, built without reaching any index."""
    source = folder / "source"
    left_out = shutil.ignore_patterns(".*", "__pycache__", "generated", "tests", "docs", "build")
    shutil.copytree(ROOT, source, ignore=left_out, symlinks=True)
    pip("wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(folder), str(source))
    (wheel,) = folder.glob("*.whl")
    return wheel


def pip(*args: str) -> None:
    """Run pip, and show what it says where it fails."""
    done = called([sys.executable, "-m", "pip", *args])
    assert 0 == done.returncode, done.stdout + done.stderr


def test_what_is_in_the_wheel_is_what_is_in_the_checkout(installed: Installed) -> None:
    """Byte for byte: what is shipped is what is tested. Names like core may be anybody's."""
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = wheel.namelist()
        packed = {name: wheel.read(name) for name in names if Path(name).suffix in SHIPPED}
    files = {
        str(Path("instruction_counts", path.relative_to(top))): path.read_bytes()
        for top, folders in (
            (ROOT / "instruction_counts", ["."]),
            (ROOT, ["core", "definitions", "worker"]),
        )
        for folder in folders
        for path in (top / folder).rglob("*")
        if path.suffix in SHIPPED
    }

    assert files == packed
    assert {"instruction_counts", "instruction_counts-1.0.0.dist-info"} == {
        name.partition("/")[0] for name in names
    }


def test_definitions_and_operators_come_with_the_program(installed: Installed) -> None:
    """It lists its suite from an empty directory."""
    assert "MatMul" in installed.output_of("instruction-counts", "list", "--only", "MatMul/*")
    module = "python", "-m", "instruction_counts"
    assert "torch.add" in installed.output_of(*module, "operators", "list")


def test_it_works_beside_another_package_called_core(installed: Installed) -> None:
    """Neither finds the other in its place."""
    other = installed.site_packages / "core"
    other.mkdir()
    (other / "__init__.py").write_text("MINE = 1\n", encoding="utf-8")
    (other / "api.py").write_text("raise ImportError('another package')\n", encoding="utf-8")
    script = (
        "import core\n"
        "from instruction_counts.sources.definitions import load\n"
        "assert load('definitions.standard')\n"
        "assert load('definitions.ad_hoc')\n"
        "import core as afterwards\n"
        "print(core.MINE, afterwards is core)\n"
    )

    try:
        assert "1 True\n" == installed.output_of("python", "-c", script)
    finally:
        shutil.rmtree(other)


@pytest.mark.thorough
def test_a_definition_file_in_the_style_of_pytorch_is_measured(installed: Installed) -> None:
    """It imports core and definitions by these names."""
    if not (shutil.which("valgrind") and shutil.which("g++")):
        pytest.skip("Valgrind or g++ is missing")
    shutil.copy(LIKE_PYTORCH, installed.empty / "mine.py")
    chosen = ["--definitions", "mine.py", "--only", "Allocation/nothing", "--language", "python"]
    installed.output_of(
        "instruction-counts", "run", *chosen, "--no-times", "--output", "result.json"
    )
    result = json.loads((installed.empty / "result.json").read_text(encoding="utf-8"))

    assert 1 == len(result["cases"])
