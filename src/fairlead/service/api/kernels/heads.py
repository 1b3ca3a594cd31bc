"""What a connection has said so far: whether it can be answered, and what it shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairlead.compiling import inner, kernel, small

NONE, HALF, WHOLE = 0, 1, 2
"""It can be no client's, and has no answer; more is to come; so much of it is there that more would
change nothing about what comes next: an answer, a handshake, a refusal."""

HANDSHAKE = 0x16
"""The first byte of TLS."""

RECORD_HEAD = 5
"""Bytes in front of a record of TLS; the last two say how long it is."""

RECORD_BYTES = 2**14 + 256
"""Of a record of TLS at most."""

PRINTABLE = 0x21
"""The first byte of a request is no less, or it is none."""

_END, _RETURN, _SPACE, _TAB = 0x0A, 0x0D, 0x20, 0x09
_AUTHORIZATION = np.frombuffer(b"authorization:", np.uint8)
_COOKIE = np.frombuffer(b"cookie:", np.uint8)


@inner
def standing(said: Any, length: Any, tls: Any) -> int:
    """How far a client is who said so many bytes, not none; `said` has room for all that is looked
    at."""
    if tls:
        return _standing_of_hello(said, length)
    if length == len(said) or said[0] < PRINTABLE:
        return WHOLE
    for at in range(length - 1):
        if said[at] == _END and _is_blank(said, at + 1, length):
            return WHOLE
    return HALF


@inner
def _standing_of_hello(said: Any, length: Any) -> int:
    if said[0] != HANDSHAKE:
        return NONE
    if length < RECORD_HEAD:
        return HALF
    record = said[RECORD_HEAD - 2] * 256 + said[RECORD_HEAD - 1]
    return WHOLE if record > RECORD_BYTES or length >= RECORD_HEAD + record else HALF


@small
def _is_blank(said: Any, at: Any, length: Any) -> bool:
    """Whether a line begins there that is empty."""
    if said[at] == _RETURN:
        at += 1
    return bool(at < length and said[at] == _END)


@inner
def _begins(said: Any, at: Any, length: Any, name: Any) -> bool:
    """Whether a line begins there with this name, in letters of any size."""
    if at + len(name) > length:
        return False
    for n in range(len(name)):
        letter = said[at + n]
        if 0x41 <= letter <= 0x5A:
            letter += 0x20
        if letter != name[n]:
            return False
    return True


@kernel
def mark(said: Any, length: Any, key: Any) -> Any:
    """A number for the headers that say who asks: the same for the same, and nobody who does not
    know the key finds another text with it. 0 where there is none."""
    hashed, at = begin_hash(key), 0
    shown = False
    while at < length:
        while at < length and said[at] != _END:
            at += 1
        at += 1
        if at >= length or _is_blank(said, at, length):
            break
        if _begins(said, at, length, _AUTHORIZATION):
            name = _AUTHORIZATION
        elif _begins(said, at, length, _COOKIE):
            name = _COOKIE
        else:
            continue
        shown = True
        hashed = add(hashed, np.uint64(256 + len(name)))
        at += len(name)
        while at < length and (said[at] == _SPACE or said[at] == _TAB):
            at += 1
        end = at
        while end < length and said[end] != _RETURN and said[end] != _END:
            end += 1
        while end > at and (said[end - 1] == _SPACE or said[end - 1] == _TAB):
            end -= 1
        for n in range(at, end):
            hashed = add(hashed, np.uint64(said[n]))
        at = end
    return end_hash(hashed) | np.uint64(1) if shown else np.uint64(0)


@small
def _turn(word: Any, bits: Any) -> Any:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@inner
def begin_hash(key: Any) -> Any:
    """SipHash with this key of two words: it has taken in nothing."""
    return (
        key[0] ^ np.uint64(0x736F6D6570736575),
        key[1] ^ np.uint64(0x646F72616E646F6D),
        key[0] ^ np.uint64(0x6C7967656E657261),
        key[1] ^ np.uint64(0x7465646279746573),
    )


@inner
def add(hashed: Any, word: Any) -> Any:
    """It takes in a word."""
    a, b, c, d = hashed
    a, b, c, d = _stir(a, b, c, d ^ word)
    return a ^ word, b, c, d


@inner
def end_hash(hashed: Any) -> Any:
    """What it comes to."""
    a, b, c, d = hashed
    c ^= np.uint64(0xFF)
    for _ in range(3):
        a, b, c, d = _stir(a, b, c, d)
    return a ^ b ^ c ^ d


@inner
def _stir(a: Any, b: Any, c: Any, d: Any) -> Any:
    a += b
    b = _turn(b, 13) ^ a
    a = _turn(a, 32)
    c += d
    d = _turn(d, 16) ^ c
    a += d
    d = _turn(d, 21) ^ a
    c += b
    b = _turn(b, 17) ^ c
    c = _turn(c, 32)
    return a, b, c, d
