"""Where a specification says that cases run, and where results go."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from instruction_counts.builds.configured import find_interpreter
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.reading.positions import (
    Misfit,
    Mistakes,
    Node,
    fields,
    flag,
    items,
    mapping,
    one_of,
    text,
)
from instruction_counts.sources.specification.values import Endpoint, Reporters
from instruction_counts.system.loopback import is_loopback

_KINDS = ("screen", "directory", "database", "http")


def builds(folder: Path, mistakes: Mistakes, node: Node) -> tuple[Build, ...]:
    """The builds that cases run on; interpreters are named from ``folder``."""
    found: dict[str, Build] = {}
    for one in items(node):
        build = mistakes.attempt(_build, folder, one)
        if build is None:
            continue
        if build.name in found:
            again = f'"{build.name}" several times'
            mistakes.note(Misfit(one, "a name of its own for each build", again))
        found[build.name] = build
    return tuple(found.values())


def _build(folder: Path, node: Node) -> Build:
    parts = fields(node, ("name",), ("python", "source_cmd", "env"))
    name = text(parts["name"])
    source_cmd = text(parts["source_cmd"]) if "source_cmd" in parts else None
    env = {key: _variable(key, one) for key, one in _mapping(parts, "env").items()}
    if "python" not in parts:
        if source_cmd is None:
            raise Misfit(node, "python, or source_cmd that puts one on PATH", "neither")
        return Build(name, None, source_cmd, env)
    return Build(name, _interpreter(folder, name, parts["python"]), source_cmd, env)


def _interpreter(folder: Path, name: str, node: Node) -> str:
    path, whole = text(node), placed(folder, node)
    try:
        # A bare word is a command; all else is a path from the specification.
        is_command = "/" not in path and not whole.exists()
        return find_interpreter(name, path if is_command else str(whole))
    except (UsageError, OSError) as error:
        expected = "the path of an interpreter or of a virtual environment"
        raise Misfit(node, expected) from error


def placed(folder: Path, node: Node) -> Path:
    """The path that a text names: from ``folder``, or from a home folder that begins with ~."""
    path = Path(text(node))
    if "\0" in str(path):
        raise Misfit(node, "a path, which has no null character")
    try:
        return folder / path.expanduser()
    except RuntimeError:
        raise Misfit(node, "a path: there is no such home folder") from None


def _mapping(parts: Mapping[str, Node], name: str) -> Mapping[str, Node]:
    return mapping(parts[name]) if name in parts else {}


def _variable(name: str, node: Node) -> str:
    if not isinstance(node.value, str) or not name or "=" in name or "\0" in name + node.value:
        raise Misfit(node, "text; numbers in quotes")
    return node.value


def reporters(folder: Path, mistakes: Mistakes, node: Node) -> Reporters:
    """Where results go; files and folders are named from ``folder``."""
    parts: dict[str, Any] = {"screen": False, "directories": (), "database": None, "endpoints": ()}
    for one in items(node):
        add = functools.partial(_add, folder, parts)
        mistakes.attempt(add, one)
    return Reporters(**parts)


def _add(folder: Path, parts: dict[str, Any], node: Node) -> None:
    kind, below = _kind(node)
    if kind == "screen":
        parts["screen"] = below is node or flag(below)
    elif kind == "directory":
        parts["directories"] += (placed(folder, below),)
    elif kind == "database":
        if parts["database"] is not None:
            raise Misfit(below, "one database, since a run is in one")
        where = text(below)
        parts["database"] = where if "://" in where else str(placed(folder, below))
    else:
        parts["endpoints"] += (_endpoint(below),)


def _kind(node: Node) -> tuple[str, Node]:
    if node.value == "screen":
        return "screen", node
    if isinstance(node.value, str):
        raise Misfit(node, one_of(_KINDS, node.value), f'a reporter "{node.value}"')
    found = mapping(node)
    if len(found) != 1:
        raise Misfit(node, "one reporter an item", ", ".join(found) or "none")
    ((kind, below),) = found.items()
    if kind not in _KINDS:
        raise Misfit(below, one_of(_KINDS, kind), f'a reporter "{kind}"')
    return kind, below


def _endpoint(node: Node) -> Endpoint:
    parts = fields(node, ("url",), ("token_env",))
    url = text(parts["url"])
    try:
        split = urlsplit(url)
        host = split.hostname or ""
        _ = split.port
    except ValueError:
        raise Misfit(parts["url"], "a URL") from None
    if split.username or split.password:
        expected = "a URL without a password; a token is in the environment: token_env"
        raise Misfit(parts["url"], expected, "one with a password")
    if not host or split.scheme not in {"https", "http"}:
        raise Misfit(parts["url"], "a URL that begins with https://")
    if split.scheme == "http" and not is_loopback(host):
        raise Misfit(parts["url"], "https://: results and token would be readable on their way")
    token_env = text(parts["token_env"]) if "token_env" in parts else ""
    if token_env and not token_env.isidentifier():
        raise Misfit(parts["token_env"], "the name of a variable of the environment")
    return Endpoint(url, token_env)
