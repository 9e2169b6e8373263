"""A build seen through links: its paths have the same length wherever it lies.

Paths are in the memory of a process, hundreds of them. A longer one moves what is allocated after
it, and that moves counts of Python cases by up to some percent. So the interpreter is started below
a link to the environment that it belongs to; what else Python searches, such as the checkout of an
editable install, gets links, too. What is reported has the build's own paths.

What still depends on a path: the standard library of the Python that a virtual environment was made
from, where that one lies at another path, too, and what follows links to their ends by itself.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import attrs

from instruction_counts.builds.interpreter import printed
from instruction_counts.domain.build import Build
from instruction_counts.system.folders import WorkFolder

_WHERE = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix, *sys.path]))"
_MOST_LINKS = 100
_EVERYWHERE = ("/usr", "/usr/local")
"""Folders that have the same path on each machine: variables that name them stay as they are."""


Places: TypeAlias = tuple[str, ...]
"""Where an interpreter says that things lie: the environment that it belongs to, the installation
that this was made from (or the same), and what it searches for modules."""


@attrs.frozen
class Links:
    """The links to the parts of a build, as names in a folder, and what they lead to."""

    prefix: str
    """The environment that the interpreter belongs to."""
    interpreter: str
    """Its place there."""
    searched: Mapping[int, str]
    """Places in the search path of Python that lie elsewhere, and what they are."""
    padding: int = 0
    """By how much longer than usual the names are."""

    @property
    def targets(self) -> dict[str, str]:
        """What each link leads to, by its name."""
        searched = {f"path-{place:02}": path for place, path in self.searched.items()}
        named = {"build": self.prefix, **searched}
        return {name + "-" * self.padding: path for name, path in named.items()}

    def make(self, folder: Path) -> None:
        """Make the links in ``folder``, where they are not there."""
        for name, target in self.targets.items():
            if not (folder / name).is_symlink():
                (folder / name).symlink_to(target)

    def search_path(self, folder: Path) -> dict[int, str]:
        """What lies at which place of the search path instead."""
        names = [*self.targets][1:]
        return {place: str(folder / name) for place, name in zip(self.searched, names, strict=True)}

    def linked(self, build: Build, folder: Path) -> Build:
        """``build``, as it is started through the links in ``folder``."""
        prefix = folder / next(iter(self.targets))
        return attrs.evolve(build, python=str(prefix / self.interpreter))

    def through(self, variables: Mapping[str, str], folder: Path) -> dict[str, str]:
        """``variables`` with links in place of the folders that they lead to."""
        links = [
            (target, str(folder / name))
            for name, target in self.targets.items()
            if target not in _EVERYWHERE
        ]

        def through(entry: str) -> str:
            for target, link in links:
                if f"{entry}/".startswith(f"{target}/"):
                    return link + entry.removeprefix(target)
            return entry

        return {
            name: os.pathsep.join(map(through, value.split(os.pathsep)))
            for name, value in variables.items()
        }

    def told(self, text: str, folder: Path) -> str:
        """``text`` with what the links in ``folder`` lead to in their places."""
        for name, target in self.targets.items():
            text = text.replace(str(folder / name), target)
        return text


def links_of(build: Build, interpreter: str, own: Places, padding: int = 0) -> Links | None:
    """The links through which a build starts as it does by itself; None where it does not.

    ``own`` is what ``interpreter`` says without links.
    """
    prefix, base_prefix, *search_path = own
    place = _place_below(prefix, interpreter)
    elsewhere = {
        number: path
        for number, path in enumerate(search_path)
        if Path(path).is_absolute()
        and Path(path).exists()
        and not any(map(Path(path).is_relative_to, (prefix, base_prefix)))
    }
    if place is None or len(elsewhere) > _MOST_LINKS:
        return None
    links = Links(prefix, place, elsewhere, padding)
    with WorkFolder() as folder:
        links.make(folder)
        seen = places_of(links.linked(build, folder)) or ()
        return links if own == tuple(links.told(path, folder) for path in seen) else None


def places_of(build: Build) -> Places | None:
    """What the interpreter of a build says; None where it says nothing."""
    places = printed(build, _WHERE)
    return None if places is None else tuple(places)


def _place_below(prefix: str, interpreter: str) -> str | None:
    """Where in its environment an interpreter lies; links to it are followed until they do."""
    path = Path(interpreter)
    for _ in range(40):  # as many as Linux follows
        if path.is_relative_to(prefix):
            return str(path.relative_to(prefix))
        if not path.is_symlink():
            return None
        path = Path(os.path.normpath(path.parent / path.readlink()))
    return None
