"""``servers`` and ``cache``: what is kept on this machine for the next command, and its end."""

import contextlib
import textwrap

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Group
from instruction_counts.engines.warm.channel import KEEP_VARIABLE
from instruction_counts.engines.warm.client import holders, told
from instruction_counts.report.format import duration, size
from instruction_counts.system.cache import Cache


@click.group("servers", cls=Group)
def servers_command() -> None:
    """List or stop the servers that stay ready for the next command."""


@servers_command.command("list")
def list_servers() -> None:
    """List them: build, torch, what is ready, age, idle time, memory."""
    found = holders()
    for _, holder in found:
        ready = ", ".join(holder["servers"]) or "no server yet"
        idle = f"idle {duration(holder['idle_s'])}" if holder["idle_s"] else "in use"
        console.line(f"{holder['build']}  {holder['interpreter']}", style="bold")
        age = duration(holder["age_s"])
        memory = size(holder["memory_bytes"])
        console.line(f"  torch {holder['torch']} · started {age} ago, {idle} · {memory}")
        console.line(textwrap.fill(ready, 78, initial_indent="  ", subsequent_indent="  "))
    if not found:
        console.note(f"No servers are ready ({KEEP_VARIABLE} sets how long they stay).")


@servers_command.command("stop")
def stop_servers() -> None:
    """Stop them all; servers in use end with the command that uses them."""
    found = holders()
    for place, _ in found:
        with contextlib.suppress(OSError):
            told(place, "retire")
    in_use = sum(not holder["idle_s"] for _, holder in found)
    later = f"; {in_use} when the command that uses it ends" if in_use else ""
    console.note(f"Stopped {len(found) - in_use}{later}.")


@click.group("cache", cls=Group)
def cache_command() -> None:
    """Show or clear what is kept between runs: compiled C++, precompiled headers, environments."""


@cache_command.command("show")
def show() -> None:
    """Show where the cache is, and what it contains."""
    cache = Cache()
    console.line(str(cache.root), style="bold")
    for kind, sizes in cache.sizes().items():
        total = f"{sum(sizes) / 2**20:,.0f} MiB"
        entries = "entry  " if len(sizes) == 1 else "entries"
        console.line(f"  {kind:<12} {len(sizes):>6,} {entries} {total:>12}")


@cache_command.command("clear")
def clear() -> None:
    """Remove all entries."""
    cache = Cache()
    cache.clear()
    console.note(f"Removed all entries of {cache.root}")
