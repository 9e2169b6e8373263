"""Resources of outcomes, metadata of cases, and what the machine of a run can do: JSON, or NULL."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns. SQLite can do that much without making the tables anew."""
    for table, column in (("outcomes", "resources"), ("cases", "metadata"), ("runs", "machine")):
        op.add_column(table, sa.Column(column, sa.Text()))
