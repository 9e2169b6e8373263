"""Selecting cases: globs over the label path, and the modes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import attrs

from core.types import Case, CaseKey, Label
from instruction_counts.domain.errors import UsageError


@attrs.frozen
class Selection:
    """What to keep; an empty field keeps everything.

    ``only`` holds globs over ``Pointwise/Math/add``; a glob that matches a node of the label tree
    takes everything below it. Case does not matter.
    """

    only: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    runtimes: tuple[str, ...] = ()
    autograds: tuple[str, ...] = ()
    num_threads: tuple[int, ...] = ()

    def keeps(self, case: Case) -> bool:
        """Whether ``case`` is selected."""
        return self.keeps_key(case.key)

    def keeps_key(self, key: CaseKey) -> bool:
        """The same for a case that is known by its label, its modes and its number of threads."""
        return (
            (not self.only or any(matches(glob, key.label) for glob in self.only))
            and (not self.languages or key.language.value in self.languages)
            and (not self.runtimes or key.runtime.value in self.runtimes)
            and (not self.autograds or key.autograd.value in self.autograds)
            and (not self.num_threads or key.num_threads in self.num_threads)
        )


def matches(glob: str, label: Label) -> bool:
    """Whether ``glob`` matches the label, or a node above it."""
    pattern = glob.lower().strip("/")
    nodes = ["/".join(label[: depth + 1]).lower() for depth in range(len(label))]
    # Labels may hold brackets, which a glob reads as a set of characters.
    return any(node == pattern or fnmatchcase(node, pattern) for node in nodes)


def select(cases: Sequence[Case], selection: Selection) -> tuple[Case, ...]:
    """The selected cases, in their order.

    Raises:
        UsageError: nothing is selected; the error names labels near what was asked for.
    """
    for glob in selection.only:
        if not any(matches(glob, case.label) for case in cases):
            raise UsageError(f"No case matches --only '{glob}'.{_near(glob, cases)}", "See: list")
    kept = tuple(case for case in cases if selection.keeps(case))
    if not kept:
        asked = ", ".join(
            f"--{name.removesuffix('s').replace('num_thread', 'num-threads')} {value or 'explicit'}"
            for name, values in attrs.asdict(selection).items()
            for value in values
        )
        raise UsageError(f"No case matches {asked or 'anything'} together.", "See: list")
    return kept


def _near(glob: str, cases: Iterable[Case]) -> str:
    nodes: dict[str, str] = {}
    for case in cases:
        for depth, name in enumerate(case.label, 1):
            path = "/".join(case.label[:depth])
            nodes.setdefault(path.lower(), path)
            nodes.setdefault(name.lower(), path)
    asked = [glob.lower(), *glob.lower().replace("*", "").strip("/").split("/")]
    near = [
        nodes[found]
        for part in asked
        for found in difflib.get_close_matches(part, nodes, n=2, cutoff=0.7)
    ]
    return f" Near: {', '.join(dict.fromkeys(near))}." if near else ""
