"""What every test can rely on: this checkout comes first on the path, and folders of its own."""

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import settings

# How long an example takes tells of the machine and its load, and not of what is tested. The same
# examples each time, so that the same code passes each time; `--hypothesis-profile search` draws
# many others.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=2_000)
settings.load_profile("steady")

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
# What takes minutes begins first, so that all workers end together.
LONGEST = [
    "tests/test_debian_build.py",
    "tests/docs/test_tutorials.py",
    "tests/engines/test_compiled_cases.py",
    "tests/engines/test_fork.py",
    "tests/api/test_api.py",
    "tests/notebook/test_extension.py",
    "tests/test_comparing_builds.py",
    "tests/cli/test_bisect_command.py",
    "tests/cli/test_baseline_command.py",
    "tests/engines/test_timer.py",
    "tests/engines/cpp/test_compiler.py",
    "tests/install/test_wheel.py",
]
COLLECTED = pytest.StashKey[list[str]]()
"""The ids of all tests that were collected, those included that are not asked for."""


def pytest_configure(config: pytest.Config) -> None:
    """Let tests, and what they start, begin with default signals, and share warm servers.

    Most of what a small command costs is to start a server of torch; what one test's commands have
    started, those of others find, in all workers. With the folder of their sockets servers end.

    A shell leaves SIGINT ignored in what it runs in the background, and nohup SIGHUP. Processes
    inherit that; a handler they do not.
    """
    ignored = {number for number in signal.valid_signals() if _is_ignored(number)}
    for number in ignored - {signal.SIGPIPE, signal.SIGXFSZ}:  # those are Python's own
        signal.signal(number, lambda *_: None)
    if signal.SIGHUP in ignored and "PYTEST_XDIST_WORKER" in os.environ:
        os.setsid()  # a terminal that goes away would else end what tests start
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tempfile.mkdtemp(prefix="instruction-counts-tests.")
        os.environ["INSTRUCTION_COUNTS_RUNTIME"] = folder
        config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))


def _is_ignored(number: int) -> bool:
    return signal.getsignal(number) == signal.SIG_IGN


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In parallel, files that take long come first, and then others with slow tests."""
    config.stash[COLLECTED] = [item.nodeid for item in items]
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    places = {ROOT / name: place for place, name in enumerate(LONGEST)}
    for item in items:
        if item.get_closest_marker("slow"):
            places.setdefault(item.path, len(LONGEST))
    items.sort(key=lambda item: places.get(item.path, len(LONGEST) + 1))


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests neither use nor fill the cache and the data of whoever runs them."""
    with pytest.MonkeyPatch.context() as patch:
        # What one worker of pytest-xdist compiled, the others need not compile again.
        folder = tmp_path_factory.getbasetemp()
        shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
        patch.setenv("INSTRUCTION_COUNTS_CACHE", str(shared / "shared-cache"))
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patch.delenv("INSTRUCTION_COUNTS_DB", raising=False)
        patch.setenv("INSTRUCTION_COUNTS_KEEP_SERVERS", "10m")
        yield


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, which is the folder of the test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
