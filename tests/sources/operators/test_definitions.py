"""Definitions of operators: their labels, and what is known of them."""

from __future__ import annotations

import pytest

from instruction_counts.sources.operators.calls import Overrides
from instruction_counts.sources.operators.definitions import definitions
from instruction_counts.sources.operators.entries import OperatorEntry, Tensor

NOT = OperatorEntry("torch.bitwise_not", "bits", {"input": Tensor((3,), "int64")})
NEG = OperatorEntry("torch.neg", "arithmetic", {"input": Tensor((3,))})


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (NOT, {("bits", "torch.bitwise_not", "typical"): "int64"}),
        (NEG, {("arithmetic", "torch.neg", "typical", "float64"): "float64"}),
        (OperatorEntry("torch.zeros", "creation"), {("creation", "torch.zeros", "typical"): None}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_labels_and_subjects_have_the_dtype_of_the_tensors(
    entry: OperatorEntry, expected: dict[tuple[str, ...], str | None]
) -> None:
    """Not one that was asked for in vain."""
    made = definitions([entry], Overrides(dtypes=("float64",)), {})
    assert expected == {label: group.subject.dtype for label, group in made.items()}
