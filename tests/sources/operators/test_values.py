"""Values that a call starts from."""

from __future__ import annotations

from typing import Any

import pytest

from instruction_counts.core.types import Language
from instruction_counts.sources.operators.calls import Value
from instruction_counts.sources.operators.entries import DISTRIBUTIONS, DTYPES, Distribution
from instruction_counts.sources.operators.values import drawn


@pytest.mark.parametrize("name", [name for name in DISTRIBUTIONS if name != "index_of"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_distribution_makes_a_tensor_of_its_shape_and_dtype(name: str, dtype: str) -> None:
    """Torch itself says so; but complex numbers have no order to be sorted in."""
    if name == "sorted" and dtype.startswith("complex"):
        return
    torch = pytest.importorskip("torch")
    shape = (12,) if name == "permutation" else (3, 3)
    namespace: dict[str, Any] = {"torch": torch}
    value = Value("x", shape, dtype, Distribution(name, 0, 2), requires_grad=False)
    exec(drawn(value, Language.PYTHON), namespace)  # noqa: S102 - code is what is tested
    made = namespace["x"]
    assert tuple(made.shape) == shape
    assert str(made.dtype) == f"torch.{dtype}"
