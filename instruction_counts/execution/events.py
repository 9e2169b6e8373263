"""What happens during a run, in the order in which it happens."""

from __future__ import annotations

from typing import TypeAlias

import attrs

from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder


@attrs.frozen
class Started:
    """A lane began with an order."""

    order: WorkOrder


@attrs.frozen
class Finished:
    """An order has its outcome, whatever that is."""

    order: WorkOrder
    outcome: Outcome


Event: TypeAlias = Started | Finished
