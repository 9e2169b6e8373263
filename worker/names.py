"""Makes names where their text decides: those of the build before a process makes any itself.

A process that counts executes this first, in the folder of its server, and `worker.main` loads it
for the names of a case. `method_cache` says what for. None are made where the library does not
allocate.
"""

import ctypes
import sys

_intern = ctypes.PyDLL("./steady.so").steady_intern
_intern.restype = None
_make = ctypes.cast(ctypes.pythonapi.PyUnicode_InternFromString, ctypes.c_void_p)
_OVERHEAD = ctypes.c_uint64(sys.getsizeof(""))


def intern(names: bytes) -> None:
    """Make ``names`` now, a NUL behind each: where the name alone decides, modulo 32 KiB.

    One that was made before stays where it is, and those of a letter or beyond ASCII.
    """
    _intern(names, ctypes.c_uint64(len(names)), _OVERHEAD, _make)


if __name__ == "__main__":
    try:
        with open("names", "rb") as _stream:  # noqa: PTH123 - pathlib has many names
            intern(_stream.read())
    except FileNotFoundError:
        pass
