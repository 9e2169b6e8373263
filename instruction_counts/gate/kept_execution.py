"""What an iteration executed, as a baseline keeps it.

Without lines, which change with every edit above a function: the difference of two versions of the
file is what changed.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from instruction_counts.domain.bounds import Positive
from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction


@attrs.frozen
class KeptExecution:
    """Python functions by bytecodes, and operators by calls."""

    python: str
    """The version of Python, without its last part; empty for C++."""
    functions: Mapping[str, Mapping[str, Mapping[str, Positive]]] | None
    """Bytecodes by file, name and digest of the code; None for C++."""
    operators: Mapping[str, Positive]
    backward: Mapping[str, Positive]
    """Operators that nodes of the backward graph call."""

    @classmethod
    def of(cls, executed: Executed) -> KeptExecution:
        """What is kept of it."""
        functions: dict[str, dict[str, dict[str, int]]] = {}
        for function in sorted(executed.functions or ()):
            found = functions.setdefault(function.file, {}).setdefault(function.name, {})
            found[function.digest] = found.get(function.digest, 0) + function.bytecodes
        forward, backward = (
            {one.name: one.calls for one in sorted(executed.operators) if one.backward is side}
            for side in (False, True)
        )
        known = None if executed.functions is None else functions
        return cls(executed.python, known, forward, backward)

    @property
    def executed(self) -> Executed:
        """The same without lines."""
        functions = [
            PythonFunction(file, 0, name, digest, bytecodes)
            for file, names in (self.functions or {}).items()
            for name, digests in names.items()
            for digest, bytecodes in digests.items()
        ]
        operators = [
            OperatorCalls(name, backward, calls)
            for backward, side in ((False, self.operators), (True, self.backward))
            for name, calls in side.items()
        ]
        known = None if self.functions is None else tuple(functions)
        return Executed(known, tuple(operators), self.python)
