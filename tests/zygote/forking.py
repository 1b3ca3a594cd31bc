"""Forks a program for each that is asked for, in the zygote's own process."""

from __future__ import annotations

import os
import selectors
import signal
import socket
from contextlib import suppress
from pathlib import Path

from tests.zygote.ask import NUMBER
from tests.zygote.request import Request, read


class Forker:
    """Forks a program for each connection to a socket, and says there when it has ended and how.
    Once nobody needs it, the socket goes with its folder."""

    def __init__(self, path: Path, listening: int) -> None:
        self._path = path
        self._listening = socket.socket(fileno=listening)
        self._asked: dict[int, socket.socket] = {}
        self._heard, self._woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self) -> Request | None:
        """Returns twice: a request in each program's process, in which this is gone; None in its
        own, once nobody needs it."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the tests, not for their helper
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._woken)
        while True:
            with selectors.DefaultSelector() as selector:
                for each in (0, self._heard, self._listening):
                    selector.register(each, selectors.EVENT_READ)
                ready = {key.fileobj for key, _ in selector.select()}
            if self._heard in ready:
                os.read(self._heard, 4096)
                self._reap()
            if 0 in ready:
                self._path.unlink()
                self._path.parent.rmdir()
                return None
            if self._listening in ready:
                connection, _ = self._listening.accept()
                request = self._fork(connection)
                if request:
                    return request

    def _fork(self, connection: socket.socket) -> Request | None:
        try:
            request = read(connection)
        except ConnectionError:  # nobody waits
            connection.close()
            return None
        process = os.fork()
        if not process:
            self._forget()
            connection.close()
            return request
        for each in request.descriptors:
            os.close(each)
        self._asked[process] = connection
        with suppress(OSError):  # nobody waits
            connection.send(NUMBER.pack(process))
        return None

    def _reap(self) -> None:
        with suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if not process:
                    return
                with self._asked.pop(process) as connection, suppress(OSError):  # nobody waits
                    connection.send(NUMBER.pack(status))

    def _forget(self) -> None:
        """Lets go, in a program's process, of all that is the zygote's."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for connection in self._asked.values():
            connection.close()
        self._listening.close()
        os.close(self._heard)
        os.close(self._woken)
