"""The options that say where alerts go."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.cli import console
from instruction_counts.cli.file_type import FILE
from instruction_counts.history.watch_state import Alert
from instruction_counts.history.watching import text_of
from instruction_counts.history.webhook import Webhook
from instruction_counts.report.causes import of_case
from instruction_counts.session.watching import AlertReporters

_TOKEN = "INSTRUCTION_COUNTS_TOKEN"  # noqa: S105 - the name of a variable


def alert_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where alerts go; the command gets ``reporters``."""

    @click.option("--alert", type=FILE, help="Append each alert to FILE as a line of JSON.")
    @click.option(
        "--webhook",
        envvar="INSTRUCTION_COUNTS_WEBHOOK",
        show_envvar=True,
        metavar="URL",
        help=f"POST each alert to URL as JSON, with the token in {_TOKEN} if that is set.",
    )
    @wraps(function)
    def wrapper(*args: Any, alert: Path | None, webhook: str | None, **kwargs: Any) -> Any:
        hook = None
        if webhook:
            hook = Webhook(webhook, os.environ.get(_TOKEN, ""), notice=console.note)
        return function(*args, reporters=reporters_to(alert, hook), **kwargs)

    return wrapper


def reporters_to(file: Path | None, webhook: Webhook | None = None) -> AlertReporters:
    """Alerts are shown on the screen, and go to a file and a webhook where these are named."""
    return AlertReporters(_described, _show, console, file, webhook)


def _described(difference: Difference) -> tuple[str, tuple[str, ...]]:
    return difference.key.title, of_case(difference)


def _show(alert: Alert) -> None:
    console.line(text_of(alert))
