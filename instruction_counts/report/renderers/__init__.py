"""The renderers of documents: one module each, found by name or by the suffix of a file.

A renderer from outside is an entry for `register`: nothing else has to know of it.
"""

import importlib
from collections.abc import Callable, Collection, Iterable
from typing import TypeAlias

import attrs

from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.registry import Registry
from instruction_counts.report.document import Document

Content: TypeAlias = str | Iterable[str]
"""The text of a file; parts where the whole may not fit into memory."""


@attrs.frozen
class Renderer:
    """A form of documents."""

    name: str
    """What ``--format`` calls it."""
    suffixes: tuple[str, ...]
    """Ends of the names of its files; each can be followed by ``.gz``."""
    render: Callable[[Document], Content]
    needs: str = ""
    """The field of a document without which there is nothing to render: ``tests``."""
    shows: str = ""
    """An optional field that it shows where it is there."""


def renderers(having: Collection[str] = ()) -> tuple[Renderer, ...]:
    """Those for documents ``having`` the optional fields of these names."""
    return tuple(known for known in _RENDERERS.values() if known.needs in {"", *having})


def renderer_of(file: str, having: Collection[str] = ()) -> Renderer | None:
    """The renderer that the name of a file asks for; None where none of ``having`` does."""
    plain = file.removesuffix(".gz")
    suffixes = {suffix: known for known in renderers(having) for suffix in known.suffixes}
    fitting = (end for end in suffixes if plain.endswith(end) and plain != end)
    return suffixes.get(max(fitting, key=len, default=""))


def renderer_for(file: str, having: Collection[str] = (), named: str = "") -> Renderer:
    """The renderer that the name of a file asks for; ``named`` is how the user wrote it.

    Raises:
        UsageError: there is none.
    """
    found = renderer_of(file, having)
    if found is None:
        known = ", ".join(end for entry in renderers(having) for end in entry.suffixes)
        raise UsageError(f"{named or file}: unknown format", f"End the name in {known}.")
    return found


def _in(module: str, function: str = "render") -> Callable[[Document], Content]:
    """A function of a module of this package, which is imported when something is rendered."""

    def render(document: Document) -> Content:
        found = getattr(importlib.import_module(f"{__name__}.{module}"), function)
        content: Content = found(document)
        return content

    return render


_RENDERERS = Registry(
    "format",
    Renderer("text", (".txt",), _in("terminal")),
    Renderer("markdown", (".md",), _in("markdown")),
    Renderer("html", (".html",), _in("html"), shows="profiles"),
    Renderer("json", (".json",), _in("json")),
    Renderer("csv", (".csv",), _in("csv")),
    Renderer("junit", (".xml",), _in("junit"), needs="tests"),
    Renderer("speedscope", (".speedscope.json",), _in("json", "render_profiles"), needs="profiles"),
)
register, renderer_named = _RENDERERS.register, _RENDERERS.named
