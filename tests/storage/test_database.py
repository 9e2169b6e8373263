"""What can be wrong with a database: reported with its remedy, and nothing is overwritten."""

import contextlib
import os
import sqlite3
import stat
import sys
from pathlib import Path

import pytest

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.storage.store import Store
from tests.fakes import make_record, make_run
from tests.process import ROOT, called
from tests.storage.values import loaded

RUN = make_run(*[make_record(str(name), stmt=f"x + {'y' * 6000}{name}") for name in range(12)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database with a run, that nobody has open."""
    path = tmp_path / "runs.db"
    with Store(path) as store:
        store.import_run(RUN)
    return path


def problem(where: str | Path) -> str:
    """What is said when a store is opened there."""
    with pytest.raises(UsageError) as caught:
        Store(where)
    assert caught.value.remedy
    return str(caught.value)


# Places


def test_the_users_own_database_is_in_a_private_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is made where the system keeps data of programs."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with Store() as store:
        name = store.name
    folder = tmp_path / "data" / "instruction-counts"

    assert str(folder / "runs.db") == name
    assert 0o700 == stat.S_IMODE(folder.stat().st_mode)


def test_a_file_is_whole_once_it_is_there(tmp_path: Path) -> None:
    """Who opens it meanwhile keeps nobody from making it; an empty one says who may read it."""
    path, link = tmp_path / "runs.db", tmp_path / "link.db"
    path.touch(mode=0o600)
    link.symlink_to(path)
    with Store(link), contextlib.closing(sqlite3.connect(path)) as connection:
        assert ("wal",) == connection.execute("PRAGMA journal_mode").fetchone()

    assert 0o600 == stat.S_IMODE(path.stat().st_mode)
    assert link.is_symlink()
    assert not list(tmp_path.glob("*.new"))


@pytest.mark.parametrize("name", ["a b.db", "a%20b.db", "é?x=1#2.db", "runs", "\udcff.db"])
@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_may_have_any_name(tmp_path: Path, name: str, *, is_there: bool) -> None:
    """Nothing in it is taken for a part of a URL; it may be empty, as one that `mktemp` made."""
    if is_there:
        (tmp_path / name).touch()
    with Store(str(tmp_path / name)) as store:
        number = store.import_run(make_run())
    with Store(tmp_path / name, must_exist=True) as store:
        assert make_run() == loaded(store, number)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "{0}: is a folder"),
        ("none.db", "{0}/none.db: there is no such database"),
        ("no/runs.db", "{0}/no/runs.db: there is no folder {0}/no"),
        ("file/runs.db", "{0}/file/runs.db: there is no folder {0}/file"),
    ],
)
def test_places_that_cannot_be_or_have_no_file_are_named(
    tmp_path: Path, name: str, said: str
) -> None:
    """A database that has to be there is not made."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError) as caught:
        Store(tmp_path / name, must_exist=True)

    assert said.format(tmp_path) == caught.value.message
    assert ["file"] == [path.name for path in tmp_path.iterdir()]


def test_a_folder_that_takes_no_file_is_named() -> None:
    """Before anything is measured."""
    assert problem("/proc/runs.db").startswith("/proc/runs.db cannot be written: ")


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("mode", [0o500, 0o555])
def test_a_read_only_folder_is_named(path: Path, mode: int) -> None:
    """Also where the database is there."""
    path.parent.chmod(mode)
    try:
        problems = [problem(path.parent / "new.db")]
        path.chmod(0o400)
        with pytest.raises(DataError) as caught, Store(path) as store:
            store.begin(make_run())
        problems.append(str(caught.value))
    finally:
        path.parent.chmod(0o700)

    assert [True, True] == ["cannot be written: " in problem for problem in problems]


# Contents


def bookmarks() -> bytes:
    """The database of another program."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        return connection.serialize()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *(
            (content, "is not an SQLite database")
            for content in (b"x", b'{"schema_version": 2}', b"\0" * 5000, b"SQLite 3")
        ),
        pytest.param(bookmarks(), "is a database of another program", id="another program"),
    ],
)
def test_what_is_no_database_of_ours_is_left_alone(
    tmp_path: Path, content: bytes, said: str
) -> None:
    """It holds something else that somebody wants to keep; nothing is added to it."""
    file = tmp_path / "result.json"
    file.write_bytes(content)

    assert problem(file).startswith(f"{file} {said}")
    assert content == file.read_bytes()
    assert [file] == list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [16, 50, 100, 4095, 4096, 20_000, -4096])
@pytest.mark.faults
def test_a_file_that_was_cut_is_left_alone(path: Path, size: int) -> None:
    """What is in it may be saved yet."""
    path.write_bytes(path.read_bytes()[:size])
    before = path.read_bytes()

    assert problem(path).startswith(f"{path} is damaged: ")
    assert before == path.read_bytes()


@pytest.mark.faults
def test_damage_anywhere_gives_no_traceback(path: Path) -> None:
    """Each page in turn is overwritten: runs are read as they were, or it is reported."""
    whole = path.read_bytes()
    for page in range(len(whole) // 4096):
        for garbage in (bytes(4096), b"\xa5" * 4096):
            path.write_bytes(whole[: 4096 * page] + garbage + whole[4096 * (page + 1) :])
            with contextlib.suppress(UsageError), Store(path) as store:
                store.summaries()
                loaded(store, 1)
                store.import_run(make_run(make_record()))
            for left in path.parent.glob("runs.db?*"):
                left.unlink()


def test_deleting_runs_makes_the_file_smaller(path: Path) -> None:
    """A run of the suite takes some MB."""
    before = path.stat().st_size
    with Store(path) as store:
        store.delete(1)

    assert path.stat().st_size < before - 60_000


# Servers


@pytest.mark.faults
def test_a_server_that_is_not_there_is_named() -> None:
    """Without the password, wherever it stands."""
    said = problem("postgresql://me:secret@127.0.0.1:1/runs?password=secret&connect_timeout=5")

    assert said.startswith("postgresql://me:***@127.0.0.1:1/runs cannot be reached: ")
    assert "secret" not in said


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@host:port/runs",
        "postgresql+psycopg2://me:secret@127.0.0.1:1/runs",
        "postgres://me:secret@127.0.0.1:1/runs",
        "mysql://me:secret@host/runs",
        "://me:secret",
        "sqlite:///secret",
    ],
)
def test_no_password_is_shown(url: str) -> None:
    """Terminals and logs are read by others."""
    assert "secret" not in problem(url)


def test_a_missing_driver_is_named() -> None:
    """It is installed only by those who use it."""
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from instruction_counts.storage.store import Store\n"
        "from instruction_counts.domain.errors import UsageError\n"
        "try:\n    Store('postgresql://me:secret@h/x')\n"
        "except UsageError as error:\n    print(error)"
    )

    assert (
        "postgresql://me:***@h/x: the driver of PostgreSQL is not installed\n"
        "  pip install 'instruction-counts[postgresql]'\n"
    ) == called([sys.executable, "-c", code], ROOT).stdout
