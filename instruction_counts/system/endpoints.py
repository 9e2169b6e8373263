"""Where results and alerts may be sent: what is checked before anything leaves this machine."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

TOKEN_PREFIX = "INSTRUCTION_COUNTS_TOKEN"  # noqa: S105 - a name, not a token
"""How a variable of the environment must begin to be sent as a token."""

_SENDABLE = re.compile(r"[!-~]+")
_TOKEN_NAME = re.compile(rf"{TOKEN_PREFIX}\w*", re.ASCII)


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine: ``localhost``, ``127.0.0.1``, ``::1``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_url(url: str) -> None:
    """Let only URLs pass that keep what is sent to them private on its way.

    Raises:
        ValueError: it is another one. The message says what is expected, and nothing of the URL,
            which can hold a secret.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError("a URL that begins with https://") from None
    if not _SENDABLE.fullmatch(url):
        raise ValueError("a URL in ASCII without spaces: write ü as %C3%BC, and hosts as xn--…")
    if not host or parts.scheme not in {"https", "http"}:
        raise ValueError("a URL that begins with https://")
    if parts.username or parts.password:
        raise ValueError(f"a URL without a password; put a token into {TOKEN_PREFIX}")
    if parts.scheme == "http" and not is_loopback(host):
        raise ValueError("https://: over http:// what is sent can be read in transit")


def check_token_name(name: str) -> None:
    """Let only those variables of the environment be sent that are there for it.

    Raises:
        ValueError: ``name`` is another one; the message says what is expected.
    """
    if not _TOKEN_NAME.fullmatch(name):
        raise ValueError(f"a variable whose name begins with {TOKEN_PREFIX}; no others are sent")


def check_token(token: str, name: str) -> None:
    """Let only a token pass that a request can hold.

    Raises:
        ValueError: it is another one. The message says what is expected of ``name``, which it
            comes from, and nothing of the token.
    """
    if token and not _SENDABLE.fullmatch(token):
        raise ValueError(f"ASCII without spaces or line breaks in {name}")
