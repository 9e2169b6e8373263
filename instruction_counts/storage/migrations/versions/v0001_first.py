"""The first tables: runs, their builds and tags, and what was measured of each case."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "v1_0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the tables."""
    _make_what_is_shared()
    _make_runs()
    _make_outcomes()


def _make_what_is_shared() -> None:
    op.create_table("machines", _key(), _digest(), _text("machine"), _text("cpu"), _text("libc"))
    op.create_table(
        "builds",
        _key(),
        _digest(),
        _refers_to("machines"),
        _text("torch"),
        _text("torch_git"),
        _text("python"),
        _text("fingerprint"),
    )
    op.create_index("ix_builds_machine_id", "builds", ["machine_id"])
    op.create_table(
        "cases",
        _key(),
        _digest(),
        _text("label"),
        _text("language"),
        _text("runtime"),
        _text("autograd"),
        _number("num_threads", nullable=False),
        _text("definition_hash"),
        _text("stmt"),
        _text("setup"),
        _text("global_setup"),
        _text("metadata", nullable=True),
        _text("subject", nullable=True),
        _text("expected"),
    )


def _make_runs() -> None:
    op.create_table(
        "runs",
        _key(),
        _text("started_at"),
        _text("tool_version"),
        _text("engine"),
        _text("state"),
        _text("machine", nullable=True),
        _text("changed_files"),
        _text("package_folders"),
        _number("cases", nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "run_builds",
        _key(),
        _refers_to("runs"),
        _refers_to("builds", nullable=True),
        _number("position"),
        _text("name"),
        sa.UniqueConstraint("run_id", "name"),
    )
    op.create_index("ix_run_builds_build_id", "run_builds", ["build_id"])
    op.create_table("tags", _text("name", primary_key=True), _refers_to("runs"))
    op.create_index("ix_tags_run_id", "tags", ["run_id"])


def _make_outcomes() -> None:
    op.create_table(
        "outcomes",
        _key(),
        _refers_to("runs"),
        _refers_to("run_builds"),
        _refers_to("cases"),
        _text("identity"),
        _number("position", nullable=False),
        _text("status"),
        sa.Column("duration_s", sa.Double()),
        _number("attempts", nullable=False),
        _number("per_run"),
        sa.Column("exact", sa.Boolean()),
        _number("spread"),
        _number("loop"),
        _number("all_threads_per_run"),
        _text("varying", nullable=True),
        _text("metrics"),
        _text("resources_reason", nullable=True),
        sa.Column("skipped_by_budget_s", sa.Double()),
        _text("noise", nullable=True),
        _text("checksums"),
        _text("executed_digests", nullable=True),
        sa.UniqueConstraint("run_build_id", "identity"),
    )
    op.create_index("ix_outcomes_case_id", "outcomes", ["case_id"])
    op.create_index("ix_outcomes_run_id_position", "outcomes", ["run_id", "position"])
    op.create_table(
        "windows",
        _of_outcome(),
        _number("position", primary_key=True, autoincrement=False),
        _number("runs", nullable=False),
        _number("instructions", nullable=False),
        _text("metrics"),
    )
    op.create_table(
        "times",
        _of_outcome(),
        _text("summary"),
        _text("values_s"),
    )
    op.create_table("function_costs", _of_outcome(), _data("costs"))
    op.create_table("executed", _of_outcome(), _data("rows"))
    op.create_table("outputs", _of_outcome(), _data("output"))
    op.create_table(
        "failures",
        _of_outcome(),
        _text("kind"),
        _text("message"),
        _text("code"),
        _text("place"),
        _text("output"),
    )


def _key() -> sa.Column[Any]:
    return sa.Column("id", _ID, primary_key=True)


def _digest() -> sa.Column[Any]:
    return sa.Column("digest", sa.Text(), nullable=False, unique=True)


def _text(name: str, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.Text(), **{"nullable": False, **more})


def _number(name: str, **more: Any) -> sa.Column[Any]:
    return sa.Column(name, sa.BigInteger(), **more)


def _data(name: str) -> sa.Column[Any]:
    return sa.Column(name, sa.LargeBinary(), nullable=False)


def _refers_to(table: str, **more: Any) -> sa.Column[Any]:
    target = sa.ForeignKey(f"{table}.id", ondelete="CASCADE")
    return sa.Column(f"{table[:-1]}_id", _ID, target, **{"nullable": False, **more})


def _of_outcome() -> sa.Column[Any]:
    return _refers_to("outcomes", primary_key=True, autoincrement=False)
