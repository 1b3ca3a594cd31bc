"""Finds the service that leads among several addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress

import httpx2

ASK = httpx2.Timeout(3.0, connect=2.0)
"""Seconds that each of them has to say whether it leads."""

Connect = Callable[[str], httpx2.Client]


def find_leader(addresses: tuple[str, ...], connect: Connect) -> tuple[str | None, bool]:
    """The address of the service that leads, and True; else one that answers (None: none does),
    and False. They are asked in their order, and the first that leads is it."""
    answering = None
    for address in addresses:
        with suppress(httpx2.HTTPError, ValueError), connect(address) as http:
            answer = http.get("/v1/ready", timeout=ASK)
            tree = json.loads(answer.content)
            if isinstance(tree, dict) and "ready" in tree:
                if tree["ready"]:
                    return address, True
                answering = answering or address
    return answering, False
