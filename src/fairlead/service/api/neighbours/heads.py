"""What a connection has said so far: whether it can be answered, and whose it may be."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

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

_PLAIN = re.compile(
    rb"([A-Z]+) (/[!-~]*) HTTP/1\.1\r\n((?:[!#-'*+.0-9A-Z^-z|~-]+:[\t -~\x80-\xff]*\r\n)*)\r\n"
)
_ODD = {b"transfer-encoding", b"expect", b"upgrade"}
"""Headers after which more may be meant than one request and one answer."""

_ALONE = (b"host", b"authorization", b"content-length")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that is all there: the address without what is asked for in it, and headers with
    names in small letters."""

    method: str
    path: str
    headers: list[tuple[bytes, bytes]]


def read_plain(said: bytes) -> Asked | None:
    """What is asked, where nothing about it is unusual and nothing more of it is to come: who reads
    it otherwise than the server does would answer what nobody asked."""
    found = _PLAIN.match(said)
    if found is None:
        return None
    lines = (line.partition(b":") for line in found[3].split(b"\r\n")[:-1])
    headers = [(name.lower(), value.strip(b" \t")) for name, _, value in lines]
    given = dict(headers)
    many = [sum(name == each for name, _ in headers) for each in _ALONE]
    if max(many) > 1 or b"host" not in given or not _ODD.isdisjoint(given):
        return None
    length = given.get(b"content-length", b"0")
    if not length.isdigit() or len(said) - found.end() < int(length[:10]):
        return None
    path = found[2].partition(b"?")[0].decode("ascii")
    return Asked(found[1].decode("ascii"), path, headers)


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
