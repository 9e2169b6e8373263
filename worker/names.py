"""Makes the names of a build where their text decides, before a process makes any itself.

A process that counts executes this first, in the folder of its server; `method_cache` says what
for. A name that was made before stays where it is, and so does one of a letter. None are made where
the library does not allocate.
"""

import ctypes
import sys

try:
    with open("names", "rb") as _stream:  # noqa: PTH123 - pathlib has many names
        _names = _stream.read()
    ctypes.PyDLL("./steady.so").steady_intern(
        _names,
        ctypes.c_uint64(len(_names)),
        ctypes.c_uint64(sys.getsizeof("")),
        ctypes.cast(ctypes.pythonapi.PyUnicode_InternFromString, ctypes.c_void_p),
    )
    del _names
except FileNotFoundError:
    pass
