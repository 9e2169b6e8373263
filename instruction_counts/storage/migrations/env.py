"""What Alembic executes to migrate: on the connection that it is given, which owns the end."""

from __future__ import annotations

from alembic import context

from instruction_counts.storage.store_tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
context.run_migrations()
