"""All who have a line to the launcher, heard by one thread: kept workers, and the driver."""

from __future__ import annotations

import os
import secrets
import selectors
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fairlead.engines.ray.line import DRIVER, WORKER, LauncherEnd

OVERDUE = 5.0
"""Seconds between two looks for those who do not prove themselves."""

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE

Place = tuple[str, int, bytes]
"""The launcher's end of a line: host, port, and the secret of those who may have one."""


@dataclass(frozen=True)
class Handlers:
    """Functions for a message of one side, and for a line that is over."""

    message: Callable[[LauncherEnd, Any], None]
    over: Callable[[LauncherEnd], None]


class Exchange:
    """Listens on that host, where that can be. The caller's lock is held while a handler is called,
    and by whoever calls anything but `listen`."""

    def __init__(self, lock: Any, host: str) -> None:
        self._lock = lock
        self._secrets = {side: secrets.token_bytes(32) for side in (WORKER, DRIVER)}
        self._chosen = selectors.DefaultSelector()
        self._server: socket.socket | None = None
        self._host = host
        if os.environ.get("RAY_USE_TLS", "0") == "1":
            return  # these lines are not encrypted, where Ray's are
        try:
            self._server = socket.create_server((host, 0))
        except OSError as error:
            sys.stderr.write(f"nobody has a line to the launcher: {error}\n")
        else:
            self._chosen.register(self._server, READ)

    @property
    def listens(self) -> bool:
        """Whether there can be lines at all."""
        return self._server is not None

    def place(self, side: bytes) -> Place | None:
        """The place that a line of that side leads to; None where it can have none."""
        if self._server is None:
            return None
        return self._host, self._server.getsockname()[1], self._secrets[side]

    def post(self, line: LauncherEnd, message: Any) -> None:
        """Sends it without waiting, the rest of it when the other side takes it."""
        if not line.post(message) and line.socket.fileno() in self._chosen.get_map():
            self._chosen.modify(line.socket, READ | WRITE, line)

    def listen(self, handlers: Mapping[bytes, Handlers], after: Callable[[], None]) -> None:
        """Hears them, for ever. `after` is called when all that is there now was heard."""
        while True:
            ready = self._chosen.select(OVERDUE)
            with self._lock:
                if not ready:
                    self._send_away()
                for key, events in ready:
                    if key.data is None:
                        self._accept()
                    else:
                        self._serve(key.data, events, handlers)
                after()

    def _accept(self) -> None:
        assert self._server is not None  # it is what was ready
        try:
            line = LauncherEnd(self._server.accept()[0], self._secrets)
            self._chosen.register(line.socket, READ, line)
        except (OSError, ValueError):
            return  # whoever it was has left

    def _serve(self, line: LauncherEnd, events: int, handlers: Mapping[bytes, Handlers]) -> None:
        if events & WRITE and line.flush():
            self._chosen.modify(line.socket, READ, line)
        if not events & READ:
            return
        try:
            for message in line.read():
                handlers[line.side].message(line, message)
        except (OSError, ValueError):
            if line.side:
                handlers[line.side].over(line)
            self._leave(line)

    def _send_away(self) -> None:
        for key in list(self._chosen.get_map().values()):
            if key.data is not None and key.data.overdue:
                self._leave(key.data)

    def _leave(self, line: LauncherEnd) -> None:
        self._chosen.unregister(line.socket)
        line.socket.close()
