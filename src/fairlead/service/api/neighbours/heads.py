"""What a connection has said so far: whose it may be, and what is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass

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


def find_secrets(said: bytes) -> list[tuple[bytes, bytes]]:
    """The headers that say who asks."""
    end = _BLANK.search(said)
    found = _SECRET.finditer(said, 0, len(said) if end is None else end.start())
    return [(each[1].lower(), each[2].rstrip()) for each in found]
