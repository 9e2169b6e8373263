"""Sending alerts to a URL."""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import attrs
import tenacity

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.system.loopback import is_loopback

_TIMEOUT_S = 10.0
_TRIES = 4
_MAY_PASS = (408, 425, 429)
"""Besides those from 500 on: answers that may be another one at the next try."""

_SENDABLE = re.compile(r"[!-~]+")
"""What stands in the head of a request as it is: printable ASCII."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for an error: the token is for nobody but the server that was named."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing."""


class _PassingError(Exception):
    """An answer, or none, that may be another one at the next try."""


@attrs.frozen
class Webhook:
    """A URL that takes alerts, or something else: a POST of JSON for each.

    ``token`` goes into the header Authorization. The id of an alert goes into Idempotency-Key, so
    that the receiver can tell one that comes twice because an answer was lost.
    """

    url: str
    token: str = attrs.field(default="", repr=False)
    wait_s: float = 1.0
    """Before the second try; each wait is twice the one before."""
    timeout_s: float = _TIMEOUT_S
    notice: Callable[[str], None] = lambda _: None
    what: str = "alerts"
    token_name: str = "INSTRUCTION_COUNTS_TOKEN"  # noqa: S105 - where the token is
    """The variable of the environment that the token comes from, for messages."""

    def __attrs_post_init__(self) -> None:
        """Refuse what is no URL of the web, cannot be sent, or would show a secret.

        No message repeats the URL or the token: either can be a secret.
        """
        try:
            parts = urlsplit(self.url)
            _ = parts.port
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise UsageError("--webhook is no URL", "It begins with https:// or http://.")
        if not _SENDABLE.fullmatch(self.url):
            raise UsageError(
                f"the URL for {self.what} holds a space, a line break or what is not ASCII",
                "Remove a line break at its end; write other characters as %C3%BC, hosts as xn--….",
            )
        if parts.password or parts.username:
            raise UsageError(
                "--webhook holds a password",
                "Give a token in the environment: INSTRUCTION_COUNTS_TOKEN.",
            )
        if self.token and parts.scheme == "http" and not is_loopback(parts.hostname):
            raise UsageError(
                f"--webhook is http://{parts.hostname}: the token would be readable on its way",
                f"Name an https:// URL, or send no token: it comes from {self.token_name}.",
            )
        if self.token and not _SENDABLE.fullmatch(self.token):
            raise UsageError(
                f"the token in {self.token_name} holds a space, a line break or what is not ASCII",
                "Is there a line break at its end? Set it anew without.",
            )

    def send(self, key: str, body: str) -> None:
        """POST ``body``.

        Raises:
            DataError: it was refused, or did not get through after some tries.
        """
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(_TRIES),
            wait=tenacity.wait_exponential(multiplier=self.wait_s, max=60),
            retry=tenacity.retry_if_exception_type(_PassingError),
            before_sleep=lambda state: self.notice(f"Trying again: {_reason(state)}"),
            reraise=True,
        )
        try:
            retrying(self._post, key, body)
        except _PassingError as error:
            host = urlsplit(self.url).netloc
            raise DataError(f"{host} takes no {self.what}: {error}", "Is the server up?") from error

    def _post(self, key: str, body: str) -> None:
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            self.url, body.encode(), headers, method="POST"
        )
        try:
            with self._opener().open(request, timeout=self.timeout_s) as answer:
                answer.read()
        except urllib.error.HTTPError as error:
            error.close()
            said = f"HTTP {error.code} {error.reason}"
            if error.code >= 500 or error.code in _MAY_PASS:
                raise _PassingError(said) from error
            raise DataError(
                f"{urlsplit(self.url).netloc} refuses {self.what}: {said}",
                f"Check the URL, and the token in {self.token_name}.",
            ) from error
        except (OSError, http.client.HTTPException) as error:
            raise _PassingError(str(error) or type(error).__name__) from error
        except ValueError:
            # What it says may hold the token or the URL.
            raise DataError(
                f"{urlsplit(self.url).netloc} takes no {self.what}: the request cannot be written",
                f"Check the URL, and the token in {self.token_name}.",
            ) from None

    def _opener(self) -> urllib.request.OpenerDirector:
        if is_loopback(urlsplit(self.url).hostname or ""):
            # A proxy is another machine, or at least another reader of the token.
            return urllib.request.build_opener(_NoRedirects, urllib.request.ProxyHandler({}))
        return urllib.request.build_opener(_NoRedirects)


def _reason(state: tenacity.RetryCallState) -> str:
    return str(state.outcome.exception()) if state.outcome is not None else ""
