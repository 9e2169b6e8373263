"""What a runtime says: the text that it makes of a group, language by language."""

from __future__ import annotations

from typing import Protocol

import attrs

from core.labels import Language, RuntimeMode
from core.signature import Signature


class Grouped(Protocol):
    """A group of benchmarks as a runtime sees it; `core.api.GroupedBenchmark` is one."""

    @property
    def signature(self) -> Signature | None:
        """The inputs and the output; known wherever a runtime beside eager is asked for."""

    @property
    def runtimes(self) -> tuple[str, ...]:
        """The runtimes that are asked for beside eager, as options spell them."""

    def stmt(self, language: Language) -> str | None:
        """The eager statement; None where the language has none."""

    def inputs(self, language: Language) -> str:
        """The setup that makes the inputs."""

    def model(self, language: Language) -> str | None:
        """The setup that makes ``model``, where the statement calls one."""


@attrs.frozen
class Runtime:
    """An entry, and the eager runtime: it executes the statement as it is written.

    Nothing here is executed: everything returns text. What only a build of torch can make travels
    as source (`artefact`), which the worker runs, and as a placeholder for the file that it saves.
    """

    mode: RuntimeMode
    languages: tuple[Language, ...] = tuple(Language)
    needs: tuple[str, ...] = ()
    """What torch must have, such as ``torch.compile``; a build without it skips the cases."""
    has_resources: bool = True
    """Whether its operators are seen one by one, which measuring memory and operations requires."""

    def stmt(self, group: Grouped, language: Language) -> str | None:
        """The forward statement; None where the group has none in this language."""
        return group.stmt(language)

    def setup(self, group: Grouped, language: Language) -> str:
        """What follows the setup of the inputs: what the statement calls is made or loaded."""
        return group.model(language) or ""

    def global_setup(self) -> str:
        """What a C++ file needs at its top."""
        return ""

    def artefact(self, group: Grouped) -> str | None:
        """Python source that defines ``jit_model``, which the worker saves; None: there is none."""
        del group
        return None

    def tensor(self, output: str, language: Language) -> str:
        """The tensor that ``output``, as the statement leaves it, holds."""
        del language
        return output
