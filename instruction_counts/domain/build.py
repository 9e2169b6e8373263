"""A build under test, and its fingerprint: what of it can change a count."""

import sys
from collections.abc import Mapping
from typing import Any

import attrs

DEFAULT_NAME = "default"


@attrs.frozen
class Build:
    """One build of torch, as its user names it.

    ``python`` is the interpreter. Where it is None, it is that of an environment which is made of
    ``lock``, the text of a lock file; where that is empty, the ``python`` that ``source_cmd`` puts
    first on PATH. ``env`` is added to the hermetic environment, and wins over it. ``compiler`` is
    what compiles its C++ cases: ``clang``, ``g++`` or a path; empty for the usual one.
    """

    name: str
    python: str | None = None
    source_cmd: str | None = None
    env: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    compiler: str = ""
    lock: str = ""


def default_build() -> Build:
    """The interpreter that runs this program."""
    return Build(DEFAULT_NAME, sys.executable)


@attrs.frozen
class Fingerprint:
    """All that may change a count without any change of the code that is measured.

    Texts are empty where the thing is absent. ``capability`` is the instruction set that torch
    dispatches to natively, ``counted_capability`` the one under Valgrind, which has no AVX-512.
    ``counted_by`` is a digest of all of this program that a counting process executes. ``caches``
    says whether the caches of the interpreter were held still: ``held``, or ``not held``.
    ``stand_ins`` names what took the place of CUDA's libraries, where a server had that. ``gpu`` is
    what runs cases on CUDA for their times; counts do not depend on it. ``environment`` has the
    variables of `Build.env`, with digests of their values, which can be secret.
    """

    torch: str
    torch_git: str
    torch_debug: bool
    torch_settings: str
    cxx11_abi: bool
    parallel: str
    capability: str
    python: str
    implementation: str
    machine: str
    cpu: str
    libc: str
    valgrind: str
    compiler: str
    aslr_off: bool
    profile_version: int
    tool_version: str
    allocator: str = "system"
    pinned_isa: str = ""
    counted_capability: str = ""
    counted_by: str = ""
    caches: str = ""
    stand_ins: str = ""
    gpu: str = ""
    environment: str = ""


KNOWN_LATER = ("counted_capability", "caches", "stand_ins")
"""What is known only while a server runs; empty of a run that was interrupted before."""


def completed(first: Fingerprint, *others: Fingerprint) -> Fingerprint:
    """``first``, with what is known only while a server runs from whichever of them knows it."""
    known: dict[str, Any] = {
        name: next(filter(None, (getattr(each, name) for each in (first, *others))), "")
        for name in KNOWN_LATER
    }
    return attrs.evolve(first, **known)


def known_at_first(fingerprint: Fingerprint) -> Fingerprint:
    """As it is before a server runs."""
    nothing: dict[str, Any] = dict.fromkeys(KNOWN_LATER, "")
    return attrs.evolve(fingerprint, **nothing)
