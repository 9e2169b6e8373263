"""``cache``: what is kept between runs."""

from __future__ import annotations

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Group
from instruction_counts.system.cache import Cache


@click.group("cache", cls=Group)
def command() -> None:
    """Show or clear what is kept between runs: compiled C++ cases and precompiled headers."""


@command.command("show")
def show() -> None:
    """Show where the cache is, and what it contains."""
    cache = Cache()
    console.line(str(cache.root), style="bold")
    for usage in cache.usage():
        size = f"{usage.bytes / 2**20:,.0f} MiB"
        entries = "entry  " if usage.entries == 1 else "entries"
        console.line(f"  {usage.kind:<12} {usage.entries:>6,} {entries} {size:>12}")


@command.command("clear")
@click.argument("kind", required=False)
def clear(kind: str | None) -> None:
    """Remove everything, or the entries of one KIND (see `cache show`)."""
    cache = Cache()
    cache.clear(kind)
    console.note(f"Cleared {kind or 'everything'} in {cache.root}")
