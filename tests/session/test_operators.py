"""One operator over many sizes."""

import pytest

from instruction_counts.session.operators import over_sizes
from instruction_counts.sources.operators.calls import Overrides
from instruction_counts.sources.operators.entries import OperatorEntry, Tensor

NEG = OperatorEntry("arithmetic", {"input": Tensor((8, 64))}, name="torch.neg")


@pytest.mark.parametrize(
    ("dtypes", "named", "expected"),
    [
        ((), False, ("N=16",)),
        (("float64",), False, ("N=16", "float64")),
        ((), True, ("input=[N, 64], N=16",)),
    ],
)
def test_what_is_another_case_has_another_label(
    dtypes: tuple[str, ...], named: bool, expected: tuple[str, ...]
) -> None:
    """Else other code would be stored as the next run of the same case."""
    found = over_sizes(
        NEG, Overrides(dtypes=dtypes), {"input": ("N", 64)}, [16, 32], {}, named=named
    )
    assert ("arithmetic", "torch.neg", *expected) == next(iter(found[16]))
    assert [(32, 64)] == [group.subject.shapes["input"] for group in found[32].values()]
