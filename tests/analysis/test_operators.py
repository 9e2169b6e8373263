"""What is known of operators: forward and backward apart, rates, and complexity over sizes."""

import math

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.operators import COMPLEXITIES, fit, metrics_of, without_metrics
from instruction_counts.core.types import Language
from tests.analysis.made_operators import OTHER, PYTHON, PYTHON_BOTH


def test_backward_alone_and_other_cases_have_no_metrics() -> None:
    """What has none is known, so that a report shows it elsewhere."""
    alone = attrs.evolve(PYTHON_BOTH, language=Language.CPP)
    records = [PYTHON, PYTHON_BOTH, alone, OTHER]

    assert [PYTHON] == [metrics.forward for metrics in metrics_of(records)]
    assert (alone, OTHER) == without_metrics(records)


SIZES = [4**power for power in range(2, 9)]


@pytest.mark.parametrize("complexity", COMPLEXITIES, ids=lambda complexity: complexity.name)
@given(overhead=st.integers(1_000, 20_000), unit=st.floats(0.5, 20))
def test_the_complexity_of_exact_counts_is_found(
    complexity: object, overhead: int, unit: float
) -> None:
    """Overhead and work with it, although counts are whole numbers."""
    known = next(known for known in COMPLEXITIES if known is complexity)
    unit = max(unit, 300.0) if known.name == "log N" else unit
    counts = {size: round(overhead + unit * known.grown(size)) for size in SIZES}
    found = fit(counts)
    assert found is not None
    assert found.complexity.name == known.name
    assert found.overhead == pytest.approx(overhead, rel=0.05)
    if known.name != "1":
        assert found.per_unit == pytest.approx(unit, rel=0.05)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_few_counts_are_no_evidence(count: int) -> None:
    """Three sizes fit nearly anything."""
    assert fit({size: size for size in SIZES[:count]}) is None


@given(st.dictionaries(st.integers(1, 10**6), st.integers(1, 10**9), min_size=4, max_size=9))
def test_any_counts_have_a_fit_that_is_finite(counts: dict[int, int]) -> None:
    """Neither overhead nor work is ever negative."""
    found = fit(counts)
    assert found is not None
    assert found.overhead >= 0
    assert found.per_unit >= 0
    assert math.isfinite(found.error)
