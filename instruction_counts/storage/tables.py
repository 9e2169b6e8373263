"""The tables of the store.

A run, an outcome and its details are each a document in one column, as `storage.json_files` writes
them. The other columns are what is searched by: nothing is read back from them.

History: 1, the first.
"""

from __future__ import annotations

import hashlib
import json

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from instruction_counts.core.types import CaseKey

FORMAT = 1
"""Another one is refused. A field that a document gains with a default needs no other one."""

METADATA = MetaData()

# SQLite numbers rows by itself only if their key is an INTEGER, which has 64 bits there too.
_ID = BigInteger().with_variant(Integer(), "sqlite")

store_format = Table("store_format", METADATA, Column("version", BigInteger, nullable=False))

runs = Table(
    "runs",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("started_at", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("document", Text, nullable=False),
    # The number of a deleted run is not given to another one: people may have noted it.
    sqlite_autoincrement=True,
)

# ``case_digest`` is of what the case is called: a label can be too long for an index.
outcomes = Table(
    "outcomes",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("run_id", _ID, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("position", BigInteger, nullable=False),
    Column("case_digest", Text, nullable=False),
    Column("build", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("runtime", Text, nullable=False),
    Column("autograd", Text, nullable=False),
    Column("num_threads", BigInteger, nullable=False),
    Column("definition_hash", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("per_run", BigInteger),
    Column("exact", Boolean),
    Column("document", Text, nullable=False),
    Column("details", LargeBinary, nullable=False),
    UniqueConstraint("run_id", "case_digest", "build"),
    Index("outcomes_of_cases", "case_digest", "id"),
)

tags = Table(
    "tags",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("run_id", _ID, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False, index=True),
)


def searchable(text: str) -> str:
    """``text`` as every database takes it; all but ASCII is escaped, as in JSON."""
    return json.dumps(text)[1:-1]


def digest_of(key: CaseKey) -> str:
    """A short name for what a case is called, on any machine (SHA-256, 32 digits)."""
    text = json.dumps(list(key.as_values.values()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
