"""Addresses of this machine itself."""

from __future__ import annotations

from urllib.parse import urlsplit


def loopback(url: str) -> bool:
    """Whether the address is of this machine itself."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
