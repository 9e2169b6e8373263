"""Measured operators."""

from typing import Any

import attrs

from instruction_counts.core.facts import Operator
from instruction_counts.core.types import AutogradMode, Language
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.records import Record
from tests.builders import counted
from tests.fakes import make_record, make_run

USED = {"tensor_bytes": 4096, "peak_bytes": 2048, "flops": 10_000, "moved_bytes": 8_000}


def record(count: int, time_s: float, *, exact: bool = True, **fields: Any) -> Record:
    """A measured case of torch.add."""
    used = fields.pop("used", {})
    reason = "" if used else None
    outcome = counted(count, exact=exact, times_s=[time_s], metrics=used, resources_reason=reason)
    made = make_record("arithmetic", "torch.add", "typical", outcome=outcome)
    subject = Operator("torch.add", shapes={"input": (2,)}, dtype="float32")
    return attrs.evolve(made, subject=subject, **fields)


PYTHON = record(1_000, 2e-6, used=USED)
PYTHON_BOTH = record(5_000, 9e-6, exact=False, autograd=AutogradMode.FORWARD_BACKWARD)
CPP = record(800, 1e-6, language=Language.CPP)
OTHER = make_record("no operator", outcome=Outcome(Status.OK))
RUN = make_run(PYTHON, PYTHON_BOTH, CPP, OTHER)
