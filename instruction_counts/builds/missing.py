"""What a build lacks for measuring, and how to get it."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from instruction_counts.builds.probing import BuildFacts


@attrs.frozen
class Lack:
    """Something that is not there: what then cannot be done, and the remedy."""

    what: str
    remedy: str
    prevents: str
    """``counts`` or ``c++``."""

    def __str__(self) -> str:
        return f"{self.what}\n  {self.remedy}"


def missing(facts: BuildFacts) -> Iterator[Lack]:
    """What ``facts`` lack."""
    name = facts.build.name
    if not facts.can_count:
        yield Lack(
            f'build "{name}": no valgrind on this machine, so instructions cannot be counted.',
            "apt-get install valgrind     or measure times only:  --no-counts",
            "counts",
        )
    if not facts.compiler:
        yield Lack(
            f'build "{name}": no C++ compiler, so C++ cases cannot be measured.',
            "apt-get install g++     or leave them out:  --language python",
            "c++",
        )
    elif not facts.has_cpp_headers:
        yield Lack(
            f'build "{name}": this torch has no C++ headers, so C++ cases cannot be measured.',
            "Install them (Debian: apt-get install libtorch-dev)"
            "     or leave them out:  --language python",
            "c++",
        )
