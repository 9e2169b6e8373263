"""Profiles as text, so that the reader and ``callgrind_annotate`` can read them."""

from collections.abc import Iterator

from instruction_counts.engines.callgrind import CallgrindProfile


def to_text(profile: CallgrindProfile) -> str:
    """Every cost stands at line 0 of its function's file; names have numbers after first use.

    Encode the text as UTF-8 with ``surrogateescape``: ``read`` decodes names in that way.
    """
    return "\n".join(_lines(profile))


def _lines(profile: CallgrindProfile) -> Iterator[str]:
    numbers: dict[tuple[str, str], int] = {}

    def spelled(kind: str, name: str) -> str:
        if (kind, name) in numbers:
            return f"({numbers[kind, name]})"
        number = numbers[kind, name] = len(numbers) + 1
        return f"({number}) {name}"

    yield from ("# callgrind format", "version: 1", "positions: line", "events: Ir", "")
    for function in sorted(profile.exclusive.keys() | {caller for caller, _ in profile.calls}):
        yield f"ob={spelled('object', function.object_name)}"
        yield f"fl={spelled('file', function.file)}"
        yield f"fn={spelled('function', function.name)}"
        if function in profile.exclusive:
            yield f"0 {profile.exclusive[function]}"
        for (caller, callee), (calls, instructions) in sorted(profile.calls.items()):
            if caller == function:
                yield f"cob={spelled('object', callee.object_name)}"
                yield f"cfi={spelled('file', callee.file)}"
                yield f"cfn={spelled('function', callee.name)}"
                yield f"calls={calls} 0"
                yield f"0 {instructions}"
    yield from (f"totals: {profile.totals}", "")
