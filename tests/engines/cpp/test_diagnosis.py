"""What compilers say, as failures."""

import pytest

from instruction_counts.domain.outcomes import FailureKind
from instruction_counts.engines.cpp.diagnosis import diagnosis
from instruction_counts.engines.cpp.source import CppSource

SOURCE = CppSource("", "", "code")


def test_long_output_keeps_its_end() -> None:
    """The last 4000 characters."""
    output = "stmt:1:5: error: first\n" + "x" * 5000
    failure = diagnosis(output, SOURCE)
    assert "error: first" == failure.message
    assert "x" * 4000 == failure.output


@pytest.mark.parametrize("output", ["", "nonsense", "stmt:99:1: error: beyond the end"])
def test_odd_output_is_still_a_failure(output: str) -> None:
    """Whatever the compiler says."""
    assert FailureKind.COMPILE is diagnosis(output, SOURCE).kind
