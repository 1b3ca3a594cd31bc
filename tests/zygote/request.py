"""What a forked process is asked to be."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from dataclasses import dataclass

from tests.zygote.ask import NUMBER

MOST = 16
"""Descriptors that a program is given at most."""

ASIDE = 1000
"""No program is given a descriptor of this number or above."""


@dataclass(frozen=True)
class Request:
    """A program that was asked for. `numbers`: those under which it has its descriptors."""

    words: list[str]
    folder: str
    environment: dict[str, str]
    session: bool
    numbers: list[int]
    descriptors: list[int]

    def enter(self) -> None:
        """Has this process be where and with what it was asked for."""
        self._take_descriptors()
        os.environ.clear()
        os.environ.update(self.environment)
        os.chdir(self.folder)

    def _take_descriptors(self) -> None:
        """Gives the descriptors their numbers, of which one may be another's now."""
        aside = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, ASIDE) for each in self.descriptors]
        for each in self.descriptors:
            os.close(each)
        for each, number in zip(aside, self.numbers, strict=True):
            os.dup2(each, number)
            os.close(each)


def read(connection: socket.socket) -> Request:
    """What is asked for on a connection; ConnectionError: nothing, it was closed, or nothing whole:
    who asked was killed meanwhile."""
    head, descriptors, *_ = socket.recv_fds(connection, NUMBER.size, MOST)
    if not head:
        raise ConnectionError("nothing is asked for")
    (size,) = NUMBER.unpack(head)
    said = b""
    while len(said) < size:
        part = connection.recv(size - len(said))
        if not part:
            for each in descriptors:
                os.close(each)
            raise ConnectionError("what is asked for is cut off")
        said += part
    words, folder, environment, session, numbers = json.loads(said)
    return Request(words, folder, environment, session, numbers, descriptors)
