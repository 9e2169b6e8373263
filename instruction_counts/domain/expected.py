"""What a case is expected to compute, and whether it did.

The definition of the case says it. It is checked against the output that was
recorded; a case whose output nobody recorded (see docs/explanation/measurement.md) is not checked.
"""

from __future__ import annotations

import array
import base64
import math
from collections.abc import Iterable, Iterator

import attrs

from instruction_counts.core.facts import ExpectedTensor
from instruction_counts.core.types import Case
from instruction_counts.domain.outcomes import (
    Failure,
    FailureKind,
    Outcome,
    Output,
    Status,
    TensorValue,
)


def as_expected(case: Case, outcome: Outcome) -> Outcome:
    """``outcome``, or a failure with its reason where something else was computed."""
    if outcome.output is None:
        return outcome
    found = next(_differences(case.expected, outcome.output), None)
    if found is None or outcome.status is not Status.OK:
        return outcome
    return attrs.evolve(
        outcome,
        status=Status.FAILED,
        instructions=None,
        times=None,
        functions=None,
        failure=Failure(FailureKind.EXCEPTION, f"unexpected output: {found}"),
    )


def _differences(expected: Iterable[ExpectedTensor], output: Output) -> Iterator[str]:
    tensors = {tensor.name: tensor for tensor in output.tensors}
    for wanted in expected:
        if wanted.name in tensors:
            for text in _of_tensor(wanted, tensors[wanted.name]):
                yield f"{wanted.name} {text}"
        else:
            yield f"there is no tensor {wanted.name}, but {', '.join(tensors) or 'none at all'}"


def _of_tensor(wanted: ExpectedTensor, found: TensorValue) -> Iterator[str]:
    if wanted.shape is not None and found.shape != wanted.shape:
        yield f"has the shape {list(found.shape)} instead of {list(wanted.shape)}"
    if wanted.dtype is not None and found.dtype != wanted.dtype:
        yield f"is {found.dtype} instead of {wanted.dtype}"
    if wanted.sum is not None:
        values = array.array("d", base64.b64decode(found.sample))
        count = math.prod(found.shape)
        if len(values) != count:
            yield f"has {count:,} values, too many to check their sum (or they are complex)"
        elif not abs(sum(values) - wanted.sum) <= wanted.tolerance:
            yield f"adds up to {sum(values):.9g} instead of {wanted.sum:.9g}"
