"""``baseline``: a committed file of what cases cost, and checks against it."""

from __future__ import annotations

import click

from instruction_counts.cli.baseline import accept, check, lint, show
from instruction_counts.cli.help import Group


@click.group("baseline", cls=Group)
def command() -> None:
    """Accept, show and check a baseline: the counts of cases, in a file that is committed.

    \b
    Examples:
      python main.py run && python main.py baseline accept 12 --output baseline.json
      python main.py baseline check baseline.json --limits limits.yaml
      python main.py baseline lint baseline.json --limits limits.yaml
    """  # noqa: D301 - \b keeps click from reflowing the examples


for _module in (accept, show, check, lint):
    command.add_command(_module.command)
