"""The cache folder: entries appear whole, once, and go when they are old and in nobody's way."""

import multiprocessing
import os
import re
import signal
import stat
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.system.cache import VARIABLE, Cache, Usage, cache_root, key_of
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


class TestRoot:
    """Where the cache lies, and who may read it."""

    def test_the_variable_names_the_folder(self, tmp_path: Path) -> None:
        """Without it, it is a folder of ours in the user's cache folder."""
        assert tmp_path == cache_root({VARIABLE: str(tmp_path)})
        assert "instruction-counts" == cache_root({}).name

    def test_the_folder_is_private(self, tmp_path: Path) -> None:
        """Its code is loaded, so only its owner may write it."""
        root = tmp_path / "deep" / "cache"
        Cache(root)
        assert 0o700 == stat.S_IMODE(root.stat().st_mode)

    def test_backups_leave_it_out(self, cache: Cache) -> None:
        """By the tag that they know."""
        tag = (cache.root / "CACHEDIR.TAG").read_text()
        assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")

    def test_a_folder_that_cannot_be_made_is_the_users_to_change(self, tmp_path: Path) -> None:
        """The error names the variable that helps."""
        (tmp_path / "file").touch()
        with pytest.raises(UsageError, match=VARIABLE):
            Cache(tmp_path / "file" / "cache")

    @pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
    @pytest.mark.faults
    def test_a_folder_of_another_user_is_refused(self, tmp_path: Path) -> None:
        """Another user could put code there."""
        os.chown(tmp_path, 12345, -1)
        with pytest.raises(UsageError, match="belongs to another user"):
            Cache(tmp_path)


class TestKeys:
    """Keys stand for contents."""

    @pytest.mark.parametrize(
        ("parts", "other"),
        [(("a", "b"), ("ab",)), (("a", "b"), ("b", "a")), (("a",), ("a", "")), (("é",), ("e",))],
    )
    def test_different_parts_give_different_keys(
        self, parts: tuple[str, ...], other: tuple[str, ...]
    ) -> None:
        """Neither joining nor reordering the parts gives the same key."""
        assert key_of(*parts) != key_of(*other)

    def test_a_key_is_32_hexadecimal_digits(self) -> None:
        """It is the name of a folder, the same on every machine."""
        assert re.fullmatch("[0-9a-f]{32}", key_of("a"))


class TestEntries:
    """Making and finding entries."""

    def test_an_entry_is_made_once(self, cache: Cache) -> None:
        """The second time it is found."""
        made = cache.entry("cases", "k", writing("text"))
        assert made == cache.entry("cases", "k", unexpected)
        assert "text" == (made / "file").read_text()
        assert cache.root / "cases" / "k" == made

    def test_an_entry_outlives_its_process(self, cache: Cache) -> None:
        """Another cache object on the same folder finds it."""
        made = cache.entry("cases", "k", writing("text"))
        assert made == Cache(cache.root).find("cases", "k")

    def test_nothing_is_found_where_nothing_is(self, cache: Cache) -> None:
        """A missing entry is None, also of a kind that has none."""
        assert cache.find("cases", "k") is None

    def test_a_failed_build_leaves_nothing(self, cache: Cache) -> None:
        """Its exception is passed on, and the next one starts in an empty folder."""
        with pytest.raises(ValueError, match="k"):
            cache.entry("cases", "k", fail)
        made = cache.entry("cases", "k", writing("text"))
        assert ["file"] == [path.name for path in made.iterdir()]

    def test_an_entry_that_is_no_longer_current_is_made_again(self, cache: Cache) -> None:
        """The new one takes its place."""
        cache.entry("cases", "k", writing("old"))

        def is_new(path: Path) -> bool:
            return (path / "file").read_text() == "new"

        assert cache.find("cases", "k", is_new) is None
        made = cache.entry("cases", "k", writing("new"), is_current=is_new)
        assert "new" == (made / "file").read_text()
        assert made == cache.entry("cases", "k", unexpected, is_current=is_new)

    def test_one_entry_may_be_made_while_making_another(self, cache: Cache) -> None:
        """A case needs a header; neither waits for the other."""

        def build(folder: Path) -> None:
            header = cache.entry("headers", "k", writing("header"))
            (folder / "file").write_text((header / "file").read_text())

        assert "header" == (cache.entry("cases", "k", build) / "file").read_text()


class TestProcesses:
    """Several processes and one cache."""

    def test_two_processes_make_an_entry_once(self, cache: Cache, tmp_path: Path) -> None:
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
    def test_a_killed_process_holds_nobody_up(self, cache: Cache) -> None:
        """Neither its lock nor its half-made folder is in the way."""

        def build(folder: Path) -> None:
            (folder / "half").write_text("half")
            time.sleep(600)

        process = started(lambda: cache.entry("cases", "k", build))
        assert comes_true(lambda: list((cache.root / "cases").glob(".new-*/half")))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        made = cache.entry("cases", "k", writing("text"))
        assert ["file"] == [path.name for path in made.iterdir()]

    @pytest.mark.faults
    def test_what_killed_processes_left_is_swept(self, cache: Cache) -> None:
        """Making any entry removes the half-made folders that nobody is making."""
        for name in (".new-other", ".old-other-123"):
            (cache.root / "cases" / name).mkdir(parents=True)
        (cache.root / "cases" / ".other.lock").touch()  # made before them, and left
        cache.entry("cases", "k", writing("text"))
        assert [] == [*cache.root.glob("*/.new-*"), *cache.root.glob("*/.old-*")]

    def test_sweeping_spares_what_another_process_makes(self, cache: Cache, tmp_path: Path) -> None:
        """A folder whose lock is held is at work."""

        def build(folder: Path) -> None:
            assert comes_true((tmp_path / "go on").exists)
            writing("text")(folder)

        process = started(lambda: cache.entry("cases", "slow", build))
        assert comes_true(lambda: list((cache.root / "cases").glob(".new-*")))
        cache.entry("cases", "quick", writing("text"))
        cache.clear()
        (tmp_path / "go on").touch()
        process.join()
        assert 0 == process.exitcode
        assert cache.find("cases", "slow") is not None

    def test_waiting_can_be_given_up(self, cache: Cache) -> None:
        """What ``while_waiting`` raises ends the wait."""

        def build(folder: Path) -> None:
            time.sleep(600)

        def give_up() -> None:
            raise TimeoutError

        process = started(lambda: cache.entry("cases", "k", build))
        assert comes_true(lambda: list((cache.root / "cases").glob(".new-*")))
        with pytest.raises(TimeoutError):
            cache.entry("cases", "k", unexpected, while_waiting=give_up)
        process.kill()
        process.join()


class TestSize:
    """What the cache holds, and what it gives up."""

    @pytest.fixture
    def filled(self, cache: Cache) -> Path:
        """A cache with entries of 100 bytes: a, then b, then c, last used in that order."""
        for second, key in enumerate("abc"):
            made = cache.entry("cases", key, writing("x" * 100))
            os.utime(made, (second, second))
        return cache.root

    @pytest.mark.parametrize(
        ("limit", "left"), [(400, "abcd"), (399, "bcd"), (250, "cd"), (100, "d"), (0, "d")]
    )
    def test_the_least_recently_used_entries_go(self, filled: Path, limit: int, left: str) -> None:
        """As many as the limit asks for, but never the new one."""
        Cache(filled, limit).entry("cases", "d", writing("x" * 100))
        assert left == "".join(sorted(path.name for path in filled.glob("cases/[!.]*")))

    def test_using_an_entry_makes_it_recent(self, filled: Path) -> None:
        """An entry that was found again outlives those made after it."""
        Cache(filled).find("cases", "a")
        Cache(filled, 300).entry("cases", "d", writing("x" * 100))
        assert ["a", "c", "d"] == sorted(path.name for path in filled.glob("cases/[!.]*"))

    def test_entries_in_use_stay(self, filled: Path) -> None:
        """What this process has used may be needed again, whatever the limit."""
        cache = Cache(filled, 0)
        cache.find("cases", "a")
        cache.entry("headers", "d", writing("x"))
        assert [Usage("cases", 1, 100), Usage("headers", 1, 1)] == list(cache.usage())

    def test_usage_is_by_kind(self, filled: Path) -> None:
        """Entries and bytes of each kind, without locks and half-made folders."""
        cache = Cache(filled)
        cache.entry("headers", "d", writing("x"))
        (filled / "cases" / ".new-e").mkdir()
        assert (Usage("cases", 3, 300), Usage("headers", 1, 1)) == cache.usage()

    def test_clearing_a_kind_leaves_the_others(self, filled: Path) -> None:
        """It returns what it removed."""
        Cache(filled).entry("headers", "d", writing("x"))
        assert (Usage("cases", 3, 300),) == Cache(filled).clear("cases")
        assert (Usage("cases", 0, 0), Usage("headers", 1, 1)) == Cache(filled).usage()

    def test_clearing_everything_spares_what_is_in_use(self, filled: Path) -> None:
        """An entry that this process has used stays."""
        cache = Cache(filled)
        cache.find("cases", "b")
        assert (Usage("cases", 2, 200),) == cache.clear()
        assert (Usage("cases", 1, 100),) == cache.usage()

    @pytest.mark.faults
    def test_what_others_put_there_stays(self, filled: Path) -> None:
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
            *("CACHEDIR.TAG", "cases", "cases/notes", "cases/notes/a.txt", "cases/link"),
            *("mine", "mine/b.txt", "linked"),
        } == left
        assert (outside / "k").is_dir()

    def test_an_empty_cache_uses_nothing(self, cache: Cache) -> None:
        """No kinds, no entries."""
        assert () == cache.usage() == cache.clear()
