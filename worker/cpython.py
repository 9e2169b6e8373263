"""What is relied on in CPython and is part of no interface, in one table by version.

A server that counts holds the interpreter's caches still: no look-up of a method evicts another one
(`method_cache`), and no bytecode is specialised again (``steady.c``). Where the version is not in
the table, or something is found to be otherwise when a server starts, it holds none, and says so:
counts of Python cases may then move between memory layouts by up to 4%.
"""

from __future__ import annotations

import sys
from typing import NamedTuple, Optional

SLOTS = 4096
"""Of the cache of methods: ``MCACHE_SIZE_EXP`` in ``Include/internal/pycore_typeobject.h`` (before
3.12 in ``Objects/typeobject.c``). A slot is ``(version ^ name >> 3) % SLOTS``: ``MCACHE_HASH`` in
``Objects/typeobject.c``."""

ENTRY_WORDS = 3
"""Of 64 bits in a slot: version (its lower half), name, value: ``struct type_cache_entry`` in
``Include/internal/pycore_typeobject.h``. The table is part of the state of the interpreter."""


class Facts(NamedTuple):
    """What holds for one version, on 64 bits and with a GIL."""

    version_offset: int
    """Of ``tp_version_tag`` in a type: ``struct _typeobject`` in ``Include/cpython/object.h``.

    0 where versions do not help: 3.9 does not withdraw them (`PyType_Modified` clears a flag),
    and 3.10 hands them out anew when the cache is cleared, so that look-ups cannot be told.
    """
    full_counter: Optional[int]
    """What stands in the counter behind a bytecode that starts from the top: 12 bits of value above
    4 for the power of two that it starts from next time (``adaptive_counter_bits`` in
    ``Include/internal/pycore_code.h``, from 3.13 ``Include/internal/pycore_backoff.h``). None:
    bytecode has no counters."""


_KNOWN = {
    (3, 9): Facts(0, None),
    (3, 10): Facts(0, None),
    (3, 11): Facts(384, 0xFFFC),
    (3, 12): Facts(384, 0xFFFC),
    (3, 13): Facts(384, 0xFFFC),
    (3, 14): Facts(384, 0xFFFC),
}

LEAST_REFERENCES_OF_STATIC = 500_000_000
"""Objects that are part of the interpreter count no references: ``_PyObject_IMMORTAL_REFCNT`` in
``Include/internal/pycore_object.h`` (3.10, 3.11), ``_Py_IMMORTAL_REFCNT`` in ``Include/object.h``,
from 3.14 ``Include/refcount.h``. Each is larger; 3.9 has none."""


def facts() -> Optional[Facts]:
    """What holds for this interpreter; None where that is not known."""
    if sys.implementation.name != "cpython" or "t" in sys.abiflags or sys.maxsize <= 1 << 32:
        return None
    return _KNOWN.get(sys.version_info[:2])
