"""A line to the launcher, from a worker or from the driver: whole messages over TCP, once each side
has proved that it knows their secret, which comes to them by Ray and to nobody else."""

from __future__ import annotations

import hmac
import pickle
import secrets
import select
import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

WORKER, DRIVER = b"worker", b"driver"
"""The two sides of lines, in words of one length. Each has a secret of its own: code of workers
is not to drive the launcher."""

PROOF = 32
"""Bytes of a proof, and of what it is asked with."""

LONGEST = {WORKER: 1024 * 1024, DRIVER: 1 << 30}
"""Bytes of a message at most. A driver sends the calls of whole jobs."""

ROOM = 256 * 1024
"""Bytes that the system takes of the launcher's messages before they are read."""

PATIENCE = 2.0
"""Seconds in which the other side has to prove itself."""


def proof(secret: bytes, side: bytes, asked: bytes) -> bytes:
    """Proves the secret: nobody else can answer that question on that side."""
    return hmac.digest(secret, side + asked, "sha256")


def to_frame(message: Any) -> bytes:
    """The message as it goes over a line."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return struct.pack(">I", len(data)) + data


class Reader:
    """Takes bytes as they come, gives messages of at most so many."""

    def __init__(self, longest: int) -> None:
        self._longest, self._data = longest, bytearray()

    def add(self, data: bytes) -> list[Any]:
        """The messages that are whole by now. Raises ValueError where one is too long, or none."""
        self._data += data
        found = []
        while len(self._data) >= 4:
            (size,) = struct.unpack_from(">I", self._data)
            if size > self._longest:
                raise ValueError("a message is too long")
            if len(self._data) < 4 + size:
                break
            data = bytes(memoryview(self._data)[4 : 4 + size])
            del self._data[: 4 + size]
            try:
                found.append(pickle.loads(data))
            except Exception as error:  # pickle fails in many ways
                raise ValueError(f"no message: {error}") from error
        return found


class FarEnd:
    """The end of who has the line to the launcher. Raises OSError where the launcher cannot be
    reached, or is another one. `patience`: seconds for which a message may be on its way."""

    def __init__(
        self, side: bytes, host: str, port: int, secret: bytes, patience: float | None = None
    ) -> None:
        self._socket = socket.create_connection((host, port), timeout=PATIENCE)
        self._longest = LONGEST[side]
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            asked, mine = self._exactly(PROOF), secrets.token_bytes(PROOF)
            self._socket.sendall(side + proof(secret, side, asked) + mine)
            if not hmac.compare_digest(self._exactly(PROOF), proof(secret, b"launcher", mine)):
                raise ConnectionError("somebody else listens there")
        except OSError:
            self._socket.close()
            raise
        if patience is not None:
            self._socket.settimeout(patience)
        self._reader = Reader(self._longest)

    def send(self, message: Any) -> bool:
        """Whether it went out: where it did not, the line is over. It may have arrived all the
        same."""
        data = to_frame(message)
        try:
            if len(data) - 4 > self._longest:
                raise ConnectionError("too long for a line")
            self._socket.sendall(data)
        except OSError:
            self.end()
            return False
        return True

    def receive(self, patience: float) -> list[Any]:
        """The messages that come within so many seconds. Raises OSError where the line is closed
        there, and ValueError where what comes is no message."""
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        if not poller.poll(1000 * patience):
            return []
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionError("the line is closed")
        return self._reader.add(data)

    def end(self) -> None:
        """Ends it for both; who waits in `receive` hears that, and closes it."""
        _shut(self._socket)

    def close(self) -> None:
        """Ends it for both, where nobody waits."""
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
    """The launcher's end, which never waits. `side`: who has the other one, once that is proved by
    one of these secrets."""

    def __init__(self, connected: socket.socket, known: Mapping[bytes, bytes]) -> None:
        self.socket = connected
        self.side = b""
        self._known = known
        self._asked = secrets.token_bytes(PROOF)
        self._said = b""
        self._left = bytearray()  # of what was posted
        self._reader: Reader | None = None  # once the other side has proved itself
        self._until = time.monotonic() + PATIENCE
        connected.setblocking(False)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)
        self._put(self._asked)

    @property
    def overdue(self) -> bool:
        """Whether the other side should have proved itself by now."""
        return self._reader is None and time.monotonic() > self._until

    def send(self, message: Any) -> bool:
        """Whether all of it went out. Where it did not, the line is over, and the other side does
        not have the whole message."""
        return self._put(to_frame(message))

    def post(self, message: Any) -> bool:
        """Sends it as the other side takes it; whether all of it went out by now. Where it did not,
        `flush` is to be called when the socket can be written to."""
        self._left += to_frame(message)
        return self.flush()

    def flush(self) -> bool:
        """Whether nothing is left of what was posted."""
        try:
            del self._left[: self.socket.send(self._left)]
        except BlockingIOError:
            pass
        except OSError:
            self._left.clear()
            self.end()
        return not self._left

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
            if len(self._said) < len(WORKER) + 2 * PROOF:
                return []
            data = self._prove()
            self._reader = Reader(LONGEST[self.side])
        return self._reader.add(data)

    def end(self) -> None:
        """Ends it for both; whoever reads it hears that, and closes it."""
        _shut(self.socket)

    def _prove(self) -> bytes:
        """Proves itself to who has proved who it is; what it said after that."""
        side, rest = self._said[: len(WORKER)], self._said[len(WORKER) :]
        said, asked = rest[:PROOF], rest[PROOF : 2 * PROOF]
        secret = self._known.get(side)
        if secret is None or not hmac.compare_digest(said, proof(secret, side, self._asked)):
            raise ConnectionError("somebody who does not know the secret")
        self.side = side
        self._put(proof(secret, b"launcher", asked))
        return rest[2 * PROOF :]

    def _put(self, data: bytes) -> bool:
        try:
            if self.socket.send(data) == len(data):
                return True
        except OSError:
            pass
        self.end()
        return False


def _shut(connected: socket.socket) -> None:
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)
