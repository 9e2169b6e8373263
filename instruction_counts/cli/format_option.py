"""In which form a command shows what it found: for people, or for programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def format_option(json_holds: str, formats: Sequence[str] = ("json",)) -> Callable[[F], F]:
    """``--format text|json``, which the command gets as ``form``; help says what the JSON holds.

    ``formats`` are those for programs, if there are more.
    """
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", *formats]),
        default="text",
        show_default=True,
        help=f"json: {json_holds}.",
    )
