"""Processes in reserve: a program that starts others by multiprocessing, as a service its adviser
and a study its workers, has some that were forked beside it from the zygote, and become those."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Sequence
from multiprocessing import util
from pathlib import Path

from tests.zygote.ask import send
from tests.zygote.request import Request, read

MOST = {"aside": 3, "serve": 3, "simulate": 3, "start": 2, "study": 3}
"""How many a command of ours mostly starts, with one that watches over what they share; further
ones are new interpreters."""


def stand_by(request: Request) -> Request:
    """Forks what a program may start, before it has threads. Returns the request in its own
    process, and what it asked for in each other one, as soon as it asks; one that is not needed
    ends with the program."""
    reserve: list[tuple[int, socket.socket]] = []
    _, command, *_ = *request.words, ""
    for _ in range(MOST.get(command, 0)):
        ours, theirs = socket.socketpair()
        process = os.fork()
        if not process:
            ours.close()
            for _, other in reserve:
                other.close()
            for each in request.descriptors:
                os.close(each)
            return _told(theirs)
        theirs.close()
        reserve.append((process, ours))
    if reserve:
        _start_from(reserve)
    return request


def _told(theirs: socket.socket) -> Request:
    """What this process is to be, once it hears. Ctrl-C is not for it until then."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with theirs:
        try:
            request = read(theirs)
        except ConnectionError:  # nobody needs it
            os._exit(0)
    signal.signal(signal.SIGINT, before)
    return request


def _start_from(reserve: list[tuple[int, socket.socket]]) -> None:
    """From now on multiprocessing starts processes from these, while there are some."""
    anew = util.spawnv_passfds

    def spawn(path: bytes, words: Sequence[str | bytes], numbers: Sequence[int]) -> int:
        told = [os.fsdecode(word) for word in words]
        if not reserve:
            return anew(path, words, numbers)
        process, ours = reserve.pop()
        with ours:
            given = (0, 1, 2, *numbers)
            send(ours, told[told.index("-c") :], str(Path.cwd()), os.environ, given)
        return process

    setattr(util, "spawnv_passfds", spawn)  # noqa: B010 - mypy: typeshed has wider words
