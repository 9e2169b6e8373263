"""What a selftest shows: a row for each case, and a summary."""

import pytest

from instruction_counts.core.types import Case, Language
from instruction_counts.report.renderers import terminal
from instruction_counts.report.selftest import launches_document, selftest_document
from instruction_counts.session.launches import CaseLaunches
from instruction_counts.session.selftest import CaseNoise
from tests.fakes import make_case
from tests.session.test_selftest import A, B

C = make_case("c", language=Language.CPP)


def noise(
    *repeats: int | None, layouts: tuple[int | None, ...] = (), case: Case = A, agree: bool = True
) -> CaseNoise:
    """What the rounds said of a case."""
    return CaseNoise(case, repeats, layouts, agree)


@pytest.mark.parametrize(
    ("found", "row"),
    [
        (noise(12_345, 12_345), [12_345, "same", "agree"]),
        (noise(1000, 999, agree=False), [1000, "0.1000%", "vary"]),
        (noise(10**9, 10**9 + 1), [10**9, "0.0001%", "agree"]),
        (noise(5, 5, layouts=(6,)), [5, "same", "agree", "16.6667%"]),
        # One that failed in a round must not look like one without noise.
        *((noise(*repeats, agree=False), ["failed"]) for repeats in ((None, 5), (5, None))),
    ],
)
def test_a_case_has_its_count_and_its_noise(found: CaseNoise, row: list[object]) -> None:
    """As a share of its count, never too small to be seen; layouts only where there were some."""
    (table,) = selftest_document([found]).tables

    assert row == [cell.value for cell in table.rows[0].cells[1:]]
    assert len(table.columns) == 1 + len(row)


def test_each_language_has_its_shares() -> None:
    """Those that repeat, and those whose windows agree."""
    noises = [noise(5, 5), noise(1000, 999, case=B, agree=False), noise(5, 5, case=C)]
    python, cpp = (line.text for line in selftest_document(noises).notes)

    assert python.startswith("Python: 1 of 2 repeat to the instruction (noise of the others: 0.10")
    assert cpp.endswith(" (noise of the others: 0); windows agree in 1")


def test_layouts_are_summed_up_by_their_spread() -> None:
    """As many as there were, with the one that is measured in."""
    layouts = [(10_000, 10_000), (10_000, 9_999), (10_000, 9_996), (10_000, 9_900)]
    noises = [noise(10_000, 10_000, layouts=counts) for counts in layouts]
    noises.append(noise(None, None, layouts=(None, None)))  # nothing is known of it

    assert (
        "  over 3 layouts: 25.0% within 0, 50.0% within 0.01%, 75.0% within 0.05%, "
        "75.0% within 0.1%; worst 1.0000%"
    ) == selftest_document(noises).notes[1].text


def test_launches_stand_beside_those_of_a_gpu() -> None:
    """With what differs below a case, and how many agree."""
    found = [
        CaseLaunches(make_case("same"), {"add": 2}, {"add": 2}),
        CaseLaunches(make_case("other"), {"add": 2}, {"add": 1, "mul": 1}),
        CaseLaunches(make_case("lost"), failure="needs cusolverDnSgetrf"),
    ]

    assert """\
       heard  on the GPU  launches
same       2           2  same
other      2           2  differ
  -1 add
  +1 mul
lost       –           –  failed
  needs cusolverDnSgetrf

1 of 3 launch on the GPU what the stand-ins hear of
""" == terminal.render(launches_document(found))
