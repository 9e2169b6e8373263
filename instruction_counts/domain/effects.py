"""How large a change is, written one way; and noise floors: what moves a count without one."""

import enum
import math
import re

import attrs

from instruction_counts.domain.bounds import Count, Share

_EXPECTED = 'a percentage (0.5%), an instruction count (20), both ("0.5%,20"), or never'

# A number with more digits can be infinite, or too long to be read.
_PART = re.compile(
    r"\s*(?:(?P<percentage>\d{1,15}(?:\.\d{1,15})?)\s*%|(?P<count>\d{1,15})(?:\s*instructions)?)\s*"
)
_THOUSANDS = re.compile(r"(?<=\d),(?=(?:\d{3},)*\d{3}\s*instructions)")


@attrs.frozen
class Effect:
    """A size of change: a change is as large only if it reaches both parts."""

    relative: float = 0.0
    """The share of the instructions of the base."""
    absolute: float = 0
    """Instructions; infinite where no change is large enough."""

    @classmethod
    def parse(cls, text: str) -> "Effect":
        """``0.5%``, ``20``, ``0.5%,20``, ``0.5% and 20 instructions``, or ``never``.

        Raises:
            ValueError: the text is none of these.
        """
        if text.strip() == "never":
            return NEVER
        parts: dict[str | None, float] = {}
        for part in re.split(",|and", _THOUSANDS.sub("", text)):
            match = _PART.fullmatch(part)
            if match is None or match.lastgroup in parts:  # of two of a kind, one would be ignored
                raise ValueError(f"expected {_EXPECTED}")
            parts[match.lastgroup] = float(match[match.lastgroup or 0])
        return cls(parts.get("percentage", 0.0) / 100, int(parts.get("count", 0)))

    def of(self, base: int) -> float:
        """The change, in instructions, that is this large for a case that cost ``base``."""
        return max(self.relative * abs(base), self.absolute)

    def is_reached(self, change: float, base: int) -> bool:
        """Whether ``change`` instructions are as much, for a case that cost ``base``."""
        return abs(change) >= self.of(base)

    def __str__(self) -> str:
        if math.isinf(self.absolute):
            return "never"
        percentage = f"{self.relative * 100:.10g}%" if self.relative else ""
        count = f"{self.absolute:,.0f} instructions" if self.absolute else ""
        return " and ".join(part for part in (percentage, count) if part) or "0"


NEVER = Effect(absolute=math.inf)

MIN_EFFECT = Effect(0.0005, 3)
"""The smallest change of interest, unless the user says otherwise.

Each count is rounded twice, so up to two instructions of a change may be rounding.
"""


@attrs.frozen
class Noise:
    """What was seen to move the count of a case on a build without any change of code.

    It belongs to the record that it was measured for, and is stored and exported with it.
    """

    server_spread: Share = 0.0
    """Relative spread over fresh servers of one layout."""
    layout_spread: Share = 0.0
    """Relative spread over layouts."""
    layouts: Count = 0
    """In how many further layouts it was counted; 0 says that nothing is known of layouts."""


class Origin(enum.Enum):
    """Where a noise floor comes from."""

    WINDOWS = "windows"
    """The windows of a count disagree."""
    SERVERS = "servers"
    """Fresh servers were seen to disagree."""
    LAYOUTS = "layouts"
    """Memory layouts were seen to move the count."""
    ASSUMED = "assumed"
    """The case was counted in one layout: it is what layouts usually move."""
