"""The definitions for a GPU: many cases on cuda, most of them beside their twin on the CPU."""

from collections import Counter

import pytest

from definitions.cuda import BENCHMARKS
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case

CASES = materialize(BENCHMARKS)


def test_there_are_more_than_eighty_cases_on_cuda() -> None:
    """A set that covers what a training script calls, and not an example."""
    assert Counter(case.timer_args.device for case in CASES)["cuda"] > 80


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_code_of_a_case_uses_its_device(case: Case) -> None:
    """Else it would measure the same thing on both."""
    code = f"{case.timer_args.setup}\n{case.timer_args.stmt}"

    assert code.count("device") > 1


def test_a_case_on_both_devices_is_the_same_code() -> None:
    """But for the line that names the device."""
    texts = [
        (case.label[:-1], *case.key.modes, case.timer_args.setup.split("\n", 1)[1])
        for case in CASES
        if case.label[-1] in {"cpu", "cuda"}
    ]

    assert {2} == {*Counter(texts).values()}
