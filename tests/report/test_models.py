"""What people see of models."""

from pathlib import Path

import pytest

from instruction_counts.analysis.models import measured
from instruction_counts.core.types import AutogradMode
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.records import Record
from instruction_counts.report import models as report
from instruction_counts.report.document import Chart, Document
from instruction_counts.report.renderers.terminal import render
from instruction_counts.session.models import Generated
from instruction_counts.sources.models.layers import unique_layers
from tests.fakes import failed
from tests.sources.models.made import ADD, CONV, cost, layer_record, make_trace, whole_record


def predicted(*records: Record) -> list[str]:
    """The prediction of Net, line by line, without what spaces align."""
    return shown(report.predicted([measured(records, "Net")]))


def shown(document: Document) -> list[str]:
    """A document on a screen, without what spaces align."""
    return [" ".join(line.split()) for line in render(document, 120).splitlines()]


RECORDS = (
    layer_record("one", cost(300, 1e-3), {"Net": 2}),
    layer_record("relu", cost(100, 5e-4), {"Net": 3}, kind="ReLU"),
    whole_record("Net", cost(1000, 4e-3)),
)


def test_a_prediction_has_shares_of_the_whole_and_bars() -> None:
    """Of instructions and of times; what is unexplained has its share, too."""
    assert [
        "Net",
        "layer type calls unique instructions share time share",
        "Conv2d 2 1 600 60.0% 2 ms 50.0% ████████████████",
        "ReLU 3 1 300 30.0% 1.5 ms 37.5% ████████",
        "sum of layers 5 2 900 90.0% 3.5 ms 87.5%",
        "whole, as measured 1,000 100.0% 4 ms 100.0%",
        "unexplained 100 10.0% 500 us 12.5%",
    ] == [line for line in predicted(*RECORDS) if line]
    # A layer alone pays for the call from Python each time.
    more = predicted(*RECORDS[:2], whole_record("Net", cost(800, 3e-3)))
    assert "unexplained -100 -12.5% -500 us -16.7%" in more


@pytest.mark.parametrize(
    ("found", "columns"), [(cost(300), "instructions share"), (cost(None, 1e-3), "time share")]
)
def test_what_was_not_measured_has_no_column(found: Outcome, columns: str) -> None:
    """Nor one of shares of it, nor bars."""
    (_, heading, *_) = predicted(layer_record("one", found, {"Net": 2}))

    assert f"layer type calls unique {columns}" == heading


def test_what_is_not_in_the_sum_and_what_has_no_backward_is_named() -> None:
    """With how many these are."""
    *_, missing = predicted(*RECORDS, layer_record("bad", failed(), {"Net": 1}))
    both = {"autograd": AutogradMode.FORWARD_BACKWARD}
    records = (layer_record("one", cost(300), {"Net": 2}, **both), RECORDS[1])
    *_, forward = shown(report.predicted([measured(records, "Net", **both)]))

    assert "Net: not in the sum, 1 not measured: Conv2d / bad" == missing
    assert "Net: forward alone, 1 of 2 layers without backward: ReLU / relu" == forward


def test_what_models_became_is_counted_and_what_is_missing_has_its_reason() -> None:
    """Each model and all together, with the layers that they share."""
    traces = [
        make_trace("A", (CONV, ""), (ADD, ""), (ADD, ""), taken_apart={"LSTM": "no text"}),
        make_trace("B", (ADD, ""), left_out={"x::y: not torch's": 2}),
    ]
    found = report.generated(Generated(Path("gen.py"), traces, unique_layers(traces)))
    lines = shown(found)

    assert {"A 3 2 1", "B 1 1 1", "all 4 2 1"} <= {*lines}
    assert {
        "A: LSTM is written as its operators: no text",
        "B: left out, 2 calls: x::y: not torch's",
    } <= {*lines}
    assert "run --definitions gen.py" == found.next_command


def test_a_page_draws_layers_and_a_file_has_all_models() -> None:
    """A drawing without rows of sums, which are the whole; records with every column."""
    found = report.predicted([measured(RECORDS, "Net")] * 2)
    *_, chart = found.sections
    assert isinstance(chart, Chart)

    (series,) = chart.series
    assert [("all", "all / Conv2d", "all / ReLU"), (900, 600, 300)] == [series.labels, series.y]
    assert found.records is not None
    assert "model type calls unique instructions share time_s time_share" == " ".join(
        column.key for column in found.records.columns
    )
    assert 10 == len(found.records.rows)
