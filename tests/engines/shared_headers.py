"""Precompiled headers of torch, made once for all tests: each takes a good part of a minute."""

from pathlib import Path

from instruction_counts.engines.cpp.compiler import HEADERS
from instruction_counts.system.cache import Cache


def cache_with_shared_headers(folder: Path) -> Cache:
    """A cache of its own in an empty ``folder``, whose precompiled headers other tests use, too."""
    cache, shared = Cache(folder), Cache().root / HEADERS
    shared.mkdir(mode=0o700, exist_ok=True)
    (cache.root / HEADERS).symlink_to(shared)
    return cache
