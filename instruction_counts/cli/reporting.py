"""Where a specification sends the results of a run, beside the database."""

from __future__ import annotations

import datetime as dt
import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs

from instruction_counts.cli import console
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import Complete, Run, as_it_is
from instruction_counts.history.webhook import Webhook
from instruction_counts.storage.json_files import to_json

if TYPE_CHECKING:
    from instruction_counts.sources.specification.values import Endpoint, Specification


@attrs.frozen
class Reporting:
    """What becomes of a run: without a specification a table on the screen."""

    screen: bool = True
    files: tuple[Path, ...] = ()
    """They are written as results come."""
    webhooks: tuple[Webhook, ...] = ()

    @classmethod
    def of(
        cls, specification: Specification | None, environment: Mapping[str, str] = os.environ
    ) -> Reporting:
        """What a specification asks for; its folders are made.

        Raises:
            UsageError: a folder cannot be made, or a token is not in the environment.
        """
        if specification is None:
            return cls()
        asked = specification.reporters
        webhooks = tuple(_webhook(endpoint, environment) for endpoint in asked.endpoints)
        name = _file_name(specification.name)
        return cls(
            asked.screen,
            tuple(_made(directory) / name for directory in asked.directories),
            webhooks,
        )

    def send(self, run: Run, complete: Complete = as_it_is, *, interrupted: bool = False) -> bool:
        """Send the run to every URL; whether all of them took it. The console shows which did not.

        An interrupted run is not sent: nothing in it says that cases are missing. ``complete``
        gives its records with their details.
        """
        if not self.webhooks:
            return True
        if interrupted:
            hosts = ", ".join(_host(webhook.url) for webhook in self.webhooks)
            console.error(f"Not sent to {hosts}: the run was interrupted.")
            return True
        try:
            body = to_json(run, complete)
        except DataError as error:
            console.failure(error)
            return False
        key = hashlib.sha256(body.encode()).hexdigest()[:32]
        done = [self._sent(webhook, key, body) for webhook in self.webhooks]
        return all(done)

    @staticmethod
    def _sent(webhook: Webhook, key: str, body: str) -> bool:
        try:
            webhook.send(key, body)
        except DataError as error:
            console.failure(error)
            return False
        console.line(f"Sent to {_host(webhook.url)}")
        return True


def _webhook(endpoint: Endpoint, environment: Mapping[str, str]) -> Webhook:
    name = endpoint.token_env
    if name and not environment.get(name):
        raise UsageError(
            f"the token for {_host(endpoint.url)} is not in the environment", f"Set {name}."
        )
    return Webhook(
        endpoint.url,
        environment.get(name, "") if name else "",
        notice=console.note,
        what="results",
        token_name=name or "the environment: name its variable with token_env",
    )


def _host(url: str) -> str:
    """All of a URL that is no secret: what follows the host often is a key."""
    return urlsplit(url).netloc


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"the folder {folder} cannot be made: {error.strerror}",
            "Name another one in the specification.",
        ) from error
    return folder


def _file_name(name: str) -> str:
    words = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    moment = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%SZ")
    return f"{words}-{moment}-{secrets.token_hex(2)}.json"
