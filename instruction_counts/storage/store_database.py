"""A database that can be read and written: SQLite or PostgreSQL, checked, and brought up to date.

Whatever goes wrong with one is reported as a `DataError` or `UsageError` that names it, never with
a password of its URL. A file that is not ours, is damaged, or is of a newer program is not written.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Self

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.storage.store_tables import HEAD, VERSION, misfits
from instruction_counts.system.files import locked
from instruction_counts.system.folders import make_data_folder
from instruction_counts.system.program import DATABASE_VARIABLE

LOCK_TIMEOUT_S = 30.0
"""How long a writer waits for another one."""

_CONNECT_TIMEOUT_S = 10
_ADVISORY_LOCK = 0x69636E74
"""On PostgreSQL writers take turns by this lock (any number will do), as they do on SQLite."""

_MAGIC = b"SQLite format 3\0"
_MOST_MISFITS = 3
_ELSEWHERE = "Name another database with --db."
_RECOVER = "Restore a copy of it, or save what is left into a new one: sqlite3 {} .recover"
_CHECK = "See what is damaged with `runs check`. "


class Database:
    """A database of the revision that this program reads; for several threads and processes.

    A value is made by `at`.
    """

    def __init__(self, name: str, engine: Engine, path: Path | None, lock_timeout_s: float) -> None:
        self.name = name
        """As people know it: the file, or the URL without its password."""
        self._engine, self._path, self._lock_timeout_s = engine, path, lock_timeout_s

    @classmethod
    def at(
        cls,
        where: str | Path | None,
        *,
        must_exist: bool = False,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> Self:
        """The database at a path or URL, or the user's own; made there, or migrated, if need be.

        The user's own is the one that the environment names, or else in the user's data folder.

        Raises:
            UsageError: ``where`` cannot be a database, or ``must_exist`` and nothing is there.
            DataError: it cannot be reached or written, is damaged, or is not one of ours.
        """
        database = cls._connected(where, must_exist, lock_timeout_s)
        try:
            database.migrate()
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
        """A connection that alone writes; all of it is kept, or nothing where an error comes up."""
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

    def migrate(self) -> None:
        """Bring the database to `HEAD`, if it is not there; safe where several processes do."""
        if self._is_new:
            found = None
        else:
            with self.reading() as connection:
                found = self._revision(connection)
                if found == HEAD:
                    self._refuse_misfits(connection)
                    return
        with self._locked():
            if self._path is not None and self._is_new:
                with self._explained():
                    _make_file(self._path, self._lock_timeout_s)
            with self.writing() as connection:
                # Another process may have been faster.
                if self._revision(connection) != HEAD:
                    _migrations().upgrade(connection)

    @property
    def _is_new(self) -> bool:
        path = self._path
        return path is not None and (not path.exists() or not path.stat().st_size)

    def _revision(self, connection: Connection) -> str | None:
        """The revision of the database, None if it is empty.

        Raises:
            DataError: this program does not know it, or another program uses the file.
        """
        tables = inspect(connection).get_table_names()
        if VERSION.name not in tables:
            if tables and self._path is not None:
                raise DataError(f"{self.name} is a database of another program", _ELSEWHERE)
            return None
        found = connection.execute(select(VERSION.c.version_num)).scalar()
        if found in {None, HEAD} or found in _migrations().known():
            return found
        raise DataError(
            f'{self.name} is of revision "{found}", which this program does not know',
            "Another version of instruction-counts wrote it: use that one, or name another "
            "database with --db.",
        )

    def _refuse_misfits(self, connection: Connection) -> None:
        found = list(misfits(connection))
        if found:
            more = f"; and {len(found) - _MOST_MISFITS} more" if len(found) > _MOST_MISFITS else ""
            raise DataError(
                f"{self.name} has other tables than this program expects of revision {HEAD}: "
                f"{'; '.join(found[:_MOST_MISFITS])}{more}",
                "An unreleased version of instruction-counts made it. Export its runs with that "
                "version (runs export RUN FILE.json), or name a new database with --db. "
                "Nothing was changed.",
            )

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        # On a server the transaction that migrates does it all. A file takes more than one.
        if self._path is None:
            yield
            return
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(self._path, self._lock_timeout_s))
            except TimeoutError as error:
                raise _is_locked(self.name, self._lock_timeout_s) from error
            except OSError as error:
                raise _not_writable(self.name, error.strerror or str(error)) from error
            yield

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error) as error:
            original = error.orig if isinstance(error, DBAPIError) else error
            raise _explanation(self.name, original or error, self._lock_timeout_s) from error
        except OverflowError as error:
            raise DataError(
                f"{self.name} takes no number of more than 64 bits", "Measure it again."
            ) from error


def _migrations() -> ModuleType:
    # Alembic takes long to import, and is seldom needed.
    from instruction_counts.storage import migrations  # noqa: PLC0415

    return migrations


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
    url = URL.create("sqlite", database=str(path.absolute()))
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


def _check_file(path: Path, *, must_exist: bool) -> None:
    """Look at a file before SQLite does, which would repair or fill what it takes for its own."""
    try:
        if path.is_dir() or not path.parent.is_dir():
            problem = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            raise UsageError(f"{path}: {problem}", "Name a file, in a folder that is there.")
        header = _header(path)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}", _ELSEWHERE) from error
    if header is None:
        if must_exist:
            raise UsageError(
                f"{path}: there is no such database",
                "Name another one with --db, or measure something:",
                "run",
            )
        return
    if not (header.startswith(_MAGIC) or _MAGIC.startswith(header)):
        raise DataError(f"{path} is no SQLite database", _ELSEWHERE)
    # Looked at twice: a file that another process is just writing can look cut for a moment.
    if _is_cut(path) and _is_cut(path):
        raise DataError(f"{path} is damaged: a part of it is missing", _RECOVER.format(path))


def _header(path: Path) -> bytes | None:
    try:
        with path.open("rb") as stream:
            return stream.read(100)
    except FileNotFoundError:
        return None


def _is_cut(path: Path) -> bool:
    """Whether the file holds fewer pages than it says, and none are on their way into it."""
    log = Path(f"{path}-wal")
    if log.exists():
        return path.stat().st_size == 0  # SQLite would throw the log away
    header = _header(path) or b""
    size = path.stat().st_size
    if not size:
        return False
    if len(header) < 100:
        return True
    page_size = int.from_bytes(header[16:18])
    pages = int.from_bytes(header[28:32])
    # Old versions of SQLite left the number of pages as it was; it counts if these two agree.
    counts = header[24:28] == header[92:96]
    page_bytes = 65536 if page_size == 1 else page_size
    return counts and size < pages * page_bytes and not log.exists()


# What went wrong


def _explanation(name: str, error: BaseException, lock_timeout_s: float) -> DataError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    state = getattr(error, "sqlstate", None)
    text = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED} or state in {"55P03", "40P01"}:
        return _is_locked(name, lock_timeout_s)
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return DataError(f"{name} is damaged: {text}", _CHECK + _RECOVER.format(name))
    if code == sqlite3.SQLITE_FULL or state == "53100":
        return DataError(f"{name} cannot be written: {text}", "Make room on its disk.")
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
        return _not_writable(name, text)
    if hasattr(error, "sqlstate") and not state:  # no server has said a word
        return DataError(f"{name} cannot be reached: {text}", "Is the server up?")
    return DataError(f"{name}: {text}", _ELSEWHERE)


def _is_locked(name: str, lock_timeout_s: float) -> DataError:
    return DataError(
        f"{name} has been locked by another process for {lock_timeout_s:g} s",
        "Try again when that one is done.",
    )


def _not_writable(name: str, reason: str) -> DataError:
    return DataError(
        f"{name} cannot be written: {reason}",
        "Name a file in a folder that you may write to with --db.",
    )
