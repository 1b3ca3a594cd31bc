"""A port for a service that is started again where it was."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GIVEN = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Between which numbers the system gives a port to whoever asks for any."""

FIRST = 20_000
"""Below it are the ports of well-known services, and of Ray's workers."""


@contextmanager
def kept_port() -> Iterator[int]:
    """A port of this machine that stays free while nobody listens there: the system gives it to
    nobody who asks for any, and no other test has it until the end of the block."""
    mark, port = _claimed()
    with mark:
        yield port


def _claimed() -> tuple[socket.socket, int]:
    """The first port that no test has, and what keeps it until that is closed, by whatever end."""
    low, high = (int(word) for word in GIVEN.read_text(encoding="ascii").split())
    for port in (*range(FIRST, low), *range(high + 1, 65_536)):
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0fairlead-tests-port-{port}")
            _try(port)
        except OSError:
            mark.close()
        else:
            return mark, port
    raise AssertionError("all ports that the system gives to nobody are taken")


def _try(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
