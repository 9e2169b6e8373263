"""What a run holds of models."""

from __future__ import annotations

import attrs
import pytest

from core.facts import Operator
from core.types import AutogradMode
from instruction_counts.analysis.models.costs import Models, measured, models_in
from instruction_counts.domain.records import Record
from tests.fakes import make_record
from tests.sources.models.made import (
    BACKWARD,
    RECORDS,
    RELU,
    cost,
    layer_record,
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


# What a change means for models

CONV = layer_record("one", cost(100), {"Net": 3, "Other": 1})
RELUS = layer_record("relu", cost(10), {"Net": 10})


def test_a_change_counts_as_often_as_its_layer_is_called() -> None:
    """As a share of the model as it was measured."""
    models = Models([CONV, RELUS, whole_record("Net", cost(1000))])

    net, other = models.impacts(CONV, 10)

    assert "+3.0% of Net (3 calls)" == net.text
    assert "+10.0% of Other (1 call)" == other.text


@pytest.mark.parametrize(
    ("records", "change", "text"),
    [
        # Without the whole model the sum of its layers stands for it.
        ([RELUS], -1, "-10.0% of Net (10 calls)"),
        # A small share has more digits.
        ([RELUS, whole_record("Net", cost(10**7))], 1, "+0.0001% of Net (10 calls)"),
    ],
)
def test_a_share_is_of_what_is_known_of_the_model(
    records: list[Record], change: int, text: str
) -> None:
    """In base."""
    assert [text] == [net.text for net in Models(records).impacts(RELUS, change)]


def test_a_case_of_no_model_is_worth_nothing_to_any() -> None:
    """Nor is one that did not change, or is not in base."""
    models = Models([CONV])

    assert () == models.impacts(make_record("add"), 5)
    assert () == models.impacts(CONV, 0)
    assert () == models.impacts(None, None)
