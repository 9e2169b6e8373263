"""The bytes of a file, unpacked where they are compressed, and no more of them than are wanted."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from instruction_counts.domain.errors import DataError

_CHUNK = 1 << 20


def read_bytes(path: Path, most: int) -> bytearray:
    """What a file holds, unpacked if it is called ``.gz``; the first ``most`` bytes at most.

    A pipe or a device may have no end, and a few bytes can unpack to more than any memory holds.

    Raises:
        DataError: it cannot be read, or unpacked.
    """
    found = bytearray()
    try:
        with gzip.open(path) if is_compressed(path) else path.open("rb") as stream:
            while len(found) < most and (part := stream.read(min(_CHUNK, most - len(found)))):
                found += part
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be unpacked: {error}",
            "It is damaged, incomplete, or no gzip file: copy it again, or measure again.",
        ) from error
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    return found


def is_compressed(path: Path) -> bool:
    """Whether a file is read as gzip's."""
    return path.suffix.lower() == ".gz"
