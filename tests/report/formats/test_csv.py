"""CSV: one line for each case."""

from __future__ import annotations

import csv
import io

import attrs

from core.facts import ExpectedTensor, Model
from instruction_counts.domain.metrics import Amounts
from instruction_counts.report.formats.csv import run as to_csv
from tests.fakes import OK, failed, make_record, make_run


def test_csv_has_a_line_for_each_case() -> None:
    """With what was measured, in plain numbers."""
    (row,) = csv.DictReader(io.StringIO(to_csv(make_run(make_record("Top", "a, b")))))

    expected = {
        "label": "Top/a, b",
        "language": "python",
        "status": "ok",
        "error": "",
        "instructions": "8899",
        "exact": "True",
        "median_s": "2.2e-06",
    }
    assert expected.items() <= row.items()


def test_csv_has_the_reason_of_a_failure() -> None:
    """And nothing where nothing was measured."""
    (row,) = csv.DictReader(io.StringIO(to_csv(make_run(make_record("a", outcome=failed())))))

    error = "ValueError: bad   (stmt line 1: x + y)"
    expected = {"status": "failed", "instructions": "", "median_s": "", "error": error}
    assert expected.items() <= row.items()


def test_csv_has_what_a_case_uses_and_says_of_itself() -> None:
    """Empty where it is not known."""
    used = Amounts({"tensor_bytes": 4000, "peak_bytes": 3000, "moved_bytes": 8000})
    record = make_record("a", outcome=attrs.evolve(OK, metrics=used))
    shown = make_run(attrs.evolve(record, metadata={"op": "add"}), make_record("b"))
    names = ("tensor_bytes", "peak_bytes", "flops", "moved_bytes", "metadata")

    assert [("4000", "3000", "", "8000", '{"op": "add"}'), ("",) * 5] == [
        tuple(row[name] for name in names) for row in csv.DictReader(io.StringIO(to_csv(shown)))
    ]


def test_csv_has_the_subject_and_what_is_expected_as_json() -> None:
    """Empty where nothing is stated."""
    stated = attrs.evolve(
        make_record("a"), subject=Model("Net"), expected=(ExpectedTensor("y", tolerance=0.5),)
    )
    rows = csv.DictReader(io.StringIO(to_csv(make_run(stated, make_record("b")))))

    tensor = '{"name": "y", "shape": null, "dtype": null, "sum": null, "tolerance": 0.5}'
    assert [('{"kind": "model", "name": "Net"}', f"[{tensor}]"), ("", "")] == [
        (row["subject"], row["expected"]) for row in rows
    ]
