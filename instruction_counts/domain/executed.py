"""What one warm iteration executes: Python functions by bytecodes, operators and CUDA by calls.

All are whole numbers that no memory layout, allocator or load moves: what differs here is another
program.
"""

import enum
import hashlib
from collections import Counter
from collections.abc import Iterable

import attrs

from instruction_counts.domain.bounds import Count


@attrs.frozen(order=True)
class PythonFunction:
    """A Python function, and the bytecodes that it executes itself."""

    file: str
    """Relative to where its package is installed: ``torch/nn/modules/linear.py``; ``<case>`` for
    the statement, ``<generated>`` for code that no file holds."""
    line: Count
    """Where it begins; 0 where no file holds it."""
    name: str
    """``Linear.forward``."""
    digest: str
    """Of what it does, wherever it stands; empty for the statement."""
    bytecodes: Count


@attrs.frozen(order=True)
class OperatorCalls:
    """An operator, and how often torch dispatches it."""

    name: str
    """``aten::add``."""
    backward: bool
    """Whether a node of the backward graph calls it."""
    calls: Count


class CudaKind(enum.Enum):
    """What is asked of CUDA, the dearest first; the value is the name of its metric."""

    SYNCHRONISATION = "synchronisations"
    LAUNCH = "launches"
    """Of a kernel, or of a graph of them."""
    COPY = "copies"
    LIBRARY = "library_calls"
    """Work for cuBLAS, cuDNN and others."""
    ALLOCATION = "cuda_allocations"
    """And what frees; torch keeps memory, so that warm iterations have none."""
    BLOCK = "cached_blocks"
    """Asked not of CUDA, but of torch's caching allocator."""


@attrs.frozen
class CudaCalls:
    """What the CPU asks of CUDA, and how often."""

    kind: CudaKind
    name: str
    """That of a kernel, or ``cublasSgemm_v2``, ``cudaMemcpyAsync to the device, pageable``."""
    calls: Count


@attrs.frozen
class ExecutedDigests:
    """Whether two sides executed the same, without what that was."""

    operators: str
    """Of the calls of each operator."""
    bytecodes: str = ""
    """Of the bytecodes of each Python function; empty for C++."""
    code: str = ""
    """Of the code of these functions, but not of how much of it ran: equal numbers of bytecodes can
    be others, and the same code can run less often. Empty for C++."""
    python: str = ""
    """Which Python executed them: bytecodes of different ones cannot be compared."""
    cuda: str = ""
    """Of what is asked of CUDA; empty for cases that are not on it."""


@attrs.frozen
class Executed:
    """What one iteration executes."""

    functions: tuple[PythonFunction, ...] | None
    """None for C++."""
    operators: tuple[OperatorCalls, ...]
    python: str = ""
    """The version of Python, without its last part: ``3.11``; empty for C++."""
    cuda: tuple[CudaCalls, ...] | None = None
    """None for cases that are not on it."""

    @property
    def bytecodes(self) -> int | None:
        """All bytecodes; None for C++."""
        if self.functions is None:
            return None
        return sum(function.bytecodes for function in self.functions)

    @property
    def operator_calls(self) -> int:
        """All calls of operators, those by other operators included."""
        return sum(operator.calls for operator in self.operators)

    @property
    def cuda_calls(self) -> dict[str, int]:
        """How much of each kind is asked of CUDA, by the name of its metric."""
        kinds = dict.fromkeys(CudaKind, 0) if self.cuda is not None else {}
        for asked in self.cuda or ():
            kinds[asked.kind] += asked.calls
        return {kind.value: calls for kind, calls in kinds.items()}

    @property
    def digests(self) -> ExecutedDigests:
        """What tells whether another side executed the same; lines take no part."""
        calls = ((each.name, each.backward, each.calls) for each in self.operators)
        asked = ((each.kind.value, each.name, each.calls) for each in self.cuda or ())
        cuda = "" if self.cuda is None else _digest(asked)
        if self.functions is None:
            return ExecutedDigests(_digest(calls), cuda=cuda)
        # The same code at several lines of a file is one function: lines take no part.
        sums: Counter[tuple[str, str, str]] = Counter()
        for function in self.functions:
            sums[function.file, function.name, function.digest] += function.bytecodes
        counts = ((file, name, number) for (file, name, _), number in sums.items())
        return ExecutedDigests(_digest(calls), _digest(counts), _digest(sums), self.python, cuda)


def _digest(rows: Iterable[tuple[object, ...]]) -> str:
    text = "\n".join(sorted(map(repr, rows)))
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]


# The lines of functions that changed, as their files have them


@attrs.frozen
class SourceLines:
    """A function as it stands in its file."""

    first: int
    """The number of the first line."""
    lines: tuple[str, ...]
    is_checked: bool = True
    """Whether its code is known to be what was executed."""


@attrs.frozen
class SourceChange:
    """A Python function that was edited, or that one side alone executes."""

    file: str
    name: str
    base: SourceLines | None
    """None where base does not execute it, or its file does not hold it any more."""
    new: SourceLines | None
    remarks: tuple[str, ...] = ()
    """Why lines of a side are not shown, or cannot be trusted."""
