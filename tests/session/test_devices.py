"""What of a case on CUDA is measured where nothing runs on a device, and why something is not."""

from typing import Any

import attrs
import pytest

from instruction_counts.core.api import TimerArgs
from instruction_counts.core.expand import materialize
from instruction_counts.core.labels import RuntimeMode
from instruction_counts.core.types import Case
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.devices import NO_CUDA_TIMES
from tests.fakes import FACTS, make_case
from tests.session.fakes import CUDA_BUILD, WITH_GPU, Remarks, planned

CPU_CASE = make_case("a")
(CASE,) = materialize({("b",): TimerArgs("x", device="cuda")})


@pytest.mark.parametrize(
    ("facts", "counts", "times"),
    [(CUDA_BUILD, True, False), (WITH_GPU, True, True), (WITH_GPU, False, True)],
    ids=["counted alone", "with a GPU", "timed alone"],
)
def test_it_is_counted_and_timed_where_there_is_a_gpu(
    facts: dict[str, Any], counts: bool, times: bool
) -> None:
    """Else times would be those of functions that return at once; no results are made."""
    (order,) = planned([CASE], facts, counts=counts, metrics=("resources",))

    assert (counts, counts, times) == (order.counts, order.executed, order.times)
    assert (False, False, "") == (order.output, order.resources, order.refusal)


def test_a_case_on_the_cpu_is_measured_as_ever() -> None:
    """Also on a build that has CUDA."""
    assert planned([CPU_CASE], {}) == planned([CPU_CASE], CUDA_BUILD)


COUNTS_ALONE = "a case on cuda has counts alone, and none are asked for"


@pytest.mark.parametrize(
    ("runtime", "facts", "settings", "expected"),
    [
        ("EAGER", {}, {}, 'the torch of build "default" has no CUDA: name another with --build'),
        ("EAGER", CUDA_BUILD, {"counts": False}, COUNTS_ALONE),
        ("EAGER", WITH_GPU, {"counts": False, "times": False}, COUNTS_ALONE),
        ("EAGER", CUDA_BUILD, {"engine": "timer"}, "only the fork engine counts cases on cuda"),
        ("EAGER", WITH_GPU, {"engine": "timer", "counts": False}, ""),
        # What torch compiles needs a compiler for devices.
        ("COMPILED", CUDA_BUILD, {}, 'the runtime "compiled" is not measured on cuda'),
        ("EXPORTED", CUDA_BUILD, {}, 'the runtime "exported" is not measured on cuda'),
    ],
)
def test_what_cannot_be_counted_is_skipped_with_the_reason(
    runtime: str, facts: dict[str, Any], settings: dict[str, Any], expected: str
) -> None:
    """A case that is skipped fails nothing."""
    labels = attrs.evolve(CASE.autolabels, runtime=RuntimeMode[runtime])
    (order,) = planned([attrs.evolve(CASE, autolabels=labels)], facts, **settings)

    assert expected == order.refusal


@pytest.mark.parametrize(
    ("cases", "found", "settings", "expected"),
    [
        ([CASE, CPU_CASE, CASE], CUDA_BUILD, {}, [NO_CUDA_TIMES]),
        ([CASE], WITH_GPU, {}, []),
        ([CASE], CUDA_BUILD, {"times": False}, []),
        ([CPU_CASE], CUDA_BUILD, {}, []),
    ],
)
def test_that_there_are_no_times_is_said_once_where_they_are_asked_for(
    cases: list[Case], found: dict[str, Any], settings: dict[str, Any], expected: list[str]
) -> None:
    """Whoever asks for none misses none."""
    observer = Remarks()
    facts = attrs.evolve(FACTS, **found)
    BuildRunner((facts,), MeasurementSettings(**settings), observer).orders(cases)

    assert expected == observer.notes
