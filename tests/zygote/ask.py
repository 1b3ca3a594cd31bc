"""Asks a zygote for a program and waits for its end: `python -I -S ask.py SOCKET MODULE WORDS...`.
It imports little, since what docs call `fairlead` is this."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping, Sequence

NUMBER = struct.Struct("i")
"""What is answered: first the process; then, once it has ended, its status as `waitpid` has it."""

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What the program hears if this process does."""


def ask(
    path: str,
    words: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    descriptors: Sequence[int],
    *,
    session: bool = False,
) -> tuple[socket.socket, int]:
    """Has the program begin, with these as its stdin, stdout and stderr. Returns where its status
    comes, and its process."""
    here = os.path.abspath(folder)  # noqa: PTH100 - pathlib takes as long to import as all of this
    answer = socket.socket(socket.AF_UNIX)
    answer.connect(path)
    send(answer, words, here, environment, descriptors, session=session)
    return answer, received(answer)


def send(
    to: socket.socket,
    words: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    descriptors: Sequence[int],
    *,
    session: bool = False,
) -> None:
    """Says what program a process is to be, which has each descriptor under the same number from
    the fourth on; the first three are its stdin, stdout and stderr."""
    numbers = [0, 1, 2, *descriptors[3:]]
    request = json.dumps([list(words), folder, dict(environment), session, numbers]).encode()
    socket.send_fds(to, [NUMBER.pack(len(request))], descriptors)
    to.sendall(request)


def received(answer: socket.socket, flags: int = 0) -> int:
    """The next number of an answer. Raises BlockingIOError if there is none yet and the flags say
    not to wait."""
    said = answer.recv(NUMBER.size, flags)
    if not said:
        raise ConnectionError("the zygote has ended, or could not begin the program")
    (number,) = NUMBER.unpack(said)
    return int(number)


def main(path: str, words: Sequence[str]) -> int:
    """Is the program, as far as a shell can see; returns its exit code."""
    answer, process = ask(path, words, os.curdir, os.environ, (0, 1, 2))

    def forward(number: int, _: object) -> None:
        try:  # noqa: SIM105 - contextlib is one more module to import
            os.kill(process, number)
        except ProcessLookupError:  # it has ended, which is about to be heard
            pass

    for number in FORWARDED:
        signal.signal(number, forward)
    code = os.waitstatus_to_exitcode(received(answer))
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
