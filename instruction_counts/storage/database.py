"""A database that can be read and written: SQLite or PostgreSQL, of the format of this program.

Whatever goes wrong with one is reported as a `DataError` or `UsageError` that names it, never with
a password of its URL. One that is not ours, is damaged, or has another format is not written.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Self
from urllib.parse import quote

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    create_engine,
    event,
    insert,
    inspect,
    make_url,
    select,
)
from sqlalchemy.exc import ArgumentError, DBAPIError

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.storage.tables import FORMAT, METADATA, store_format
from instruction_counts.system.files import locked
from instruction_counts.system.folders import make_data_folder
from instruction_counts.system.program import DATABASE_VARIABLE

LOCK_TIMEOUT_S = 30.0
"""How long a writer waits for another one."""

_CONNECT_TIMEOUT_S = 10
_ADVISORY_LOCK = 0x69636E74
"""On PostgreSQL writers take turns by this lock (any number will do), as they do on SQLite."""

_MAGIC = b"SQLite format 3\0"
_ELSEWHERE = "Name another database with --db."
_RECOVER = "Restore a copy of it, or save what is left into a new one: sqlite3 {} .recover"


class Database:
    """A database of the format that this program reads; for several threads and processes.

    A value is made by `at`.
    """

    def __init__(self, name: str, engine: Engine, path: Path | None, lock_timeout_s: float) -> None:
        self.name = name
        """As people know it: the file, or the URL without its password."""
        self._engine, self._path, self._lock_timeout_s = engine, path, lock_timeout_s
        self._place: tuple[int, int] | None = None
        """The device and the number of the file that was opened."""

    @classmethod
    def at(
        cls,
        where: str | Path | None,
        *,
        must_exist: bool = False,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> Self:
        """The database at a path or URL, or the user's own; made there if there is none.

        The user's own is the one that the environment names, or else in the user's data folder.

        Raises:
            UsageError: ``where`` cannot be a database, or ``must_exist`` and nothing is there.
            DataError: it cannot be reached or written, is damaged, or has another format.
        """
        database = cls._connected(where, must_exist, lock_timeout_s)
        try:
            database.prepare()
        except BaseException:
            database.close()
            raise
        return database

    @classmethod
    def _connected(cls, where: str | Path | None, must_exist: bool, lock_timeout_s: float) -> Self:
        where = where or os.environ.get(DATABASE_VARIABLE) or None
        if isinstance(where, str) and "://" in where:
            url = _parsed(where)
            if url.get_backend_name() != "sqlite":
                return cls(_shown(url), _server_engine(url, lock_timeout_s), None, lock_timeout_s)
            where = url.database
            if not where or where == ":memory:":
                raise UsageError("a database in memory keeps nothing", _ELSEWHERE)
        elif where is None:
            where = _default_path()
            must_exist = False
        path = Path(where)
        _check_file(path, must_exist=must_exist)
        return cls(str(path), _file_engine(path, lock_timeout_s), path, lock_timeout_s)

    @property
    def path(self) -> Path | None:
        """The file; None for a server."""
        return self._path

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database, whatever others write meanwhile."""
        with self._explained(), self._engine.connect() as connection:
            if self._path is None:
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection that alone writes; all of it is kept, or nothing where an error comes up.

        Raises:
            DataError: above all, the file is no longer the one that was opened.
        """
        self._require_place()
        with self._explained(), self._engine.connect() as connection:
            connection.execution_options(alone=True)
            with connection.begin():
                yield connection

    def give_back_space(self) -> None:
        """Shrink the file of a database by what was deleted; servers do that themselves."""
        if self._path is not None:
            # A step for each page, all of which only a script takes.
            with (
                self._explained(),
                _plain_connection(self._path, self._lock_timeout_s) as connection,
            ):
                connection.executescript("PRAGMA incremental_vacuum")

    def prepare(self) -> None:
        """Make the tables where there are none; safe where several processes do."""
        if not self._is_new:
            with self.reading() as connection:
                if self._has_tables(connection):
                    self._note_place()
                    return
        with contextlib.ExitStack() as stack:
            # On a server one transaction does it all. A file takes more than one.
            if self._path is not None:
                with self._explained():
                    stack.enter_context(locked(self._path, self._lock_timeout_s))
                    if self._is_new:
                        _make_file(self._path, self._lock_timeout_s)
            self._note_place()
            with self.writing() as connection:
                if not self._has_tables(connection):  # another process may have been faster
                    METADATA.create_all(connection)
                    connection.execute(insert(store_format), {"version": FORMAT})

    @property
    def _is_new(self) -> bool:
        path = self._path
        return path is not None and (not path.exists() or not path.stat().st_size)

    def _has_tables(self, connection: Connection) -> bool:
        """Whether the tables are there; False in an empty database.

        Raises:
            DataError: they have another format, or another program uses the file.
        """
        names = inspect(connection).get_table_names()
        is_ours = store_format.name in names
        if is_ours:
            version = connection.execute(select(store_format.c.version)).scalar()
            if version == FORMAT:
                return True
            found = f"of format {version}"
        elif "alembic_version" in names:
            found = "of an unreleased version of instruction-counts"
        elif self._path is not None and names:
            found = "of another program"
        else:
            return False
        raise DataError(
            f"{self.name} is a database {found}, and this program reads format {FORMAT}",
            "Name another database with --db, or use the version of instruction-counts that "
            "wrote it.",
        )

    def _note_place(self) -> None:
        if self._path is not None:
            self._place = _place_of(self._path)

    def _require_place(self) -> None:
        # SQLite would go on in a file that nobody can open any more.
        if self._path is not None and self._place not in {None, _place_of(self._path)}:
            raise DataError(
                f"{self.name} was deleted or replaced while it was in use",
                "Leave a database in its place while something is measured.",
            )

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            original = error.orig if isinstance(error, DBAPIError) else error
            raise _explanation(self.name, original or error, self._lock_timeout_s) from error
        except TimeoutError as error:
            raise _is_locked(self.name, self._lock_timeout_s) from error
        except OSError as error:
            raise _not_writable(self.name, error.strerror or str(error)) from error
        except OverflowError as error:
            raise DataError(
                f"{self.name} takes no number of more than 64 bits", "Measure it again."
            ) from error


# Where it is


def _default_path() -> Path:
    return make_data_folder("--db") / "runs.db"


def _parsed(text: str) -> URL:
    # What the parser says of a URL may repeat it, with the password.
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise UsageError(
            "the URL of the database cannot be read", "Write postgresql://USER@HOST/NAME."
        ) from None
    kind = url.get_backend_name()
    if kind in {"postgres", "postgresql"}:
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise UsageError(
            f'runs are not stored in a database of kind "{kind}"',
            "Name a file (SQLite), or write postgresql://USER@HOST/NAME.",
        )
    return url


def _shown(url: URL) -> str:
    # Of the query only what says where: a password can stand there too.
    where = {key: value for key, value in url.query.items() if key in {"host", "port"}}
    shown = url.set(drivername="postgresql", query=where)
    return shown.render_as_string(hide_password=True)


def _server_engine(url: URL, lock_timeout_s: float) -> Engine:
    limit = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_TIMEOUT_S}
    try:
        engine = create_engine(
            url,
            isolation_level="READ COMMITTED",
            # Between two outcomes hours can pass, in which a server may close a connection.
            pool_pre_ping=True,
            connect_args=limit,
        )
    except ImportError as error:
        raise UsageError(
            f"{_shown(url)}: the driver of PostgreSQL is not installed",
            "pip install 'instruction-counts[postgresql]'",
        ) from error

    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("alone"):
            milliseconds = math.ceil(1000 * lock_timeout_s)
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_ADVISORY_LOCK,))

    event.listen(engine, "begin", begin)
    return engine


# Files


def _file_engine(path: Path, lock_timeout_s: float) -> Engine:
    # Transactions are begun below; by itself sqlite3 begins them late, and not for reading.
    arguments = {"timeout": lock_timeout_s, "isolation_level": None}
    # One that is gone is not made anew.
    place = f"file:{quote(str(path.absolute()))}"
    url = URL.create("sqlite", database=place, query={"mode": "rw", "uri": "true"})
    engine = create_engine(url, connect_args=arguments)
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _begin_on_file)
    return engine


def _on_connect(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    # A lost process loses nothing. A lost machine may lose the last outcomes, never the database.
    connection.execute("PRAGMA synchronous = NORMAL")


def _begin_on_file(connection: Connection) -> None:
    alone = connection.get_execution_options().get("alone")
    # A transaction that reads before it writes could not wait for another writer.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if alone else "BEGIN")


def _plain_connection(path: Path, lock_timeout_s: float) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(path, timeout=lock_timeout_s))


def _make_file(path: Path, lock_timeout_s: float) -> None:
    with _plain_connection(path, lock_timeout_s) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        # Readers do not wait for a writer, and a commit is one write.
        connection.execute("PRAGMA journal_mode = WAL")


def _place_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _check_file(path: Path, *, must_exist: bool) -> None:
    try:
        if path.is_dir() or not path.parent.is_dir():
            problem = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            raise UsageError(f"{path}: {problem}", "Name a file in an existing folder.")
        if must_exist and not path.exists():
            raise UsageError(
                f"{path}: there is no such database",
                "Name another one with --db, or measure something:",
                "run",
            )
        if path.exists():
            with path.open("rb") as stream:
                if stream.read(len(_MAGIC)) not in {b"", _MAGIC}:  # SQLite takes a byte for nothing
                    raise DataError(f"{path} is not an SQLite database", _ELSEWHERE)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}", _ELSEWHERE) from error


# What went wrong


def _explanation(name: str, error: BaseException, lock_timeout_s: float) -> DataError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    state = getattr(error, "sqlstate", None)
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} or state in {"55P03", "40P01"}:
        return _is_locked(name, lock_timeout_s)
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return DataError(f"{name} is damaged: {text}", _RECOVER.format(name))
    if code == sqlite3.SQLITE_FULL or state == "53100":
        return DataError(f"{name} cannot be written: {text}", "Make room on its disk.")
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
        return _not_writable(name, text)
    if hasattr(error, "sqlstate") and not state:  # no server has said a word
        return DataError(f"{name} cannot be reached: {text}", "Is the server running?")
    return DataError(f"{name}: {text}", _ELSEWHERE)


def _is_locked(name: str, lock_timeout_s: float) -> DataError:
    return DataError(
        f"{name} has been locked by another process for {lock_timeout_s:g} s",
        "Try again when it has finished.",
    )


def _not_writable(name: str, reason: str) -> DataError:
    return DataError(
        f"{name} cannot be written: {reason}",
        "Name a file in a folder that you may write to with --db.",
    )
