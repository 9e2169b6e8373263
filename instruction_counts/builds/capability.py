"""What the machine can do: the yardstick for what a case moves and computes."""

from __future__ import annotations

from instruction_counts.builds.inquiry import inquire
from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import Machine


def measure_machine(build: Build, core: int | None = None) -> Machine:
    """What one core can do with the torch of ``build``: ``core``, or any. It takes seconds.

    Raises:
        BuildError, DataError: the build does not work, or has no torch.
    """
    return Machine(**inquire(build, "capability", {"core": core}))
