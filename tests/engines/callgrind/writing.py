"""Writing profiles so that ``callgrind_annotate`` and KCachegrind can read them."""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

import attrs

from instruction_counts.engines.callgrind.profiles import CallgrindProfile


def to_text(profile: CallgrindProfile) -> str:
    """Write a profile so that ``parse``, ``callgrind_annotate`` and KCachegrind can read it.

    Positions are not known any more: every cost stands at line 0 of its function's file.
    Encode the text as UTF-8 with ``surrogateescape``: ``read`` decodes names in that way.
    """
    return "\n".join([*_header_lines(profile), *_body_lines(profile), ""])


def _header_lines(profile: CallgrindProfile) -> Iterator[str]:
    yield "# callgrind format"
    yield "version: 1"
    if profile.creator:
        yield f"creator: {profile.creator}"
    if profile.command:
        yield f"cmd: {profile.command}"
    for name, text in profile.descriptions:
        yield f"desc: {name}: {text}"
    yield "positions: line"
    yield "events: Ir"
    yield f"summary: {profile.totals}"
    yield ""


def _body_lines(profile: CallgrindProfile) -> Iterator[str]:
    objects, files, names = _Numbers(), _Numbers(), _Numbers()
    calls = {caller: tuple(group) for caller, group in groupby(profile.calls, attrgetter("caller"))}
    for function in sorted(profile.exclusive.keys() | calls.keys()):
        yield f"ob={objects.spell(function.object_name)}"
        yield f"fl={files.spell(function.file)}"
        yield f"fn={names.spell(function.name)}"
        if function in profile.exclusive:
            yield f"0 {profile.exclusive[function]}"
        for call in calls.get(function, ()):
            yield f"cob={objects.spell(call.callee.object_name)}"
            yield f"cfi={files.spell(call.callee.file)}"
            yield f"cfn={names.spell(call.callee.name)}"
            yield f"calls={call.calls} 0"
            yield f"0 {call.instructions}"
        yield ""
    yield f"totals: {profile.totals}"


@attrs.define
class _Numbers:
    """Numbers for names, so that each is written out once."""

    given: dict[str, int] = attrs.Factory(dict)

    def spell(self, name: str) -> str:
        """Give the number of a name, with the name at its first use."""
        number = self.given.get(name)
        if number is not None:
            return f"({number})"
        number = self.given[name] = len(self.given) + 1
        return f"({number}) {name}"
