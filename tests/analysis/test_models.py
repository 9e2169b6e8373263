"""Models in results: what a run holds of them, their sums, and what a change means for them."""

import pytest

from instruction_counts.analysis.models import Amount, Models, measured, models_in
from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.records import Record
from tests.fakes import failed, make_record
from tests.sources.models.made import (
    BACKWARD,
    CONV_1,
    CPP,
    RECORDS,
    RELU,
    WHOLE,
    cost,
    layer_record,
    whole_record,
)


def test_each_layer_counts_as_often_as_it_is_called() -> None:
    """Instructions and times alike; the dearest type is first.

    Those of other models, languages and runtimes do not count. What the whole costs beyond its
    layers is unexplained: Python between them, for one.
    """
    cpp = layer_record("one", cost(80), {"Net": 3}, **CPP)
    compiled = layer_record("one", cost(7), {"Net": 3}, runtime=RuntimeMode.COMPILED)
    found = measured([compiled, *RECORDS, cpp], "Net")

    assert Amount(390, 3 * 1e-3 + 2e-3 + 4 * 1e-4) == found.sum_of_layers
    assert [("Conv2d", 4, 2, 350), ("ReLU", 4, 1, 40)] == [
        (predicted.type, predicted.calls, predicted.unique, predicted.cost.instructions)
        for predicted in found.types
    ]
    assert 110 == found.unexplained.instructions
    assert 240 == measured([*RECORDS, cpp], "Net", Language.CPP).sum_of_layers.instructions


def test_a_run_without_times_or_counts_has_the_others() -> None:
    """Neither stands for the other; nothing is unexplained where the whole was not measured."""
    found = [
        measured([layer_record("one", outcome, {"Net": 2})], "Net")
        for outcome in (cost(100), cost(None, 1e-3))
    ]

    assert [Amount(200, None), Amount(None, 2e-3)] == [each.sum_of_layers for each in found]
    assert [Amount(None, None)] * 2 == [each.unexplained for each in found]


def test_backward_takes_the_forward_pass_of_what_has_no_backward() -> None:
    """An index is part of both. Who reads the sum has to know, and what was not measured at all."""
    both = layer_record("one", cost(300), {"Net": 1}, **BACKWARD)
    whole = whole_record("Net", cost(900), **BACKWARD)
    bad = layer_record("bad", failed(), {"Net": 1})
    records = [WHOLE, whole, CONV_1, both, RELU, bad]
    # Of forward alone the numbers would pass for others; a whole model with backward is enough.
    runs = (records, RECORDS, [whole, RELU])
    found = [measured(run, "Net", autograd=AutogradMode.FORWARD_BACKWARD) for run in runs]
    prediction = found[0]

    assert 300 + 40 == prediction.sum_of_layers.instructions
    assert 900 == prediction.whole.instructions
    assert (RELU,) == prediction.forward_only
    assert (bad,) == prediction.missing
    assert [True, False, True] == [each.has_autograd for each in found]


def test_models_are_found_in_layers_and_wholes() -> None:
    """Each once, in order; other cases name none."""
    lonely = whole_record("Lonely", cost(1))

    assert ("Net", "Other", "Lonely") == models_in([*RECORDS, lonely, make_record("a")])


CONV = layer_record("one", cost(100), {"Net": 3, "Other": 1})
TEN = layer_record("relu", cost(10), {"Net": 10})


@pytest.mark.parametrize(
    ("others", "changed", "by", "expected"),
    [
        # As often as the layer is called, as a share of the model as it was measured.
        (
            [CONV, TEN, whole_record("Net", cost(1000))],
            *(CONV, 10, ["+3.0% of Net (3 calls)", "+10.0% of Other (1 call)"]),
        ),
        # Without the whole model, the sum of its layers stands for it.
        ([TEN], TEN, -1, ["-10.0% of Net (10 calls)"]),
        # A small share has more digits.
        ([TEN, whole_record("Net", cost(10**7))], TEN, 1, ["+0.0001% of Net (10 calls)"]),
        # No layer, no change, or not in base.
        ([CONV], make_record("add"), 5, []),
        ([CONV], CONV, 0, []),
        ([CONV], None, None, []),
    ],
)
def test_a_change_of_a_layer_is_a_share_of_each_model_that_uses_it(
    others: list[Record], changed: Record | None, by: int | None, expected: list[str]
) -> None:
    """Of its instructions in base."""
    found = Models(others).impacts(changed, by)

    assert expected == [*found]
