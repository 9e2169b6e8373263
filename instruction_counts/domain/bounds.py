"""What a number can be, said by the type of its field: whoever reads a file holds it to that."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import attrs


@attrs.frozen
class Bounds:
    """Numbers from ``least`` to ``most``, or those ``above`` one."""

    least: float | None = None
    most: float | None = None
    above: float | None = None

    def hold(self, number: float) -> bool:
        """Whether a number lies within them."""
        return (
            (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
        )

    def __str__(self) -> str:
        words = (("at least", self.least), ("at most", self.most), ("more than", self.above))
        return ", ".join(f"{text} {number:g}" for text, number in words if number is not None)


INTEGER = Bounds(-(2**63), 2**63 - 1)
"""What files, the database and other programs hold a whole number in: 64 bits."""

Count: TypeAlias = Annotated[int, Bounds(0)]
Positive: TypeAlias = Annotated[int, Bounds(1)]
Share: TypeAlias = Annotated[float, Bounds(0, 1)]
Seconds: TypeAlias = Annotated[float, Bounds(0)]
