"""Whether the files of a build are still those that were there."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from instruction_counts.builds.files import Files, changed, files_of

LINEAR = "torch/nn/linear.py"


@pytest.fixture
def build(tmp_path: Path) -> Path:
    """A folder with a build: an interpreter, torch, and libraries beside those of others."""
    libraries = ("lib/libtorch_cpu.so.2", "lib/libz.so")
    for name in ("python", LINEAR, *libraries, "linked", "a.pth"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a")
    (tmp_path / "torch" / "link.py").symlink_to(tmp_path / "linked")
    return tmp_path


def files_in(build: Path) -> Files:
    """Its files, as far as they matter."""
    torch = build / "torch"
    libraries = [str(build / "lib"), str(torch / "lib")]
    return files_of(str(build / "python"), str(torch), libraries, [str(build)])


def write(name: str) -> Callable[[Path], object]:
    """Write a file of a build, which may be a new one."""

    def act(build: Path) -> None:
        (build / name).parent.mkdir(exist_ok=True)
        (build / name).write_text("ab")

    return act


@pytest.mark.parametrize(
    ("act", "names"),
    [
        (lambda _: None, ()),
        (write(LINEAR), (LINEAR,)),
        (lambda build: os.utime(build / LINEAR, ns=(0, 7)), (LINEAR,)),
        (lambda build: (build / LINEAR).unlink(), (LINEAR,)),
        (write("torch/new.py"), ("torch/new.py",)),
        # What executes what is counted, what a link leads to, what Debian puts elsewhere.
        (write("python"), ("python",)),
        (write("linked"), ("torch/link.py",)),
        (write("lib/libtorch_cpu.so.2"), ("lib/libtorch_cpu.so.2",)),
        # Another checkout is installed as editable.
        (write("a.pth"), ("a.pth",)),
        # What is no part of it; the first import of a module compiles it.
        (write("lib/libz.so"), ()),
        (write("torch/__pycache__/new.pyc"), ()),
    ],
)
def test_what_changed_is_named(
    build: Path, act: Callable[[Path], object], names: tuple[str, ...]
) -> None:
    """With its whole path."""
    before = files_in(build)
    act(build)

    assert tuple(str(build / name) for name in names) == changed(before, files_in(build))
    assert {} == files_in(build / "absent")  # all of them are then missing


@pytest.mark.parametrize(
    ("name", "is_seen"),
    [
        ("numpy/__init__.py", True),
        ("usercustomize.py", True),
        ("c.so", True),
        ("results.json", False),
    ],
)
def test_what_can_be_imported_is_known_by_its_name(build: Path, name: str, is_seen: bool) -> None:
    """Servers that did without it are of another build; nobody wrote to this one."""
    before = files_in(build)
    write(name)(build)
    after = files_in(build)
    write(name)(build)

    assert is_seen is (before != after)
    assert after == files_in(build)
    assert () == changed(before, after)
