"""A line between the launcher and a worker: whole messages over TCP, once each side has proved that
it knows their secret, which goes to workers with their tasks and nowhere else."""

from __future__ import annotations

import hmac
import pickle
import secrets
import select
import socket
import struct
import time
from contextlib import suppress
from typing import Any

PROOF = 32
"""Bytes of a proof, and of what it is asked with."""

LONGEST = 1024 * 1024
"""Bytes of a message at most."""

ROOM = 256 * 1024
"""Bytes that the system takes of the launcher's messages before the worker reads them."""

PATIENCE = 2.0
"""Seconds in which the other side has to prove itself."""


def proof(secret: bytes, side: bytes, asked: bytes) -> bytes:
    """What only who knows the secret can say on that side where that is asked."""
    return hmac.digest(secret, side + asked, "sha256")


def framed(message: Any) -> bytes:
    """The message as it goes over a line."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return struct.pack(">I", len(data)) + data


class Reader:
    """Takes bytes as they come, gives messages."""

    def __init__(self) -> None:
        self._data = bytearray()

    def add(self, data: bytes) -> list[Any]:
        """The messages that are whole by now. Raises ValueError where one is too long."""
        self._data += data
        found = []
        while len(self._data) >= 4:
            (size,) = struct.unpack_from(">I", self._data)
            if size > LONGEST:
                raise ValueError("a message is too long")
            if len(self._data) < 4 + size:
                break
            found.append(pickle.loads(memoryview(self._data)[4 : 4 + size]))
            del self._data[: 4 + size]
        return found


class WorkerEnd:
    """The worker's end. Raises OSError where the launcher cannot be reached, or is another one."""

    def __init__(self, host: str, port: int, secret: bytes) -> None:
        self._socket = socket.create_connection((host, port), timeout=PATIENCE)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            asked, mine = self._exactly(PROOF), secrets.token_bytes(PROOF)
            self._socket.sendall(proof(secret, b"worker", asked) + mine)
            if not hmac.compare_digest(self._exactly(PROOF), proof(secret, b"launcher", mine)):
                raise ConnectionError("somebody else listens there")
        except OSError:
            self._socket.close()
            raise
        self._reader = Reader()

    def send(self, message: Any) -> bool:
        """Whether it went out: where it did not, the line is closed. It may have arrived all the
        same."""
        data = framed(message)
        try:
            if len(data) - 4 > LONGEST:
                raise ConnectionError("too long for a line")
            self._socket.sendall(data)
        except OSError:
            self.close()
            return False
        return True

    def receive(self, patience: float) -> list[Any]:
        """The messages that come within so many seconds. Raises OSError where the line is closed
        there."""
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        if not poller.poll(1000 * patience):
            return []
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionError("the line is closed")
        return self._reader.add(data)

    def close(self) -> None:
        """Ends it for both."""
        self._socket.close()

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise ConnectionError("the line is closed")
            data += more
        return data


class LauncherEnd:
    """The launcher's end, which never waits."""

    def __init__(self, connected: socket.socket, secret: bytes) -> None:
        self.socket = connected
        self._secret = secret
        self._asked = secrets.token_bytes(PROOF)
        self._said = b""
        self._reader: Reader | None = None  # once the worker has proved itself
        self._until = time.monotonic() + PATIENCE
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
        self._put(self._asked)

    @property
    def overdue(self) -> bool:
        """Whether the worker should have proved itself by now."""
        return self._reader is None and time.monotonic() > self._until

    def send(self, message: Any) -> bool:
        """Whether all of it went out. Where it did not, the line is over, and the worker does not
        have the whole message."""
        return self._put(framed(message))

    def read(self) -> list[Any]:
        """The messages that are there. Raises OSError and ValueError: it is of no use any more."""
        try:
            data = self.socket.recv(65536)
        except BlockingIOError:
            return []
        if not data:
            raise ConnectionError("the line is closed")
        if self._reader is None:
            self._said += data
            if len(self._said) < 2 * PROOF:
                return []
            said, asked = self._said[:PROOF], self._said[PROOF : 2 * PROOF]
            if not hmac.compare_digest(said, proof(self._secret, b"worker", self._asked)):
                raise ConnectionError("somebody who does not know the secret")
            data, self._reader = self._said[2 * PROOF :], Reader()
            self._put(proof(self._secret, b"launcher", asked))
        return self._reader.add(data)

    def end(self) -> None:
        """Ends it for both; whoever reads it hears that, and closes it."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def _put(self, data: bytes) -> bool:
        try:
            if self.socket.send(data) == len(data):
                return True
        except OSError:
            pass
        self.end()
        return False
