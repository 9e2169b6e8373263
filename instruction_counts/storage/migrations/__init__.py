"""From one revision of the store's tables to the next, with Alembic.

Each revision is a module in ``versions``; how to add one is in docs/reference/store.md.
"""

from __future__ import annotations

import functools

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Bring a database to the newest revision, within the transaction of ``connection``."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


@functools.cache
def known() -> frozenset[str]:
    """All revisions that there are."""
    script = ScriptDirectory.from_config(_config())
    return frozenset(revision.revision for revision in script.walk_revisions())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", "instruction_counts.storage:migrations")
    return config
