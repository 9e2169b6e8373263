"""Sending alerts to a URL."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import attrs
import tenacity

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.system.endpoints import (
    TOKEN_PREFIX,
    check_token,
    check_url,
    is_loopback,
)

if TYPE_CHECKING:
    import httpx

_TIMEOUT_S = 10.0
"""For a whole request and its answer, however slowly they go."""
_TRIES = 4
_MAY_PASS = (408, 425, 429)
"""Besides those from 500 on: answers that may be another one at the next try."""


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
    token_name: str = TOKEN_PREFIX
    """The variable of the environment that the token comes from, for messages."""

    def __attrs_post_init__(self) -> None:
        """Refuse a URL or a token that would show a secret, or cannot be sent.

        No message repeats the URL or the token: either can be a secret.
        """
        try:
            check_url(self.url)
            check_token(self.token, self.token_name)
        except ValueError as error:
            raise UsageError(
                f"{self.what} cannot be sent with this URL or token", f"Expected {error}."
            ) from None

    def send(self, key: str, body: str) -> None:
        """POST ``body``.

        Raises:
            DataError: it was refused, or did not get through after some tries.
        """
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(_TRIES),
            wait=tenacity.wait_exponential(multiplier=self.wait_s, max=60),
            retry=tenacity.retry_if_exception_type(_PassingError),
            before_sleep=lambda state: self.notice(f"Retrying: {_reason(state)}"),
            reraise=True,
        )
        try:
            retrying(self._post, key, body)
        except _PassingError as error:
            host = urlsplit(self.url).netloc
            raise DataError(
                f"{host} did not accept {self.what}: {error}", "Check that the server is running."
            ) from error

    def _post(self, key: str, body: str) -> None:
        import httpx  # noqa: PLC0415 - it takes long to import, and is seldom needed

        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        host = urlsplit(self.url).netloc
        try:
            answer = asyncio.run(self._answer(headers, body.encode()))
        except (httpx.TimeoutException, TimeoutError) as error:
            raise _PassingError(f"no whole answer within {self.timeout_s:g} s") from error
        except (httpx.TransportError, OSError) as error:
            raise _PassingError(str(error) or type(error).__name__) from error
        except (httpx.InvalidURL, ValueError):
            # What it says may hold the token or the URL.
            raise DataError(
                f"{host}: cannot build a request for {self.what}",
                f"Check the URL, and the token in {self.token_name}.",
            ) from None
        said = f"HTTP {answer.status_code} {answer.reason_phrase}"
        if answer.status_code >= 500 or answer.status_code in _MAY_PASS:
            raise _PassingError(said)
        if not answer.is_success:
            raise DataError(
                f"{host} rejected {self.what}: {said}",
                f"Check the URL, and the token in {self.token_name}.",
            )

    async def _answer(self, headers: dict[str, str], body: bytes) -> httpx.Response:
        """The answer without its body, of any size, which is never read."""
        import httpx  # noqa: PLC0415

        client = httpx.AsyncClient(
            timeout=self.timeout_s,
            # The token is for nobody but the server that was named: no redirect is followed, and on
            # this machine no proxy asked.
            follow_redirects=False,
            trust_env=not is_loopback(urlsplit(self.url).hostname or ""),
            verify=ssl.create_default_context(),
        )
        async with asyncio.timeout(self.timeout_s), client:
            request = client.build_request("POST", self.url, content=body, headers=headers)
            answer = await client.send(request, stream=True)
            await answer.aclose()
            return answer


def _reason(state: tenacity.RetryCallState) -> str:
    return str(state.outcome.exception()) if state.outcome is not None else ""
