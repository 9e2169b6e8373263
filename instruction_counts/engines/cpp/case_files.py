"""The files of a case that is compiled, and whether those in the cache are still current."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

import attrs

from instruction_counts.engines.cpp.source import CppSource, Prelude, translation_unit


def write_parts(source: CppSource, folder: Path) -> None:
    """Write what is compiled."""
    # The compiler quotes the user's lines in its messages from files of these names.
    parts = {**attrs.asdict(source), "case.cpp": translation_unit(source)}
    for name, text in parts.items():
        (folder / name).write_text(text, encoding="utf-8")


def keep_only_results(folder: Path, prelude: Prelude, included: Mapping[str, str]) -> None:
    """Remove what only compiling needed, and note what the result depends on."""
    for path in folder.iterdir():
        if path.name not in {"case.so", "case.cpp", "prelude.hpp"}:
            path.unlink()
    about = {"prelude": prelude.name, "included": dict(included)}
    (folder / "about.json").write_text(json.dumps(about), encoding="utf-8")
    seal(folder / "case.so")


def seal(library: Path) -> None:
    """Note what ``library`` holds: one that was cut would end every process that loads it."""
    library.with_suffix(".sha256").write_text(_digest_of(library), encoding="ascii")


def is_whole(library: Path) -> bool:
    """Whether ``library`` holds what it did when it was sealed."""
    try:
        return library.with_suffix(".sha256").read_text(encoding="ascii") == _digest_of(library)
    except (OSError, ValueError):
        return False


def included_files(dependencies: Path, cache_root: Path) -> dict[str, str]:
    """The user's own headers that a case included, with their digests.

    They are found by no key, since only compiling tells them: an entry is current as long as they
    are what they were. Torch's and the system's are left out.
    """
    rule = dependencies.read_text(encoding="utf-8").split(":", 1)[1].replace("\\\n", " ")
    names = (re.sub(r"\\([ #])", r"\1", name) for name in re.findall(r"(?:\\[ #]|\S)+", rule))
    paths = (Path(name.replace("$$", "$")) for name in names)
    own = (path for path in paths if path.is_absolute() and cache_root not in path.parents)
    return {str(path): _digest_of(path) for path in own}


def is_current(entry: Path) -> bool:
    """Whether ``entry`` is whole, and the user's own headers are what it was compiled with."""
    try:
        about = json.loads((entry / "about.json").read_text(encoding="utf-8"))
        unchanged = (_digest_of(Path(path)) == was for path, was in about["included"].items())
        return all(unchanged) and is_whole(entry / "case.so")
    except (OSError, ValueError, KeyError, AttributeError):
        return False  # a damaged entry is made again


def _digest_of(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "gone"
