"""What a build does not have that measuring needs, and how to get it."""

import re
from collections.abc import Iterator
from pathlib import Path

import attrs

from instruction_counts.builds.compilers import printed
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.runtimes import runtime_of
from instruction_counts.core.types import AutogradMode, Case, Language
from instruction_counts.domain.work import WorkOrder

DEBUG_FILES = Path("/usr/lib/debug/.build-id")
"""Where Valgrind looks for the symbols of a stripped file, by the identity that the linker gave it
(coregrind/m_debuginfo/readelf.c, find_debug_file)."""


@attrs.frozen
class MissingRequirement:
    """Something that is not there: what then cannot be done, and the remedy."""

    what: str
    remedy: str
    is_for_cpp: bool
    """Whether C++ cases need it; else all counts do."""

    def affects(self, order: WorkOrder) -> bool:
        """Whether the order asks for what cannot be done."""
        if not self.is_for_cpp:
            return order.counts
        return order.case.autolabels.language is Language.CPP and not order.refusal

    def reduced(self, order: WorkOrder) -> WorkOrder:
        """What is left of an order that this affects: its times alone, or nothing."""
        if not self.is_for_cpp and order.times:
            return attrs.evolve(order, counts=False)
        return attrs.evolve(order, refusal=self.what)


def runtime_refusal(facts: BuildFacts, case: Case) -> str:
    """Why a build cannot run a case in its runtime; empty where it can."""
    runtime = runtime_of(case.autolabels.runtime)
    named = f'the runtime "{runtime.mode.option}"'
    if absent := sorted(name for name in runtime.needs if not facts.has.get(name, True)):
        lacks = f"this torch has no {' and no '.join(absent)}"
        return f'build "{facts.build.name}": {lacks}, which {named} needs'
    is_backward = case.autolabels.autograd is AutogradMode.FORWARD_BACKWARD
    return f"{named} has no backward pass" if is_backward and not runtime.has_backward else ""


def missing(facts: BuildFacts) -> Iterator[MissingRequirement]:
    """What a build lacks."""
    name = facts.build.name
    if not facts.can_count:
        yield MissingRequirement(
            f'build "{name}": Valgrind is not installed, so instructions cannot be counted.',
            "apt-get install valgrind     or measure only times:  --no-counts",
            is_for_cpp=False,
        )
    if not facts.compiler.path:
        asked, remedy = "", "apt-get install g++"
        if named := facts.compiler.missing:
            asked = f' "{named}"'
            remedy = "Name another with --compiler or CXX, without options: /usr/bin/g++"
        yield MissingRequirement(
            f'build "{name}": no C++ compiler{asked} found, so C++ cases cannot be measured.',
            f"{remedy}     or skip them:  --language python",
            is_for_cpp=True,
        )
    elif not facts.has_cpp_headers:
        yield MissingRequirement(
            f'build "{name}": this torch has no C++ headers, so C++ cases cannot be measured.',
            "Install them (Debian: apt-get install libtorch-dev)"
            "     or skip them:  --language python",
            is_for_cpp=True,
        )


def advice_on_names(interpreter: str, debug_files: Path = DEBUG_FILES) -> str:
    """What gives the interpreter's functions their names; empty where they have them.

    It is empty, too, where that cannot be found out: without ``readelf``, which comes with the
    compiler.
    """
    file = _file_of(Path(interpreter).resolve())
    known = printed(["readelf", "--sections", "--notes", "--wide", str(file)])
    if not known or " .symtab " in known:
        return ""
    found = re.search(r"Build ID: ([0-9a-f]{2})([0-9a-f]+)", known)
    if found and (debug_files / found[1] / f"{found[2]}.debug").exists():
        return ""
    version = re.search(r"python(3\.[0-9]+)", file.name)
    is_of_the_system = file.is_relative_to("/usr") and not file.is_relative_to("/usr/local")
    remedy = (
        f"apt-get install python{version[1]}-dbg names them (Debian)"
        if version and is_of_the_system
        else "--build with an interpreter that was not stripped names them"
    )
    return f"most functions of {file} have no names in explain: {remedy}"


def _file_of(program: Path) -> Path:
    """The file with the interpreter's code: the program, or a library that it needs."""
    found = re.search(r"libpython\S+ => (/\S+)", printed(["ldd", str(program)]))
    return Path(found[1]).resolve() if found else program
