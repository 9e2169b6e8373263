"""What heads tables with cases on CUDA: what their figures are, and what they are not."""

import pytest

from instruction_counts.domain.metrics import Amounts
from instruction_counts.report.cuda import about_cuda
from tests.builders import counted, cpp


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [({}, 0), ({"launches": 0}, 1), ({"launches": 3, "synchronisations": 1}, 1)],
)
def test_a_line_says_what_is_counted_on_cuda(metrics: dict[str, int], expected: int) -> None:
    """Also of what launches nothing; not where no case is on it."""
    record = cpp("add", outcome=counted(1000, metrics=Amounts(metrics)))

    assert expected == len(about_cuda([None, record, record]))
