"""What every test can rely on: this checkout comes first on the path, and folders of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

# How long an example takes tells of the machine and its load, and not of what is tested.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
# Together they start servers of torch once; where workers divide tests, one takes all of these.
WITH_KEPT_ENGINES = {
    "tests/api/test_api.py",
    "tests/cli/test_operators_command.py",
    "tests/cli/test_specified_runs.py",
    "tests/cli/test_time_command.py",
    "tests/notebook/test_extension.py",
    "tests/sources/operators/test_real_operators.py",
}
# What takes minutes begins first, so that all workers end together.
LONGEST = [
    "tests/test_debian_build.py",
    "tests/docs/test_tutorials.py",
    "tests/engines/test_compiled_cases.py",
    "tests/engines/test_fork.py",
    *sorted(WITH_KEPT_ENGINES),
    "tests/test_comparing_builds.py",
    "tests/cli/test_bisect_command.py",
    "tests/cli/test_watch_command.py",
    "tests/cli/test_baseline_command.py",
    "tests/engines/test_timer.py",
    "tests/engines/cpp/test_compiler.py",
    "tests/install/test_wheel.py",
]
COLLECTED = pytest.StashKey[list[str]]()
"""The ids of all tests that were collected, those included that are not asked for."""


def pytest_configure() -> None:
    """Let tests, and what they start, begin with default signals.

    A shell leaves SIGINT ignored in what it runs in the background, and nohup SIGHUP. Processes
    inherit that; a handler they do not.
    """
    ignored = {number for number in signal.valid_signals() if _is_ignored(number)}
    for number in ignored - {signal.SIGPIPE, signal.SIGXFSZ}:  # those are Python's own
        signal.signal(number, lambda *_: None)
    if signal.SIGHUP in ignored and "PYTEST_XDIST_WORKER" in os.environ:
        os.setsid()  # a terminal that goes away would else end what tests start


def _is_ignored(number: int) -> bool:
    return signal.getsignal(number) == signal.SIG_IGN


class _ByFile(LoadFileScheduling):
    """A file's tests stay together, since they share what they measured."""

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        return "kept engines" if file in WITH_KEPT_ENGINES else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _ByFile:
    """Divide tests by files."""
    return _ByFile(config, log)


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
        patch.setenv("INSTRUCTION_COUNTS_KEEP_SERVERS", "0")
        yield


def _use(kept: Any, patch: pytest.MonkeyPatch) -> None:
    """Let the default engine start its servers once for each build, and not for each command."""
    from instruction_counts.engines import fork, registry  # noqa: PLC0415 - on the path set above

    entry = attrs.evolve(fork.ENTRY, make=kept.make)
    patch.setitem(registry._ENGINES, fork.ENTRY.name, entry)


def _kept_engines() -> Iterator[Any]:
    from tests.kept_engines import KeptEngines  # noqa: PLC0415

    with contextlib.closing(KeptEngines()) as kept:
        yield kept


engines_of_this_session = pytest.fixture(scope="session")(_kept_engines)
engines_of_this_file = pytest.fixture(scope="module")(_kept_engines)


@pytest.fixture
def kept_engines(engines_of_this_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests that ask for this share servers."""
    _use(engines_of_this_session, monkeypatch)


@pytest.fixture
def own_kept_engines(engines_of_this_file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """So do the commands of a file that measures builds of its own."""
    _use(engines_of_this_file, monkeypatch)
