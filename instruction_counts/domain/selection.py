"""Selecting cases: globs over the label path, and the modes."""

import difflib
from collections.abc import Collection, Iterable, Sequence
from fnmatch import fnmatchcase

import attrs

from instruction_counts.core.types import Case, CaseKey, Label
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.shards import Shard


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
    shard: Shard | None = None

    def keeps_key(self, key: CaseKey) -> bool:
        """Whether the case of that key is selected."""
        return (
            (not self.only or any(matches(glob, key.label) for glob in self.only))
            and (not self.languages or key.language.value in self.languages)
            and (not self.runtimes or key.runtime.value in self.runtimes)
            and (not self.autograds or key.autograd.value in self.autograds)
            and (not self.num_threads or key.num_threads in self.num_threads)
            and (self.shard is None or self.shard.keeps(key))
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
    require_matches(selection, cases)
    kept = tuple(case for case in cases if selection.keeps_key(case.key))
    if not kept:
        if selection.shard is not None:
            whole = select(cases, attrs.evolve(selection, shard=None))
            problem = f"Shard {selection.shard} has none of the {len(whole)} selected cases."
            raise UsageError(
                problem, "Use fewer shards, or distribute cases evenly: run --balance FILE.json"
            )
        problem = "No case matches all of these options." if cases else "There are no cases."
        raise UsageError(problem, "See:", "list")
    return kept


def require_matches(
    selection: Selection, cases: Collection[Case | CaseKey], see: str = "list"
) -> None:
    """Refuse a glob that matches none of ``cases``, which the command ``see`` shows.

    Raises:
        UsageError: there is one; the error names labels near it.
    """
    for glob in selection.only:
        if not any(matches(glob, case.label) for case in cases):
            raise UsageError(f"No case matches '{glob}'.{_near(glob, cases)}", "See:", see)


def select_keys(
    known: Collection[CaseKey], selection: Selection, where: str
) -> tuple[CaseKey, ...]:
    """The cases that ``where`` has and the one glob of the selection and its modes leave.

    Raises:
        UsageError: nothing is selected.
    """
    (label,) = selection.only
    # What is a label as it stands is that one, though others differ by case, or it is a glob, too.
    labelled = [key for key in known if key.path == label]
    labelled = labelled or [key for key in known if matches(label, key.label)]
    if not labelled:
        problem = f"no case in {where} matches '{label}'.{_near(label, known)}"
        raise UsageError(problem, "LABEL is a glob over the label path, as for --only.")
    kept = tuple(key for key in labelled if selection.keeps_key(key))
    if not kept:
        problem = f"'{label}' has no case of these modes in {where}; it has\n{_listed(labelled)}"
        raise UsageError(problem, _NARROW)
    return kept


def only_key(keys: Sequence[CaseKey], selection: Selection) -> CaseKey:
    """The only one of ``keys``, which ``selection`` leaves.

    Raises:
        UsageError: there are several.
    """
    if len(keys) > 1:
        problem = f"{len(keys)} cases match '{selection.only[0]}':\n{_listed(keys)}"
        raise UsageError(problem, _NARROW)
    return keys[0]


_NARROW = "Narrow it: a longer LABEL, --language, --runtime, --autograd or --num-threads."
_LISTED = 12


def _listed(keys: Sequence[CaseKey]) -> str:
    more = ["  …"] if len(keys) > _LISTED else []
    return "\n".join([*(f"  {key.title}" for key in keys[:_LISTED]), *more])


def _near(glob: str, cases: Iterable[Case | CaseKey]) -> str:
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
