"""What a case is expected to compute, and whether it did.

The expectation travels with the case, in its metadata. It is checked against the output that was
recorded; a case whose output nobody recorded (see docs/explanation/measurement.md) is not checked.
"""

from __future__ import annotations

import array
import base64
import math
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from core.types import Case
from instruction_counts.domain.outcomes import (
    Failure,
    FailureKind,
    Outcome,
    Output,
    Status,
    TensorValue,
)

EXPECTED_OUTPUT = "expected_output"
"""The key in the metadata of a case: tensors by name, with shape, dtype, sum and tolerance."""


def as_expected(case: Case, outcome: Outcome) -> Outcome:
    """``outcome``, or a failure with its reason where something else was computed."""
    expected = case.metadata.get(EXPECTED_OUTPUT)
    if not isinstance(expected, Mapping) or outcome.output is None:
        return outcome
    found = next(_differences(expected, outcome.output), None)
    if found is None or outcome.status is not Status.OK:
        return outcome
    return attrs.evolve(
        outcome,
        status=Status.FAILED,
        instructions=None,
        times=None,
        functions=None,
        failure=Failure(FailureKind.EXCEPTION, f"another output than expected: {found}"),
    )


def _differences(expected: Mapping[str, Any], output: Output) -> Iterator[str]:
    tensors = {tensor.name: tensor for tensor in output.tensors}
    for name, wanted in expected.items():
        if name not in tensors:
            yield f"there is no tensor {name}, but {', '.join(tensors) or 'none at all'}"
        else:
            yield from (f"{name} {text}" for text in _of_tensor(wanted, tensors[name]))


def _of_tensor(wanted: Mapping[str, Any], found: TensorValue) -> Iterator[str]:
    if "shape" in wanted and list(found.shape) != list(wanted["shape"]):
        yield f"has the shape {list(found.shape)} instead of {list(wanted['shape'])}"
    if "dtype" in wanted and found.dtype != wanted["dtype"]:
        yield f"is {found.dtype} instead of {wanted['dtype']}"
    if "sum" in wanted:
        values = array.array("d", base64.b64decode(found.sample))
        count = math.prod(found.shape)
        if len(values) != count:
            yield f"has {count:,} values, too many to check their sum (or they are complex)"
        elif not abs(sum(values) - wanted["sum"]) <= wanted.get("tolerance", 0):
            yield f"adds up to {sum(values):.9g} instead of {wanted['sum']:.9g}"
