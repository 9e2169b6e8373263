"""What the command line and a specification say together: the command line wins."""

from __future__ import annotations

from typing import NamedTuple

import attrs

from instruction_counts.cli.options import specification_of
from instruction_counts.domain.build import Build, default_build
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import STANDARD, Definitions


class Asked(NamedTuple):
    """What the command line and the specification say together."""

    definitions: Definitions
    builds: tuple[Build, ...]
    measuring: MeasurementSettings
    db: str | None


def merged(
    definitions: Definitions | None,
    builds: tuple[Build, ...] = (),
    measuring: MeasurementSettings | None = None,
    db: str | None = None,
) -> Asked:
    """What options say, else the specification that ``definitions`` is, else the defaults."""
    stated = specification_of(definitions)
    measuring = measuring or MeasurementSettings()
    if stated is not None:
        builds = builds or stated.builds
        db = db or stated.reporters.database
        if measuring.timeout_s is None:
            measuring = attrs.evolve(measuring, timeout_s=stated.timeout_s)
    return Asked(definitions or STANDARD, builds or (default_build(),), measuring, db)
