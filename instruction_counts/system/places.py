"""Where the packages lie that are found by path, and not imported."""

from __future__ import annotations

from pathlib import Path

import core

HOME = Path(core.__file__).resolve().parents[1]
"""Holds ``core``, ``definitions`` and ``worker``: the checkout, or the installed package."""
