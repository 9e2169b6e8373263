"""The cache folder: entries appear whole, once, and go when they are old and in nobody's way."""

import multiprocessing
import os
import re
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from instruction_counts.system.cache import VARIABLE, Cache, cache_root, key_of, note_sources
from tests.waiting import comes_true

forked = multiprocessing.get_context("fork")


def writing(text: str) -> Callable[[Path], None]:
    """A build that puts one file with ``text`` into its entry."""

    def build(folder: Path) -> None:
        (folder / "file").write_text(text)

    return build


def fail(folder: Path) -> None:
    """A build that leaves something behind and raises."""
    (folder / "half").write_text("half")
    raise ValueError(folder.name)


def unexpected(folder: Path) -> None:
    """A build that must not run."""
    raise AssertionError(folder)


def started(target: Callable[[], object]) -> BaseProcess:
    """A forked process that runs ``target``."""
    process = forked.Process(target=target)
    process.start()
    return process


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """An empty cache."""
    return Cache(tmp_path / "cache")


def test_the_variable_names_the_folder(tmp_path: Path) -> None:
    """Without it, it is a folder of ours in the user's cache folder."""
    assert tmp_path == cache_root({VARIABLE: str(tmp_path)})
    assert "instruction-counts" == cache_root({}).name


@pytest.mark.parametrize(
    ("parts", "other"),
    [(("a", "b"), ("ab",)), (("a", "b"), ("b", "a")), (("a",), ("a", "")), (("é",), ("e",))],
)
def test_different_parts_give_different_keys(
    parts: tuple[str, ...], other: tuple[str, ...]
) -> None:
    """Neither joining nor reordering the parts gives the same key, which names a folder."""
    assert key_of(*parts) != key_of(*other)
    assert re.fullmatch("[0-9a-f]{32}", key_of(*parts))


# Making and finding entries


def test_an_entry_is_made_once(cache: Cache) -> None:
    """The second time it is found, also by another cache object on the same folder.

    What a build raises that fails is passed on, and the next one starts in an empty folder.
    """
    with pytest.raises(ValueError, match="k"):
        cache.entry("cases", "k", fail)
    assert cache.find("cases", "k") is None
    made = cache.entry("cases", "k", writing("text"))
    assert made == cache.entry("cases", "k", unexpected)
    assert made == Cache(cache.root).find("cases", "k") == cache.root / "cases" / "k"
    assert ["file"] == [path.name for path in made.iterdir()]


def test_an_entry_that_is_no_longer_current_is_made_again(cache: Cache) -> None:
    """The new one takes its place."""
    cache.entry("cases", "k", writing("old"))

    def is_new(path: Path) -> bool:
        return (path / "file").read_text() == "new"

    assert cache.find("cases", "k", is_new) is None
    made = cache.entry("cases", "k", writing("new"), is_current=is_new)
    assert "new" == (made / "file").read_text()
    assert made == cache.entry("cases", "k", unexpected, is_current=is_new)


@pytest.mark.faults
@pytest.mark.parametrize("left", ["", "te", "next", None])
def test_an_entry_of_which_something_is_lost_is_made_again(cache: Cache, left: str | None) -> None:
    """A library of which a part is gone would kill every process that loads it."""
    made = cache.entry("shims", "k", writing("text"))
    if left is None:
        (made / "file").unlink()
    else:
        (made / "file").write_text(left)

    assert Cache(cache.root).find("shims", "k") is None
    assert "text" == (cache.entry("shims", "k", writing("text")) / "file").read_text()


# Several processes and one cache


def test_two_processes_make_an_entry_once(cache: Cache, tmp_path: Path) -> None:
    """The second waits for the first, and finds what it made."""
    log = tmp_path / "log"

    def build(folder: Path) -> None:
        with log.open("a") as file:
            file.write("built\n")
        time.sleep(0.5)
        writing("text")(folder)

    processes = [started(lambda: cache.entry("cases", "k", build)) for _ in range(3)]
    for process in processes:
        process.join()
    assert [0, 0, 0] == [process.exitcode for process in processes]
    assert "built\n" == log.read_text()


@pytest.mark.faults
def test_a_killed_process_holds_nobody_up(cache: Cache) -> None:
    """Neither its lock nor its half-made folder is in the way; the next one sweeps."""

    def build(folder: Path) -> None:
        (folder / "half").write_text("half")
        time.sleep(600)

    processes = [started(lambda key=key: cache.entry("cases", key, build)) for key in "ab"]
    assert comes_true(lambda: 2 == len(list((cache.root / "cases").glob(".new-*/half"))))
    for process in processes:
        process.kill()
        process.join()
    (cache.root / "cases" / ".old-b-123").mkdir()
    made = cache.entry("cases", "a", writing("text"))
    assert ["file"] == [path.name for path in made.iterdir()]
    assert [] == [*cache.root.glob("*/.new-*"), *cache.root.glob("*/.old-*")]


def test_sweeping_spares_what_another_process_makes(cache: Cache, tmp_path: Path) -> None:
    """A folder whose lock is held is at work; what ``while_waiting`` raises ends a wait."""

    def build(folder: Path) -> None:
        assert comes_true((tmp_path / "go on").exists)
        writing("text")(folder)

    def give_up() -> None:
        raise TimeoutError

    process = started(lambda: cache.entry("cases", "slow", build))
    assert comes_true(lambda: list((cache.root / "cases").glob(".new-*")))
    cache.entry("cases", "quick", writing("text"))
    cache.clear()
    with pytest.raises(TimeoutError):
        cache.entry("cases", "slow", unexpected, while_waiting=give_up)
    (tmp_path / "go on").touch()
    process.join()
    assert 0 == process.exitcode
    assert cache.find("cases", "slow") is not None


# What the cache holds, and what it gives up


@pytest.fixture
def filled(cache: Cache) -> Path:
    """A cache with entries of 100 bytes: a, then b, then c, last used in that order."""
    for second, key in enumerate("abc"):
        made = cache.entry("cases", key, writing("x" * 100))
        os.utime(made, (second, second))
    return cache.root


@pytest.mark.parametrize(
    ("limit", "left"), [(400, "abcd"), (399, "acd"), (250, "ad"), (100, "d"), (0, "d")]
)
def test_the_least_recently_used_entries_go(filled: Path, limit: int, left: str) -> None:
    """As many as the limit asks for, but never the new one; to find one is to use it."""
    Cache(filled).find("cases", "a")
    Cache(filled, limit).entry("cases", "d", writing("x" * 100))
    assert left == "".join(sorted(path.name for path in filled.glob("cases/[!.]*")))


@pytest.mark.parametrize(("minutes", "left"), [(50, "ad"), (70, "d")])
def test_an_environment_that_may_be_in_use_stays(cache: Cache, minutes: int, left: str) -> None:
    """Servers load files of theirs at any time, and two can be larger than the limit."""
    for kind in ("environments", "cases"):
        made = cache.entry(kind, "a" if kind == "environments" else "b", writing("x" * 100))
        long_ago = time.time() - 60 * minutes
        os.utime(made, (long_ago, long_ago))
    Cache(cache.root, 100).entry("environments", "d", writing("x" * 100))

    assert left == "".join(sorted(path.name for path in cache.root.glob("*/[!.]*")))


@pytest.mark.parametrize("is_changed", [True, False], ids=["another", "gone"])
def test_what_was_made_from_files_that_are_gone_goes_first(
    filled: Path, tmp_path: Path, *, is_changed: bool
) -> None:
    """A precompiled header is large, and of no use once its build is gone or another one."""
    source = tmp_path / "version.py"
    source.touch()
    cache = Cache(filled)
    cache.entry("headers", "of-source", lambda folder: note_sources(folder, [str(source)]))
    source.write_text("2") if is_changed else source.unlink()
    Cache(filled, 301).entry("cases", "d", writing("x"))
    assert {"cases": [100, 100, 100, 1], "headers": []} == cache.sizes()


@pytest.mark.faults
def test_what_others_put_there_stays(filled: Path) -> None:
    """Files, folders without a lock, and what links lead to."""
    (filled / "cases" / "notes").mkdir()
    (filled / "cases" / "notes" / "a.txt").write_text("mine")
    (filled / "mine").mkdir()
    (filled / "mine" / "b.txt").write_text("mine")
    (filled / "cases" / ".old-notes-1").mkdir()
    outside = filled.parent / "outside"
    outside.mkdir()
    (filled / "linked").symlink_to(outside)
    (outside / "k").mkdir()
    (outside / ".k.lock").touch()
    (filled / "cases" / "link").symlink_to(outside)
    (filled / "cases" / ".link.lock").touch()
    Cache(filled, 0).entry("cases", "d", writing("x"))
    Cache(filled).clear()

    left = {str(path.relative_to(filled)) for path in filled.rglob("[!.]*")}
    assert {
        *("cases", "cases/notes", "cases/notes/a.txt", "cases/link"),
        *("mine", "mine/b.txt", "linked"),
    } == left
    assert (outside / "k").is_dir()
