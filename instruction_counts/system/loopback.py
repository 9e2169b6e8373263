"""Which hosts are this machine: what is sent to them passes nobody on its way."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a host of a URL is this machine: ``localhost``, ``127.0.0.1``, ``::1``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
