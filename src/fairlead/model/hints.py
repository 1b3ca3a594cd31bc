"""Close matches: what a writer probably meant."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable

MANY = 300
"""Up to so many candidates all are compared, which takes a few milliseconds."""

NEIGHBOURS = 20
"""Of more, so many before and after the word in the order of the names."""

CLOSE = 0.75
"""Likeness of two words, from 0 to 1, at which one is a slip of the other: `gpus` and `gpu` are,
`gpu` and `cpu` are not."""


class Known:
    """Names that exist, for hints about those that do not."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = names
        self._sorted: list[str] | None = None

    def hint(self, word: str, otherwise: str = "") -> str:
        """A question such as `did you mean "gpu"?`; `otherwise` where nothing is close."""
        from difflib import get_close_matches  # slow to import, and needed after mistakes only

        if self._sorted is None:
            self._sorted = sorted(set(self._names))
        near = self._sorted
        if len(near) > MANY:
            at = bisect(near, word)
            near = near[max(0, at - NEIGHBOURS) : at + NEIGHBOURS]
        matches = [name for name in near if name.lower() == word.lower()]
        matches = matches or get_close_matches(word, near, n=1, cutoff=CLOSE)
        return f'did you mean "{matches[0]}"?' if matches else otherwise
