"""Lines of which a test has both ends."""

from __future__ import annotations

import select
import socket
import threading
from typing import Any

from fairlead.engines.ray.line import DRIVER, WORKER, FarEnd, LauncherEnd

SECRETS = {WORKER: b"s" * 32, DRIVER: b"o" * 32}

LONG = 120.0
"""Seconds until a test gives up."""


def line(
    secret: bytes, side: bytes = WORKER, patience: float | None = None
) -> tuple[LauncherEnd, list[FarEnd | OSError]]:
    """The launcher's end of a line with a worker, or a driver, that believes in that secret, and
    the other end, or why there is none. `patience`: the other end's."""
    found: list[FarEnd | OSError] = []

    def worker(port: int) -> None:
        try:
            found.append(FarEnd(side, "127.0.0.1", port, secret, patience))
        except OSError as error:
            found.append(error)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=worker, args=(server.getsockname()[1],))
        thread.start()
        end = LauncherEnd(server.accept()[0], SECRETS)
    try:
        while thread.is_alive():
            assert end.read() == []
            thread.join(0.01)
    except ConnectionError:
        end.socket.close()
        thread.join()
    return end, found


def soon_read(end: LauncherEnd) -> list[Any]:
    """The messages that are there as soon as some are: what was sent may take a moment."""
    while not (found := end.read()):
        assert select.select([end.socket], [], [], LONG)[0], "nothing came"
    return found
