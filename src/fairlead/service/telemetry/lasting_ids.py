"""Ids of spans that a restart finds again."""

from __future__ import annotations

from hashlib import blake2b


def ids_of(*words: object) -> tuple[int, int]:
    """A trace and a span that are always the same for the same words."""
    drawn = blake2b(repr(words).encode(errors="surrogatepass"), digest_size=24).digest()
    return int.from_bytes(drawn[:16]) or 1, int.from_bytes(drawn[16:]) or 1
