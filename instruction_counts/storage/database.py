"""A database that can be read and written: SQLite or PostgreSQL, with the tables of the store.

A run, an outcome and its details are each a document in one column, as `storage.json_files` writes
them. The other columns are what is searched by: nothing is read back from them.

Whatever goes wrong with one is reported as a `DataError` or `UsageError` that names it, never with
a password of its URL. One that is not ours, is damaged, or has another format is not written.
"""

import contextlib
import json
import math
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.system.files import locked
from instruction_counts.system.folders import make_data_folder
from instruction_counts.system.program import DATABASE_VARIABLE

# The tables

FORMAT = 1
"""1, the first. Another is refused; a field that a document gains with a default needs none."""

METADATA = sa.MetaData()

# SQLite numbers rows by itself only if their key is an INTEGER, which has 64 bits there too.
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

store_format = sa.Table(
    "store_format", METADATA, sa.Column("version", sa.BigInteger, nullable=False)
)

runs = sa.Table(
    "runs",
    METADATA,
    sa.Column("id", _ID, primary_key=True),
    sa.Column("started_at", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("document", sa.Text, nullable=False),
    # The number of a deleted run is not given to another one: people may have noted it.
    sqlite_autoincrement=True,
)

# ``case_digest`` is 32 digits of what the case is called: a label can be too long for an index.
outcomes = sa.Table(
    "outcomes",
    METADATA,
    sa.Column("id", _ID, primary_key=True),
    sa.Column("run_id", _ID, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("case_digest", sa.Text, nullable=False),
    sa.Column("build", sa.Text, nullable=False),
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("runtime", sa.Text, nullable=False),
    sa.Column("autograd", sa.Text, nullable=False),
    sa.Column("num_threads", sa.BigInteger, nullable=False),
    sa.Column("definition_hash", sa.Text, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("per_run", sa.BigInteger),
    sa.Column("exact", sa.Boolean),
    sa.Column("document", sa.Text, nullable=False),
    sa.Column("details", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("run_id", "case_digest", "build"),
    sa.Index("outcomes_of_cases", "case_digest", "id"),
)

tags = sa.Table(
    "tags",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column(
        "run_id", _ID, sa.ForeignKey("runs.id", ondelete="CASCADE"), nullable=False, index=True
    ),
)


def searchable(text: str) -> str:
    """``text`` as every database takes it; all but ASCII is escaped, as in JSON."""
    return json.dumps(text)[1:-1]


# A database that has them

LOCK_TIMEOUT_S = 30.0
"""How long a writer waits for another one."""

_CONNECT_TIMEOUT_S = 10
_ADVISORY_LOCK = 0x69636E74
"""On PostgreSQL writers take turns by this lock (any number will do), as they do on SQLite."""

_MAGIC = b"SQLite format 3\0"
_ELSEWHERE = "Name another database with --db."


class Database:
    """A database of the format that this program reads; for several threads and processes.

    It is the one at a path or URL, or the user's own: the one that the environment names, or else
    in the user's data folder. It is made where there is none.

    Raises:
        UsageError: ``where`` cannot be a database, or ``must_exist`` and nothing is there.
        DataError: it cannot be reached or written, is damaged, or has another format.
    """

    def __init__(
        self,
        where: str | Path | None,
        *,
        must_exist: bool = False,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> None:
        is_asked_for = bool(where)
        where = where or os.environ.get(DATABASE_VARIABLE)
        self._lock_timeout_s = lock_timeout_s
        self._place: tuple[int, int] | None = None
        """The device and the number of the file that was opened."""
        self.path: Path | None = None
        """The file; None for a server."""
        if isinstance(where, str) and "://" in where:
            url = _url_of_server(where)
            self.name = _shown(url)
            """As people know it: the file, or the URL without its password."""
            self._engine = _server_engine(url, lock_timeout_s)
        else:
            self.path = Path(where) if where else make_data_folder("--db") / "runs.db"
            self.name = str(self.path)
            _check_file(self.path, must_exist=must_exist and bool(where))
            self._engine = _file_engine(self.path, lock_timeout_s)
        self.option = ("--db", self.name) if is_asked_for else ()
        """What names it to another command."""
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of all connections."""
        self._engine.dispose()

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection that sees one state of the database, whatever others write meanwhile."""
        with self._explained(), self._engine.connect() as connection:
            if self.path is None:
                connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A connection that alone writes; all of it is kept, or nothing where an error comes up.

        Raises:
            DataError: above all, the file is no longer the one that was opened.
        """
        # SQLite would go on in a file that nobody can open any more.
        if self.path is not None and self._place not in {None, _place_of(self.path)}:
            raise DataError(
                f"{self.name} was deleted or replaced while it was in use",
                "Leave a database in its place while something is measured.",
            )
        with self._explained(), self._engine.connect() as connection:
            connection.execution_options(alone=True)
            with connection.begin():
                yield connection

    def _prepare(self) -> None:
        """Make the tables where there are none; safe where several processes do."""
        with contextlib.ExitStack() as stack:
            if self.path is not None and _is_empty(self.path):
                # On a server one transaction does it all. A file takes more than one.
                stack.enter_context(self._explained())
                stack.enter_context(locked(self.path, self._lock_timeout_s))
                if _is_empty(self.path):
                    _make_file(self.path)
            self._place = None if self.path is None else _place_of(self.path)
            with self.reading() as connection:
                if self._has_tables(connection):
                    return
            with self.writing() as connection:
                if not self._has_tables(connection):  # another process may have been faster
                    METADATA.create_all(connection)
                    connection.execute(sa.insert(store_format), {"version": FORMAT})

    def _has_tables(self, connection: sa.Connection) -> bool:
        """Whether the tables are there; False in an empty database.

        Raises:
            DataError: they have another format, or another program uses the file.
        """
        names = sa.inspect(connection).get_table_names()
        if store_format.name in names:
            version = connection.execute(sa.select(store_format.c.version)).scalar()
            if version == FORMAT:
                return True
            found = f"of format {version}"
        elif self.path is not None and names:
            found = "of another program"
        else:
            return False
        raise DataError(
            f"{self.name} is a database {found}, and this program reads format {FORMAT}",
            "Name another database with --db, or use the version of instruction-counts that "
            "wrote it.",
        )

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (DBAPIError, sqlite3.Error, OSError) as error:
            original = error.orig if isinstance(error, DBAPIError) else error
            raise self._explanation(original or error) from error

    def _explanation(self, error: BaseException) -> DataError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        state = getattr(error, "sqlstate", None)
        text = (str(error).strip().splitlines() or [type(error).__name__])[0]
        problem, remedy = f"cannot be used: {text}", _ELSEWHERE
        if isinstance(error, TimeoutError) or code in _LOCKED or state in {"55P03", "40P01"}:
            problem = f"has been locked by another process for {self._lock_timeout_s:g} s"
            remedy = "Try again when it has finished."
        elif code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            problem = f"is damaged: {text}"
            remedy = (
                "Restore a copy of it, or save what is left into a new one: "
                f"sqlite3 {self.name} .recover"
            )
        elif code in {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}:
            remedy = f"Its disk is full or fails (df -h {self.name}), or ulimit -f is too low."
        elif isinstance(error, OSError) or code in _NOT_WRITABLE:
            problem = f"cannot be written: {getattr(error, 'strerror', None) or text}"
            remedy = "Name a file in a folder that you may write to with --db."
        elif hasattr(error, "sqlstate") and not state:  # no server has said a word
            problem, remedy = f"cannot be reached: {text}", "Is the server running?"
        return DataError(f"{self.name} {problem}", remedy)


_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_NOT_WRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}


# Servers


def _url_of_server(text: str) -> sa.URL:
    # What the parser says of a URL may repeat it, with the password.
    try:
        url: sa.URL | None = sa.make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.get_backend_name() not in {"postgres", "postgresql"}:
        raise UsageError(
            "runs are stored in an SQLite file or a PostgreSQL database, and this URL names none",
            "Name a file, or write postgresql://USER@HOST/NAME.",
        )
    return url.set(drivername="postgresql+psycopg")


def _shown(url: sa.URL) -> str:
    # Of the query only what says where: a password can stand there too.
    where = {key: value for key, value in url.query.items() if key in {"host", "port"}}
    shown = url.set(drivername="postgresql", query=where)
    return shown.render_as_string(hide_password=True)


def _server_engine(url: sa.URL, lock_timeout_s: float) -> sa.Engine:
    limit = {} if "connect_timeout" in url.query else {"connect_timeout": _CONNECT_TIMEOUT_S}
    try:
        engine = sa.create_engine(
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

    def begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("alone"):
            milliseconds = math.ceil(1000 * lock_timeout_s)
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = {milliseconds}")
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(%s)", (_ADVISORY_LOCK,))

    sa.event.listen(engine, "begin", begin)
    return engine


# Files


def _file_engine(path: Path, lock_timeout_s: float) -> sa.Engine:
    # Transactions are begun below; by itself sqlite3 begins them late, and not for reading.
    arguments = {"timeout": lock_timeout_s, "isolation_level": None}
    # One that is gone is not made anew.
    place, mode = f"file:{quote(os.fsencode(path.absolute()))}", {"mode": "rw"}
    if path.exists() and not all(os.access(each, os.W_OK) for each in (path, path.parent)):
        # SQLite would make files beside it that its owner may not write to.
        is_in_use = path.with_name(f"{path.name}-wal").exists()
        mode = {"mode": "ro"} if is_in_use else {"mode": "ro", "immutable": "1"}
    url = sa.URL.create("sqlite", database=place, query={**mode, "uri": "true"})
    engine = sa.create_engine(url, connect_args=arguments)
    sa.event.listen(engine, "connect", _on_connect)
    sa.event.listen(engine, "begin", _begin_on_file)
    return engine


def _on_connect(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    # A lost process loses nothing. A lost machine may lose the last outcomes, never the database.
    connection.execute("PRAGMA synchronous = NORMAL")


def _begin_on_file(connection: sa.Connection) -> None:
    alone = connection.get_execution_options().get("alone")
    # A transaction that reads before it writes could not wait for another writer.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if alone else "BEGIN")


def _is_empty(path: Path) -> bool:
    return not path.exists() or not path.stat().st_size


def _make_file(path: Path) -> None:
    """Make an empty database, which is whole once it is there: SQLite does not wait for readers."""
    place = path.resolve()
    made = place.with_name(f".{place.name}.new")
    made.unlink(missing_ok=True)
    made.touch()  # with the permissions that the user's mask leaves; SQLite takes fewer
    with contextlib.closing(sqlite3.connect(made)) as connection:
        # The file shrinks by what is deleted.
        connection.execute("PRAGMA auto_vacuum = FULL")
        # Readers do not wait for a writer, and a commit is one write.
        connection.execute("PRAGMA journal_mode = WAL")
    if place.exists():
        made.chmod(place.stat().st_mode)
    made.replace(place)


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
        if path.exists():
            with path.open("rb") as stream:
                if stream.read(len(_MAGIC)) not in {b"", _MAGIC}:  # SQLite takes a byte for nothing
                    raise DataError(f"{path} is not an SQLite database", _ELSEWHERE)
        elif must_exist:
            raise UsageError(
                f"{path}: there is no such database",
                "Name another one with --db, or measure something:",
                "run",
            )
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}", _ELSEWHERE) from error
