"""Lock files: what pip installs, to the version, and the environment that is made of it.

A lock file is a file of pip's requirements in which each is pinned. Its text is all that makes the
environment, beside the Python that it is for: nothing is installed that the text does not name. So
an environment is made once on each machine, in the cache, whatever its file or build is called.
"""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

from instruction_counts.core.errors import quoted
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, Problem, ValidationError
from instruction_counts.reading.documents import read_bytes
from instruction_counts.system.cache import ENVIRONMENTS, Cache, cache_root, key_of
from instruction_counts.system.commands import called
from instruction_counts.system.shortages import shortage_in

SUFFIXES = (".txt", ".lock")
EXPECTED = "NAME==VERSION, NAME @ URL#sha256=…, or an option such as --index-url"
REMEDY = "Pin all that the build needs:  python -m pip freeze --exclude-editable > FILE"
_MOST_BYTES = 1 << 26
_PINNED = re.compile(
    r"\w[\w.-]*\s*(\[[^\]]*\])?"  # torch, jax[cpu]
    r"\s*(===?\s*[^\s;,*]+|@\s*[^\s;]+#sha256=[0-9a-f]{64})"
    r"(\s*;.*|\s+--.*)?"  # where it is needed; its hashes
).fullmatch
_OPTION = re.compile(
    r"(-i|-f|--(index-url|extra-index-url|find-links|no-index|trusted-host|pre|prefer-binary"
    r"|no-binary|only-binary|require-hashes))([\s=].*)?"
).fullmatch
_COMMENT = re.compile(r"(^|\s)#.*")

Install: TypeAlias = Callable[[Path, str], None]
"""Makes an environment in an empty folder from the text of a lock file; raises BuildError."""


# Reading


def is_lock_file(path: str) -> bool:
    """Whether what stands for a build names a lock file: by its suffix alone."""
    return path.endswith(SUFFIXES)


def read_lock(path: Path) -> str:
    """The text of a lock file.

    Raises:
        DataError: the file cannot be read.
        ValidationError: it pins nothing, or has something that is not pinned; all of it is named.
    """
    text = read_bytes(path, _MOST_BYTES, REMEDY).decode("utf-8-sig", errors="replace")
    lines = [*_requirements(text)]
    problems = [
        Problem(str(path), number, 1, "$", quoted(line), EXPECTED)
        for number, line in lines
        if not (_PINNED(line) or _OPTION(line))
    ]
    if not any(map(_PINNED, (line for _, line in lines))):
        problems = problems or [Problem(str(path), 1, 1, "$", "nothing", EXPECTED)]
    if problems:
        raise ValidationError(problems, REMEDY)
    return text


def _requirements(text: str) -> Iterator[tuple[int, str]]:
    """The lines as pip takes them, those that are continued as one, with the number of each."""
    number = 1
    for lines in re.split(r"(?<!\\)\n", text.replace("\r\n", "\n")):
        line = _COMMENT.sub("", lines.replace("\\\n", " ")).strip()
        if line:
            yield number, line
        number += lines.count("\n") + 1


# Making


def environment_of(lock: str) -> Path:
    """Where the environment of a lock file is, once it was made on this machine."""
    return cache_root() / ENVIRONMENTS / key_of(lock, sys.version)


def make_environment(build: Build, install: Install | None = None) -> None:
    """See that the environment of a build with a lock file is there; one takes minutes to make.

    Raises:
        BuildError: it cannot be made.
    """
    if build.python is None and build.lock:
        fill = partial(_fill, build, install or pip_install)
        key = environment_of(build.lock).name
        Cache().entry(ENVIRONMENTS, key, fill, is_current=_can_start)


def is_made(build: Build) -> bool:
    """Whether the environment of a build with a lock file is on this machine."""
    return _can_start(environment_of(build.lock))


def mark_used(build: Build) -> None:
    """Keep the environment of a build, if it has one of its own, in the cache for a while."""
    if build.python is None and build.lock:
        with contextlib.suppress(OSError):  # it was removed on request
            os.utime(environment_of(build.lock))


def _can_start(folder: Path) -> bool:
    return (folder / "bin" / "python").exists()  # a link to the Python that made it


def _fill(build: Build, install: Install, folder: Path) -> None:
    try:
        install(folder, build.lock)
    except BuildError as error:
        raise BuildError(f'build "{build.name}": {error.message}', error.remedy) from error
    # Scripts name their interpreter by its path, which is another one now.
    before, after = bytes(folder), bytes(environment_of(build.lock))
    for script in (folder / "bin").iterdir():
        if script.is_file() and not script.is_symlink() and before in (text := script.read_bytes()):
            script.write_bytes(text.replace(before, after))


def pip_install(folder: Path, lock: str) -> None:
    """Make a virtual environment of this Python, with what a lock file names and nothing else.

    Raises:
        BuildError: that fails; with what pip says last.
    """
    file = folder / "requirements.txt"
    file.write_text(lock, encoding="utf-8")
    # Isolated from PYTHONPATH and the user's packages; pip's own settings hold.
    _run(sys.executable, "-I", "-m", "venv", str(folder))
    options = ("--no-deps", "--no-input", "--disable-pip-version-check", "-r", str(file))
    _run(str(folder / "bin" / "python"), "-I", "-m", "pip", "install", *options)


def _run(*command: str) -> None:
    done = called(command, stderr=subprocess.STDOUT)
    if done.returncode:
        raise error_of(done.stdout)


_WITHOUT_REASON = "ResolutionImpossible"
"""In the line of pip that comes last where packages contradict each other."""


def error_of(output: str) -> BuildError:
    """Why no environment was made, by what venv or pip printed."""
    said = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in said if line.startswith("ERROR") and _WITHOUT_REASON not in line]
    last = (errors or said or ["it was killed"])[-1]
    remedy = (
        "apt-get install python3-venv"
        if "ensurepip is not" in output
        else "Correct the file, or the settings of pip there:  python -m pip config list"
    )
    message = f"no environment can be made of its lock file: {last}"
    return BuildError(message, shortage_in(output)[1] or remedy)
