"""What options and a specification say together."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from instruction_counts.cli.measuring import merged
from instruction_counts.domain.build import Build, default_build
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import STANDARD

STATED = Build("stated", "/stated/python")


def specified() -> Any:
    """Definitions with a specification that states everything that it can."""
    specification = SimpleNamespace(
        builds=(STATED,), reporters=SimpleNamespace(database="stated.db"), timeout_s=7.0
    )
    return SimpleNamespace(specification=specification)


def test_without_a_specification_there_are_defaults() -> None:
    """The standard suite on this interpreter."""
    expected = (STANDARD, (default_build(),), MeasurementSettings(), None)

    assert expected == merged(None)


def test_a_specification_states_what_options_do_not() -> None:
    """Its builds, its database and its time limit."""
    found = merged(specified())

    assert (STATED,) == found.builds
    assert "stated.db" == found.db
    assert 7.0 == found.measuring.timeout_s


def test_options_win() -> None:
    """They are written later than the file."""
    build = Build("named", "/named/python")
    found = merged(specified(), (build,), MeasurementSettings(timeout_s=3.0), "named.db")

    assert (build,) == found.builds
    assert "named.db" == found.db
    assert 3.0 == found.measuring.timeout_s
