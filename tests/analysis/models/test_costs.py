"""What a run holds of models."""

from __future__ import annotations

import attrs

from core.facts import Operator
from core.types import AutogradMode
from instruction_counts.analysis.models.costs import measured, models_in
from tests.fakes import make_record
from tests.sources.models.made import (
    BACKWARD,
    RECORDS,
    RELU,
    cost,
    whole_record,
)


def test_a_run_of_forward_alone_has_no_backward() -> None:
    """Its numbers would pass for others."""
    assert not measured(RECORDS, "Net", autograd=AutogradMode.FORWARD_BACKWARD).has_autograd


def test_a_whole_model_with_backward_is_enough() -> None:
    """Each of its layers may have none."""
    whole = whole_record("Net", cost(900), **BACKWARD)

    assert measured([whole, RELU], "Net", autograd=AutogradMode.FORWARD_BACKWARD).has_autograd


def test_models_are_found_in_layers_and_wholes() -> None:
    """Each once, in order."""
    lonely = whole_record("Lonely", cost(1))

    assert ("Net", "Other", "Lonely") == models_in([*RECORDS, lonely])


def test_other_cases_name_no_model() -> None:
    """Whatever their metadata is."""
    uses = [{"model": "Net", "path": "", "count": 1}]
    metadata = {"uses": uses, "model": {"name": "Net"}}
    operator = attrs.evolve(make_record("add"), subject=Operator("torch.add"), metadata=metadata)

    assert () == models_in([make_record("a", metadata=metadata), operator])
