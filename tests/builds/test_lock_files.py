"""Lock files: which are refused, and the environment that is made of one, once."""

import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from instruction_counts.builds.hermetic import interpreter_of
from instruction_counts.builds.lock_files import (
    environment_of,
    error_of,
    is_made,
    make_environment,
    read_lock,
)
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError, ValidationError
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.system.cache import VARIABLE, Cache
from tests.process import called
from tests.real import lock_file
from tests.session.fakes import Remarks

BUILD = Build("new", lock="torch==2.13.0\n")
SHA = "ab" * 32


# Reading


@pytest.mark.parametrize(
    "line",
    [
        "torch==2.13.0+cpu  # the build for CPUs",
        "ruamel.yaml === 0.18.6",
        "jax[cpu,x]==0.4.1",
        'numpy==2.0.0 ; python_version < "3.13" and extra == "a"',
        f"torch==2.13.0 --hash=sha256:{SHA} --hash=sha256:{SHA}",
        f"torch==2.13.0 \\\n    --hash=sha256:{SHA} \\\n    --hash=sha256:{SHA}\n    # via -r in",
        f"torch @ file:///tmp/torch-2.13.0-cp311-cp311-linux_x86_64.whl#sha256={SHA}",
    ],
)
def test_what_pip_writes_of_pinned_packages_is_taken_as_it_is(tmp_path: Path, line: str) -> None:
    """`pip freeze`, pip-tools and uv write such lines; options of pip stand between them."""
    path = tmp_path / "new.txt"
    text = f"# made by a tool\r\n--index-url https://example.org/simple\n-f wheels\n\n{line}\n"
    path.write_bytes(text.encode())

    assert text == read_lock(path)


@pytest.mark.parametrize(
    "line",
    [
        "torch",
        "torch>=2.13",
        "torch==2.*",
        "torch==2.13.0,!=2.13.1",
        "torch~=2.13.0",
        "torch @ file:///tmp/torch.whl",
        "-e git+https://example.org/torch.git@0123456#egg=torch",
        "-r others.txt",
        "--requirement=others.txt",
        "-c constraints.txt",
        "./torch-2.13.0-cp311-cp311-linux_x86_64.whl",
        "torch 2.13.0",
    ],
)
def test_what_is_not_pinned_is_refused_with_its_line(tmp_path: Path, line: str) -> None:
    """Tomorrow, or on another machine, it would be something else."""
    path = tmp_path / "new.txt"
    path.write_text(f"# two lines of\nnumpy==2.0.0 \\\n  --hash=sha256:{SHA}\n{line}\n")
    with pytest.raises(ValidationError) as caught:
        read_lock(path)

    place = f'{path}:4:1: $\n  found     "{line}"\n  expected  NAME==VERSION, '
    assert caught.value.message.startswith(place)
    assert caught.value.remedy.endswith("pip freeze --exclude-editable > FILE")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "new.txt: No such file"),
        (b"", "found     nothing"),
        (b"# nothing\n--no-index\n", "found     nothing"),
        (b"\xff\xfe\x00==1", "new.txt:1:1"),
    ],
)
@pytest.mark.faults
def test_a_file_that_pins_nothing_is_refused(
    tmp_path: Path, content: bytes | None, expected: str
) -> None:
    """It may be another file than was meant."""
    path = tmp_path / "new.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=re.escape(expected)):
        read_lock(path)


# Making, by something that is faster than pip


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cache:
    """An empty cache, which is that of this machine."""
    monkeypatch.setenv(VARIABLE, str(tmp_path / "cache"))
    return Cache()


@attrs.frozen
class Installer:
    """Makes an environment of a link and a script, and takes its time."""

    asked: list[str] = attrs.field(factory=list)

    def __call__(self, folder: Path, lock: str) -> None:
        """What the text of a lock file asks for."""
        self.asked.append(lock)
        time.sleep(0.2)
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(sys.executable)
        (folder / "bin" / "script").write_text(f"#!{folder}/bin/python\n")


def test_an_environment_is_made_once_for_all_who_ask(cache: Cache) -> None:
    """By its content: builds of other names and variables share it."""
    install = Installer()
    builds = [BUILD, Build("base", env={"A": "1"}, lock=BUILD.lock), BUILD]
    with ThreadPoolExecutor(3) as threads:
        [*threads.map(lambda build: make_environment(build, install), builds)]
    make_environment(BUILD, install)
    make_environment(Build("new", lock="torch==2.13.1"), install)

    assert [BUILD.lock, "torch==2.13.1"] == install.asked
    assert 2 == len(cache.sizes()["environments"])


def test_the_interpreter_of_a_lock_file_is_known_before_it_is_made(cache: Cache) -> None:
    """Scripts find it, too, although they were written elsewhere."""
    interpreter = interpreter_of(BUILD)
    assert not is_made(BUILD)
    make_environment(BUILD, Installer())

    assert is_made(BUILD)
    assert Path(interpreter).samefile(sys.executable)
    assert f"#!{interpreter}\n" == (Path(interpreter).parent / "script").read_text()
    assert cache.root in Path(interpreter).parents


@pytest.mark.usefixtures("cache")
def test_an_environment_whose_python_is_gone_is_made_again() -> None:
    """It is a link to the one that made it."""
    make_environment(BUILD, Installer())
    python = Path(interpreter_of(BUILD))
    python.unlink()
    python.symlink_to("/nowhere/python")
    make_environment(BUILD, Installer())

    assert python.samefile(sys.executable)


@pytest.mark.usefixtures("cache")
def test_a_build_with_an_interpreter_needs_no_environment() -> None:
    """Also where that is a link to one."""
    install = Installer()
    make_environment(Build("b", sys.executable), install)
    make_environment(Build("b", sys.executable, lock=BUILD.lock), install)

    assert [] == install.asked


@pytest.mark.usefixtures("cache")
def test_an_environment_that_cannot_be_made_names_its_build() -> None:
    """Nothing of it stays."""

    def install(folder: Path, lock: str) -> None:
        (folder / "half").write_text(lock)
        raise BuildError("no such package", "Correct it.")

    with pytest.raises(BuildError, match=r'build "new": no such package\n  Correct it\.'):
        make_environment(BUILD, install)

    assert [] == [*environment_of(BUILD.lock).parent.glob("*/half")]


@pytest.mark.parametrize(
    ("output", "message", "remedy"),
    [
        ("Looking\nERROR: No match for a==1\n\n[notice] A new release\n", "ERROR: No match", "pip"),
        ("ERROR: a and b\nERROR: ResolutionImpossible: see\n", "ERROR: a and b", "config list"),
        ("ERROR: [Errno 28] No space left on device\n", "ERROR: [Errno 28] No", "Free some space"),
        ("because ensurepip is not\navailable.\nFailing command: a\n", "Failing", "python3-venv"),
        ("", "it was killed", "config list"),
    ],
)
@pytest.mark.faults
def test_the_reason_is_the_last_line_that_says_one(output: str, message: str, remedy: str) -> None:
    """With what helps against it."""
    error = error_of(output)

    assert error.message.startswith(f"no environment can be made of its lock file: {message}")
    assert remedy in error.remedy


# Making, by pip


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.usefixtures("cache")
def test_pip_installs_what_a_lock_file_names_and_nothing_else(tmp_path: Path) -> None:
    """The environment has this Python, and starts its scripts from where it lies.

    It is probed like any other one; that it is made is said the first time.
    """
    build, said = Build("new", lock=read_lock(lock_file(tmp_path))), Remarks()
    first, second = (MeasurementSettings().probe(build, said.note) for _ in range(2))
    python = interpreter_of(build)
    ask = "import sys, tiny, torch; print(sys.prefix, sys.version)"

    assert f"{environment_of(build.lock)} {sys.version}\n" == called([python, "-c", ask]).stdout
    assert "tiny\n" == called([str(Path(python).with_name("tiny"))]).stdout
    assert first == second
    assert python == first.interpreter
    assert first.links() is not None
    assert 1 == len(said.notes)


@pytest.mark.slow
@pytest.mark.usefixtures("cache")
def test_what_pip_says_last_is_the_reason(tmp_path: Path) -> None:
    """It is about a package that is not there."""
    path = lock_file(tmp_path)
    path.write_text(path.read_text().replace("tiny==1", "tiny==2"))
    with pytest.raises(BuildError) as caught:
        make_environment(Build("new", lock=path.read_text()))

    expected = 'build "new": no environment can be made of its lock file: ERROR: No matching'
    assert caught.value.message.startswith(expected)
    assert "python -m pip config list" in caught.value.remedy
