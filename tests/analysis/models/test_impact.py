"""What a change is worth to the models."""

from __future__ import annotations

from instruction_counts.analysis.models.costs import Models
from tests.fakes import make_record
from tests.sources.models.made import cost, layer_record, whole_record

CONV = layer_record("one", cost(100), {"Net": 3, "Other": 1})
RELU = layer_record("relu", cost(10), {"Net": 10})


def test_a_change_counts_as_often_as_its_layer_is_called() -> None:
    """As a share of the model as it was measured."""
    models = Models([CONV, RELU, whole_record("Net", cost(1000))])

    net, other = models.impacts(CONV, 10)

    assert "+3.0% of Net (3 calls)" == net.text
    assert "+10.0% of Other (1 call)" == other.text


def test_without_the_whole_model_the_sum_of_its_layers_stands_for_it() -> None:
    """In base, like the whole would be."""
    (net,) = Models([RELU]).impacts(RELU, -1)

    assert -0.1 == net.share
    assert "-10.0% of Net (10 calls)" == net.text


def test_a_small_share_is_not_shown_as_none() -> None:
    """It has more digits."""
    (net,) = Models([RELU, whole_record("Net", cost(10**7))]).impacts(RELU, 1)

    assert "+0.0001% of Net (10 calls)" == net.text


def test_a_case_of_no_model_is_worth_nothing_to_any() -> None:
    """Nor is one that did not change, or is not in base."""
    models = Models([CONV])

    assert () == models.impacts(make_record("add"), 5)
    assert () == models.impacts(CONV, 0)
    assert () == models.impacts(None, None)
