"""What changed a case: a Python function, an operator, a native function, and by how much."""

import enum
from fractions import Fraction
from typing import TypeAlias

import attrs


class Unit(enum.Enum):
    """What a change is counted in, per iteration."""

    BYTECODES = "bytecodes"
    CALLS = "calls"
    INSTRUCTIONS = "instructions"


class CauseKind(enum.Enum):
    """What it is that changed; those that people can open come first."""

    PYTHON = "python function"
    CUDA = "cuda call"
    """A launch, or what else is asked of CUDA or of torch's allocator for it."""
    OPERATOR = "operator"
    NATIVE = "native function"
    LIBRARY = "library"
    """As a whole, where its functions have no names on a side."""
    LAYER = "layer"
    """Of PyTorch or of what lies below it: all that a baseline keeps."""

    @property
    def unit(self) -> Unit:
        """What changes of this kind are counted in."""
        if self is CauseKind.PYTHON:
            return Unit.BYTECODES
        is_called = self in {CauseKind.OPERATOR, CauseKind.CUDA}
        return Unit.CALLS if is_called else Unit.INSTRUCTIONS


CauseIdentity: TypeAlias = tuple[object, ...]
"""What makes causes of different cases the same one. The line of a function may differ."""


@attrs.frozen
class Cause:
    """A change that a case has in common with others, or not."""

    kind: CauseKind
    name: str
    """``Linear.forward``, ``aten::add``; normalised and in full for a native function."""
    base: Fraction | None = attrs.field(converter=attrs.converters.optional(Fraction))
    """None where it is not executed."""
    new: Fraction | None = attrs.field(converter=attrs.converters.optional(Fraction))
    where: str = ""
    """The file of a Python function, the library of a native one, the kind of a CUDA call."""
    line: int = 0
    """Where a Python function begins; 0 where that is not known."""
    edited: bool = False
    """Whether a Python function has other code; else it is called more or less often, or takes
    another way."""
    backward: bool = False
    """Whether a node of the backward graph calls the operator."""
    more_calls: Fraction = Fraction()
    """Calls of a native function that new has more; 0 where they are not known on a side."""
    interpreted: Fraction = Fraction()
    """Of a Python function: its part of the instructions that the interpreter executes more."""
    nameless_in: str = ""
    """On which sides the functions of a library have no names: ``base``, ``new`` or ``both``."""

    @property
    def change(self) -> Fraction:
        """What new has more, in the unit of its kind."""
        return (self.new or Fraction()) - (self.base or Fraction())

    @property
    def instructions(self) -> Fraction:
        """What new costs more for it, as far as that is known; of an operator it is not."""
        return self.change if self.kind.unit is Unit.INSTRUCTIONS else self.interpreted

    @property
    def place(self) -> str:
        """``torch/nn/modules/linear.py:130``, or a library; empty where neither is known."""
        return f"{self.where}:{self.line}" if self.line else self.where

    @property
    def identity(self) -> CauseIdentity:
        """What it has in common with the same cause in other cases."""
        # A Python function's new code may cost more here and less there.
        is_more = self.kind is not CauseKind.PYTHON and self.change > 0
        return self.kind, self.name, self.where, self.backward, is_more
