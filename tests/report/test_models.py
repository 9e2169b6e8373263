"""What people see of models."""

import json
from pathlib import Path

import attrs
import pytest

from instruction_counts.analysis.models import measured
from instruction_counts.core.types import AutogradMode
from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.records import Record
from instruction_counts.report import models as report
from instruction_counts.report.document import Chart, Document
from instruction_counts.report.renderers.json import render as as_json
from instruction_counts.report.renderers.terminal import render
from instruction_counts.session.models import Generated
from instruction_counts.sources.models.layers import unique_layers
from tests.builders import counted
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


def test_a_sum_of_what_is_not_exact_is_not_exact_either() -> None:
    """It is marked as its part is; what is exact stays so."""
    loose = attrs.evolve(
        cost(300), instructions=attrs.evolve(counted(300).instructions, exact=False)
    )
    lines = predicted(layer_record("one", loose, {"Net": 2}), *RECORDS[1:])

    assert ["~600", "300", "~900", "1,000", "~100"] == [
        word
        for line in lines[2:]
        for word in line.split()
        if word.strip("~") in {"600", "300", "900", "1,000", "100"}
    ]


@pytest.mark.parametrize(
    ("found", "columns"), [(cost(300), "instructions share"), (cost(None, 1e-3), "time share")]
)
def test_what_was_not_measured_has_no_column(found: Outcome, columns: str) -> None:
    """Nor one of shares of it, nor bars."""
    (_, heading, *_) = predicted(layer_record("one", found, {"Net": 2}))

    assert f"layer type calls unique {columns}" == heading


BAD = layer_record("bad", failed(), {"Net": 1})


@pytest.mark.parametrize(
    ("records", "notes"),
    [
        # It was not stated how many layers the model calls.
        (RECORDS, []),
        ((*RECORDS[:2], whole_record("Net", cost(1000), calls=5)), []),
        # A part of a file was run.
        (
            (RECORDS[1], whole_record("Net", cost(1000), calls=205)),
            ["Net: 3 of 205 calls of layers were measured; the others are not in the sum"],
        ),
        (RECORDS[:2], ["Net: not measured as a whole"]),
        # The whole failed, or a layer.
        (
            (*RECORDS[:2], whole_record("Net", failed(), calls=5)),
            ["Net: not measured as a whole: ValueError: bad (stmt line 1: x + y)"],
        ),
        ((*RECORDS, BAD), ["Net: not in the sum, 1 not measured: Conv2d / bad"]),
    ],
)
def test_what_is_missing_to_a_prediction_is_said(records: list[Record], notes: list[str]) -> None:
    """Else it would pass for what Python costs, or for all of the model."""
    assert notes == [line for line in predicted(*records) if line.startswith("Net:")]


def test_what_has_no_backward_is_named() -> None:
    """With how many these are."""
    both = {"autograd": AutogradMode.FORWARD_BACKWARD}
    records = (layer_record("one", cost(300), {"Net": 2}, **both), RECORDS[1])
    *_, forward = shown(report.predicted([measured(records, "Net", **both)]))

    assert "Net: forward alone, 1 of 2 layers without backward: ReLU / relu" == forward


def test_titles_of_many_layers_fit_a_screen() -> None:
    """Long ones go on in the next line."""
    bad = [layer_record(f"{number} " * 30, failed(), {"Net": 1}) for number in range(4)]
    document = report.predicted([measured([*RECORDS, *bad], "Net")])

    assert 80 >= max(map(len, render(document, 80).splitlines()))


def test_json_holds_models_of_any_name() -> None:
    """Below a key of their own, where they replace nothing."""
    records = (layer_record("one", cost(300), {"kind": 2}), whole_record("kind", cost(700), 5))
    found = json.loads(as_json(report.predicted([measured(records, "kind")])))

    assert ["kind", "models", "notes"] == [*found]
    assert 700 == found["models"]["kind"][2]["instructions"]


def test_what_models_became_is_counted_and_what_is_missing_has_its_reason() -> None:
    """Each model and all together, with the layers that they share."""
    traces = [
        make_trace("A", (CONV, ""), (ADD, ""), (ADD, ""), taken_apart={"LSTM": "no text"}),
        make_trace("B", (ADD, ""), left_out={"x::y: not torch's": 2}),
    ]
    found = report.generated(
        Generated(Path("gen.py"), traces, unique_layers(traces), Build("new", "/py"))
    )
    lines = shown(found)

    assert {"A 3 2 1", "B 1 1 1", "all 4 2 1"} <= {*lines}
    assert {
        "A: LSTM is written as its operators: no text",
        "B: left out, 2 calls: x::y: not torch's",
    } <= {*lines}
    assert "run --definitions gen.py --build new=/py" == found.next_command


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
