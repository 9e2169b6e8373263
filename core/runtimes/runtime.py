"""What a runtime says: the text that it makes of a group, language by language."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

from instruction_counts.core.labels import Language, RuntimeMode

if TYPE_CHECKING:  # which is made of runtimes
    from instruction_counts.core.api import GroupedBenchmark


Grouped: TypeAlias = "GroupedBenchmark"
"""A group of benchmarks as a runtime sees it."""

ARTEFACT_PATH = "@ARTEFACT_PATH@"
"""Stands in a setup for the file of the artefact, which the worker makes.

The text is part of what identifies the code of a case.
"""


@attrs.frozen
class Artefact:
    """What only a build of torch can make: made once per build, loaded by the setups of cases."""

    suffix: str
    """Of its file: ``.pt2``."""
    saving: str
    """Python that follows the source of an artefact, and defines ``save(path)``."""
    is_kept: bool = False
    """Whether the file stays in the cache: it takes long to make."""


@attrs.frozen
class Runtime:
    """An entry, and the eager runtime: it executes the statement as it is written.

    Nothing here is executed: everything returns text. An artefact travels as source, which the
    worker runs in the build, and as `ARTEFACT_PATH` where a setup loads the file that it saves.
    """

    mode: RuntimeMode
    languages: tuple[Language, ...] = tuple(Language)
    needs: tuple[str, ...] = ()
    """What torch must have, such as ``torch.compile``; a build without it skips the cases."""
    artefact: Artefact | None = None
    has_resources: bool = True
    """Whether its operators are seen one by one, which measuring memory and operations requires."""
    prepared_by: str = ""
    """The module of the worker that gets servers of their own ready for its cases, if any does."""
    imports: tuple[str, ...] = ("torch",)
    """What its cases find imported; if more than torch, they have servers of their own."""
    has_backward: bool = True
    """Whether its output can be differentiated; if not, such cases are skipped."""
    repeats: bool = True
    """Whether fresh processes give the same counts; if not, no count is called exact."""

    @property
    def has_own_servers(self) -> bool:
        """Whether its cases are counted in servers that no other cases have."""
        return bool(self.prepared_by) or len(self.imports) > 1

    def stmt(self, group: Grouped, language: Language) -> str:
        """The forward statement, in a language in which the group has one."""
        return group.stmt(language) or ""

    def setup(self, group: Grouped, language: Language) -> str:
        """What follows the setup of the inputs: what the statement calls is made or loaded."""
        return group.model(language) or ""

    def global_setup(self) -> str:
        """What a C++ file needs at its top."""
        return ""

    def artefact_source(self, group: Grouped) -> str | None:
        """Python that makes the artefact; None where the runtime has none."""
        del group
        return None

    def tensor(self, output: str, language: Language) -> str:
        """The tensor that ``output``, as the statement leaves it, holds."""
        del language
        return output
