"""Metrics: forward and backward apart, memory and bandwidth."""

from __future__ import annotations

import attrs
import pytest

from instruction_counts.analysis.operator_metrics import metrics_of, without_metrics
from instruction_counts.core.types import Language
from tests.analysis.made_operators import CPP, OTHER, PYTHON, PYTHON_BOTH, RUN


def test_backward_is_the_difference_of_two_measured_cases() -> None:
    """It cannot run alone; what of either is not exact makes it so, too."""
    (metrics,) = metrics_of([PYTHON, PYTHON_BOTH])
    assert 4_000 == metrics.backward_instructions
    assert metrics.backward_exact is False
    assert metrics.backward_s == pytest.approx(7e-6)


def test_without_a_backward_case_there_is_no_backward() -> None:
    """Nothing is invented."""
    (metrics,) = metrics_of([CPP])
    assert metrics.backward_instructions is None
    assert metrics.backward_s is None


def test_backward_alone_has_no_metrics() -> None:
    """It holds the forward pass, of which nothing is known."""
    assert [] == list(metrics_of([PYTHON_BOTH]))


def test_what_has_no_metrics_is_known() -> None:
    """So that a report shows it elsewhere, and nothing is measured in vain."""
    alone = attrs.evolve(PYTHON_BOTH, language=Language.CPP)

    assert (alone, OTHER) == without_metrics([PYTHON, PYTHON_BOTH, alone, OTHER])


def test_only_operators_have_metrics() -> None:
    """Each language is a line of its own."""
    assert [metrics.key.language for metrics in metrics_of(RUN.cases)] == [
        Language.PYTHON,
        Language.CPP,
    ]


def test_what_is_moved_and_computed_holds_for_every_language() -> None:
    """It is known from Python; each language has its own time."""
    python, cpp = metrics_of(RUN.cases)
    assert python.bytes_per_s == pytest.approx(8_000 / 2e-6)
    assert cpp.bytes_per_s == pytest.approx(8_000 / 1e-6)
    assert cpp.flops_per_s == pytest.approx(10_000 / 1e-6)
