"""Histories as people and programs read them."""

import attrs
import pytest

from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import StoredCount
from instruction_counts.history.series import Series, all_series, pairs_at_steps
from instruction_counts.report.document import Document
from instruction_counts.report.history import MOST_PLOTS, StepCauses, history
from instruction_counts.report.renderers import terminal
from tests.fakes import FINGERPRINT
from tests.history.made import point
from tests.report.rendered import as_csv, as_json

OTHER = attrs.evolve(FINGERPRINT, python="3.13.0")
COUNTS = [1000] * 4 + [9000] + [1000] * 3 + [1200] * 4


def made(counts: list[int | None]) -> Series:
    """The series of these counts, one a day."""
    (series,) = all_series(point(count, day) for day, count in enumerate(counts, 1))
    return series


def causes(series: Series) -> StepCauses:
    """A cause for each step that names its runs."""
    return {
        (base, new): [Cause(CauseKind.NATIVE, f"slow_{base.run_id}_{new.run_id}", 0, 200)]
        for base, new in pairs_at_steps(series)
    }


def shown(series: Series) -> Document:
    """The history of one case."""
    return history([series], causes(series))


def text_of(series: Series) -> str:
    """The plot as it stands in a pipe."""
    return terminal.render(shown(series), 80)


@pytest.mark.parametrize("counts", [[1000, 1001] * 15, [1000] * 200 + [1500] * 165])
def test_the_plot_fits_eighty_columns(counts: list[int | None]) -> None:
    """However many counts there are: a year of nightly builds."""
    (series,) = all_series(point(count) for count in counts)

    assert max(len(line) for line in text_of(series).splitlines()) <= 80


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([point(count) for count in (1000, 1000, 1000, 2000)], "one count only"),
        (
            [point(1000), point(2000, 2, engine="timer")],
            "segment 2 of 2, not comparable: engine fork → timer",
        ),
        (
            [point(1000), point(None), point(1000)],
            "no count in run 2, torch 2.13.0+cpu (cf30153c): failed",
        ),
        # Its status would not say why there is none.
        (
            [point(1000), attrs.evolve(point(None), status=Status.OK, failure="")],
            "no count in run 2, torch 2.13.0+cpu (cf30153c): only times were measured",
        ),
        (
            [*(point(1000) for _ in range(3)), *(point(2000, fingerprint=OTHER) for _ in range(3))],
            "also differs: Python 3.11.7 → 3.13.0",
        ),
        # Of other builds, they are as exact as every count: one wants to know which.
        (
            [*[point(1000)] * 3, point(1500, build="b4"), *[point(1000)] * 3],
            "outliers: run 4, b4 (1,500)",
        ),
    ],
    ids=[
        *("the next build will tell", "a segment", "not counted", "only timed", "another cause"),
        "outliers",
    ],
)
def test_what_makes_a_step_doubtful_is_said(points: list[StoredCount], said: str) -> None:
    """With the reason."""
    numbered = [attrs.evolve(found, run_id=run) for run, found in enumerate(points, 1)]
    (series,) = all_series(numbered)

    assert said in text_of(series)


def test_json_holds_all_points_and_steps() -> None:
    """With the causes."""
    (case,) = as_json(shown(made([*COUNTS, None])))["cases"]
    (segment,) = case["segments"]
    (step,) = segment["steps"]

    assert COUNTS == [point["count"] for point in segment["points"]]
    assert [4] == [place for place, point in enumerate(segment["points"]) if point["outlier"]]
    assert len(case["uncounted"]) == 1
    assert {
        "before": 7,
        "after": 8,
        "change": 200,
        "relative": 0.2,
        "confirmed": True,
        "causes": ["+200 slow_8_9"],
    }.items() <= step.items()


def test_csv_has_a_line_for_each_count() -> None:
    """Steps and outliers are remarks; what failed has no count."""
    rows = as_csv(shown(made([*COUNTS, None])))

    assert [str(count) for count in COUNTS] + [""] == [row["count"] for row in rows]
    assert {"4": "outlier", "8": "+200 +20.00%", "12": "failed"} == {
        str(place): row["remark"] for place, row in enumerate(rows) if row["remark"]
    }


def test_many_cases_have_a_line_each() -> None:
    """Nobody wants hundreds of plots."""
    series = made([*COUNTS])
    document = history([series] * (MOST_PLOTS + 1), causes(series))
    cells = [cell.value for cell in document.tables[0].rows[0].cells]

    assert "┤" not in terminal.render(document)
    assert [series.key.title, 12, 1200, 1] == cells[:-1]
    assert "1,000 → 1,200  +200, +20.00% in run 9, torch 2.13.0+cpu (cf30153c)" == cells[-1]


def test_the_latest_of_a_run_is_that_of_its_last_build() -> None:
    """Whatever number a run has: older ones may be imported later."""
    builds = [point(count, build=f"b{count}") for count in (1000, 1300)]
    older = attrs.evolve(point(900), run_id=2, started_at="2025-12-31")
    (series,) = all_series([older, *builds])
    (row, *_) = history([series] * (MOST_PLOTS + 1), {}).tables[0].rows

    assert 1300 == row.cells[2].value
