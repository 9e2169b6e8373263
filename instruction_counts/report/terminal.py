"""The console that reports are shown on."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from instruction_counts.report.visible import visible


class TerminalConsole(Console):
    """A console that obeys nothing that stands in a label, a message or a name."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """What is written: control characters of the texts are made visible, rich's own stay."""
        for segment in super().render(renderable, options):
            text = visible(segment.text)
            if segment.control or text == segment.text:
                yield segment
            else:
                yield Segment(text, segment.style)
