"""Names that no input can have: each would be code of Python or C++ that does not mean it."""

from __future__ import annotations

import keyword
from collections.abc import Container

from instruction_counts.sources.operators.entries import CPP_KEYWORDS

_OURS = ("torch", "model", "gradient", "model_inputs", "warm_up_call")
_OUTPUT_OF_MODEL = "y"


def reserved(*, has_model: bool) -> Container[str]:
    """What an input of a statement or of a model cannot be called."""
    names = {*keyword.kwlist, *CPP_KEYWORDS, *_OURS}
    return names | {_OUTPUT_OF_MODEL} if has_model else names
