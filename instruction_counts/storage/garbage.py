"""Making very many values without looking for garbage among them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_garbage() -> Iterator[None]:
    """Leave the collection of cycles out while values are made."""
    # A run can have a million values, and no cycles. Going over all of them again and again would
    # take four times as long as making them.
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
