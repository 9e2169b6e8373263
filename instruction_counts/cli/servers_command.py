"""``servers``: what stays ready for the next command, and how to end it."""

from __future__ import annotations

import contextlib

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Group
from instruction_counts.engines.warm.channel import KEEP_VARIABLE
from instruction_counts.engines.warm.client import holders, told
from instruction_counts.report.format import duration, size


@click.group("servers", cls=Group)
def servers_command() -> None:
    """List or stop the servers that stay ready for the next command."""


@servers_command.command("list")
def list_servers() -> None:
    """List them: build, torch, what is ready, age, idle time, memory."""
    found = holders()
    for _, holder in found:
        ready = ", ".join(holder["servers"]) or "starting"
        idle = f"idle {duration(holder['idle_s'])}" if holder["idle_s"] else "in use"
        console.line(f"{holder['build']}  {holder['interpreter']}", style="bold")
        age = duration(holder["age_s"])
        memory = size(holder["memory_bytes"])
        console.line(f"  torch {holder['torch']} · {ready} · started {age} ago, {idle} · {memory}")
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
