"""In which form a command shows what it found: for people, or for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def format_option(json_holds: str) -> Callable[[F], F]:
    """``--format text|json``, which the command gets as ``form``; help says what the JSON holds."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help=f"json: {json_holds}.",
    )
