"""What one iteration executes, and what tells two sides apart."""

import attrs
import pytest

from instruction_counts.domain.executed import CudaCalls, CudaKind, Executed, OperatorCalls
from instruction_counts.domain.metrics import OF_CUDA
from tests.builders import FORWARD

ADD = OperatorCalls("aten::add", backward=False, calls=2)
KERNEL = CudaCalls(CudaKind.LAUNCH, "kernel<float>", 1)
WAIT = CudaCalls(CudaKind.SYNCHRONISATION, "cudaStreamSynchronize", 1)
OTHER = attrs.evolve(FORWARD, name="g")
EXECUTED = Executed((FORWARD, OTHER), (ADD,), "3.11", cuda=(KERNEL, WAIT))


def with_function(**changes: object) -> Executed:
    """The same, but for the first function."""
    return attrs.evolve(EXECUTED, functions=(attrs.evolve(FORWARD, **changes), OTHER))


def test_what_is_asked_of_cuda_adds_up_by_metric() -> None:
    """What was not asked for is none; a case that is not on it has no such metrics."""
    twice = attrs.evolve(EXECUTED, cuda=(KERNEL, attrs.evolve(KERNEL, name="other", calls=2), WAIT))
    numbers = {"launches": 3, "synchronisations": 1}

    assert {metric.name: numbers.get(metric.name, 0) for metric in OF_CUDA} == twice.cuda_calls
    assert {} == attrs.evolve(EXECUTED, cuda=None).cuda_calls


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        # Where functions stand, and in which order they were seen, has no part in them.
        (with_function(line=140), set()),
        (attrs.evolve(EXECUTED, functions=(OTHER, FORWARD)), set()),
        (with_function(bytecodes=21), {"bytecodes"}),
        # An edit that executes as much.
        (with_function(digest="bb"), {"code"}),
        (attrs.evolve(EXECUTED, operators=(attrs.evolve(ADD, backward=True),)), {"operators"}),
        (attrs.evolve(EXECUTED, cuda=(attrs.evolve(KERNEL, calls=2), WAIT)), {"cuda"}),
        (attrs.evolve(EXECUTED, cuda=(WAIT, KERNEL)), set()),
    ],
)
def test_digests_differ_where_something_else_is_executed(
    other: Executed, differs: set[str]
) -> None:
    """Each says what it is of."""
    before, after = attrs.asdict(EXECUTED.digests), attrs.asdict(other.digests)

    assert differs == {name for name in before if before[name] != after[name]}
