"""The tables of the store, and how values are kept in their columns so that they come back whole.

A change here needs a migration (``migrations/versions``) and a new `HEAD`: docs/reference/store.md.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Dialect,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    inspect,
)
from sqlalchemy.types import TypeDecorator

HEAD = "v1_0001"
"""The revision of the tables below.

History: v1_0001, the first.
"""

# Data link escape: a character that code, labels and output do not hold.
_ESCAPE = "\x10"
_UNSAFE = re.compile(r"[\x00\x10\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ESCAPED = re.compile(r"\x10([0-9a-f]{4})")


def escaped(text: str) -> str:
    """``text`` as every database takes it: without NUL, and without halves of surrogate pairs.

    Each such character becomes U+0010 and four digits. All other text stays as it is, so that
    people can read and search it.
    """
    return _UNSAFE.sub(lambda match: f"{_ESCAPE}{ord(match[0]):04x}", text)


def unescaped(text: str) -> str:
    """What `escaped` was given."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


def json_of(value: Any) -> str:
    """``value`` as JSON with its characters as they are.

    Escapes of JSON would not do: two halves of a surrogate pair would come back as one character.
    """
    return _ENCODER.encode(value)


def packed(value: Any) -> bytes:
    """``value`` as compressed JSON."""
    return zlib.compress(json_of(value).encode("utf-8", "surrogatepass"))


def unpacked(data: bytes) -> Any:
    """What `packed` was given."""
    return json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))


def _escaped_json(value: Any) -> str:
    return escaped(json_of(value))


def _value_of(text: str) -> Any:
    return json.loads(unescaped(text))


class _Kept(TypeDecorator[Any]):
    """Values that their column holds in another form; NULL is None in both."""

    cache_ok = True
    to_column: ClassVar[Callable[[Any], Any]]
    from_column: ClassVar[Callable[[Any], Any]]

    def process_bind_param(self, value: Any | None, dialect: Dialect) -> Any:
        del dialect
        return None if value is None else type(self).to_column(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        del dialect
        return None if value is None else type(self).from_column(value)


class _Words(_Kept):
    """Any text at all."""

    impl, cache_ok = Text, True
    to_column, from_column = escaped, unescaped


class _Json(_Kept):
    """A value of JSON as text, short enough to be read by people."""

    impl, cache_ok = Text, True
    to_column, from_column = _escaped_json, _value_of


class _Packed(_Kept):
    """A large value of JSON, compressed."""

    impl, cache_ok = LargeBinary, True
    to_column, from_column = packed, unpacked


class _Seconds(TypeDecorator[float]):
    """A time. What is not a number is NULL, which SQLite would make of it in any case."""

    impl = Double
    cache_ok = True

    def process_bind_param(self, value: float | None, dialect: Dialect) -> float | None:
        del dialect
        return None if value is None or math.isnan(value) else value

    def process_result_value(self, value: Any | None, dialect: Dialect) -> float | None:
        del dialect
        return math.nan if value is None else value


# SQLite numbers rows by itself only if their key is an INTEGER, which has 64 bits there too.
_ID = BigInteger().with_variant(Integer(), "sqlite")


def _key() -> Column[Any]:
    return Column("id", _ID, primary_key=True)


def _digest() -> Column[Any]:
    # Of everything that makes a row different from others: code is too long for an index.
    return Column("digest", Text, nullable=False, unique=True)


def _refers_to(table: str, *, index: bool = True, **more: Any) -> Column[Any]:
    target = ForeignKey(f"{table}.id", ondelete="CASCADE")
    return Column(f"{table[:-1]}_id", _ID, target, index=index, **{"nullable": False, **more})


def _of_outcome() -> Column[Any]:
    return _refers_to("outcomes", index=False, primary_key=True)


METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)

VERSION = Table("alembic_version", MetaData(), Column("version_num", Text))
"""Alembic's own table, which tells the revision of a database."""

machines = Table(
    "machines",
    METADATA,
    _key(),
    _digest(),
    Column("machine", _Words, nullable=False),
    Column("cpu", _Words, nullable=False),
    Column("libc", _Words, nullable=False),
)

builds = Table(
    "builds",
    METADATA,
    _key(),
    _digest(),
    _refers_to("machines"),
    Column("torch", _Words, nullable=False),
    Column("torch_git", _Words, nullable=False),
    Column("python", _Words, nullable=False),
    Column("fingerprint", _Json, nullable=False),
)

runs = Table(
    "runs",
    METADATA,
    _key(),
    Column("started_at", _Words, nullable=False),
    Column("tool_version", _Words, nullable=False),
    Column("engine", _Words, nullable=False),
    Column("state", Text, nullable=False),
    Column("machine", _Json),
    Column("changed_files", _Json, nullable=False),
    Column("package_folders", _Json, nullable=False),
    Column("cases", BigInteger, nullable=False),
    # The number of a deleted run is not given to another one: people may have noted it.
    sqlite_autoincrement=True,
)

# The builds of a run by name. One that only records name has neither a position nor a build.
run_builds = Table(
    "run_builds",
    METADATA,
    _key(),
    _refers_to("runs", index=False),
    _refers_to("builds", nullable=True),
    Column("position", BigInteger),
    Column("name", _Words, nullable=False),
    UniqueConstraint("run_id", "name"),
)

tags = Table("tags", METADATA, Column("name", _Words, primary_key=True), _refers_to("runs"))

cases = Table(
    "cases",
    METADATA,
    _key(),
    _digest(),
    Column("label", _Json, nullable=False),
    Column("language", Text, nullable=False),
    Column("runtime", Text, nullable=False),
    Column("autograd", Text, nullable=False),
    Column("num_threads", BigInteger, nullable=False),
    Column("definition_hash", _Words, nullable=False),
    Column("stmt", _Words, nullable=False),
    Column("setup", _Words, nullable=False),
    Column("global_setup", _Words, nullable=False),
    Column("metadata", _Json),
    Column("subject", _Json),
    Column("expected", _Json, nullable=False),
)

COUNTS = ("per_run", "exact", "spread", "loop", "all_threads_per_run", "varying")
"""The columns of an outcome that hold its instructions, called as their fields are."""

# ``identity`` is a digest of the identity of the case without its build.
outcomes = Table(
    "outcomes",
    METADATA,
    _key(),
    _refers_to("runs", index=False),
    _refers_to("run_builds", index=False),
    _refers_to("cases"),
    Column("identity", Text, nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("duration_s", _Seconds),
    Column("attempts", BigInteger, nullable=False),
    Column("per_run", BigInteger),
    Column("exact", Boolean),
    Column("spread", BigInteger),
    Column("loop", BigInteger),
    Column("all_threads_per_run", BigInteger),
    Column("varying", _Json),
    Column("metrics", _Json, nullable=False),
    Column("resources_reason", _Words),
    Column("skipped_by_budget_s", _Seconds),
    Column("noise", _Json),
    Column("checksums", _Json, nullable=False),
    Column("executed_digests", _Json),
    UniqueConstraint("run_build_id", "identity"),
    Index(None, "run_id", "position"),
)

windows = Table(
    "windows",
    METADATA,
    _of_outcome(),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("runs", BigInteger, nullable=False),
    Column("instructions", BigInteger, nullable=False),
    Column("metrics", _Json, nullable=False),
)

times = Table(
    "times",
    METADATA,
    _of_outcome(),
    Column("summary", _Json, nullable=False),
    Column("values_s", _Json, nullable=False),
)

function_costs = Table(
    "function_costs", METADATA, _of_outcome(), Column("costs", _Packed, nullable=False)
)

executed = Table("executed", METADATA, _of_outcome(), Column("rows", _Packed, nullable=False))

outputs = Table("outputs", METADATA, _of_outcome(), Column("output", _Packed, nullable=False))

failures = Table(
    "failures",
    METADATA,
    _of_outcome(),
    Column("kind", Text, nullable=False),
    Column("message", _Words, nullable=False),
    Column("code", _Words, nullable=False),
    Column("place", _Words, nullable=False),
    Column("output", _Words, nullable=False),
)


def misfits(connection: Connection) -> Iterator[str]:
    """What keeps the tables of a database of revision `HEAD` from being read and written.

    The first migration was edited in place until the first release, so that the revision alone does
    not tell: ``no runs.changed_files``.
    """
    found = inspect(connection).get_multi_columns(filter_names=list(METADATA.tables))
    there = {table: columns for (_, table), columns in found.items()}
    for name, table in METADATA.tables.items():
        known = {column["name"] for column in there.get(name, ())}
        yield from (f"no {name}.{column.name}" for column in table.c if column.name not in known)
        for column in there.get(name, ()):
            needs_value = not column["nullable"] and column["default"] is None
            if needs_value and column["name"] not in table.c:
                yield f"{name}.{column['name']}, which it does not know"
