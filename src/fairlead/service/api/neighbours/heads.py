"""What a connection has said so far: whether it can be answered, and whose it may be."""

from __future__ import annotations

import re
from collections.abc import Callable

HANDSHAKE = b"\x16"
"""The first byte of TLS."""

RECORD_HEAD = 5
"""Bytes in front of a record of TLS; the last two say how long it is."""

RECORD_BYTES = 2**14 + 256
"""Of a record of TLS at most."""

PRINTABLE = 0x21
"""The first byte of a request is no less, or it is none."""

_BLANK = re.compile(rb"\n\r?\n")
_SECRET = re.compile(rb"\n(authorization|cookie):[ \t]*([^\r\n]*)", re.IGNORECASE)


class Heads:
    """How a client begins. `most`: bytes that have to be looked at; `is_whole`: whether so much of
    it is there that more would change nothing about what comes next: an answer, a handshake, a
    refusal."""

    def __init__(self, *, tls: bool, head_bytes: int) -> None:
        self.most = RECORD_HEAD + RECORD_BYTES if tls else head_bytes + 1
        self.is_whole: Callable[[bytes], bool] = _is_hello if tls else self._is_head
        self._tls = tls

    def is_none(self, said: bytes) -> bool:
        """Whether it can be no client's, and has no answer: with TLS what is no TLS."""
        return self._tls and said[:1] not in (b"", HANDSHAKE)

    def secrets(self, said: bytes) -> list[tuple[bytes, bytes]]:
        """The headers that say who asks. With TLS nobody can read them yet."""
        if self._tls:
            return []
        end = _BLANK.search(said)
        found = _SECRET.finditer(said, 0, len(said) if end is None else end.start())
        return [(each[1].lower(), each[2].rstrip()) for each in found]

    def _is_head(self, said: bytes) -> bool:
        if len(said) >= self.most or _BLANK.search(said) is not None:
            return True
        return said != b"" and said[0] < PRINTABLE


def _is_hello(said: bytes) -> bool:
    """The first record is there, or is none."""
    if len(said) < RECORD_HEAD:
        return False
    length = int.from_bytes(said[RECORD_HEAD - 2 : RECORD_HEAD])
    return length > RECORD_BYTES or len(said) >= RECORD_HEAD + length
