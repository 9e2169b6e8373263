"""What limits are held against: see `tests.builders`."""

from __future__ import annotations

from tests.builders import comparison, counted, cpp, difference, key, side

__all__ = ["comparison", "counted", "cpp", "difference", "key", "side"]
