"""Those whose request is there and who are no connection yet: in lines, and in turns by line."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence

Peer = tuple[object, ...]
"""Address and port of who is at the other end."""


class Comers:
    """Descriptors in lines, of several kinds. In a round of the event loop as many have their turn
    as `at_once` says of their kind, each of another line, which rests for so many rounds then.
    What one costs that nobody is to pay for, its kind makes up for by a rest."""

    def __init__(self, lines: int, at_once: Sequence[int], rest: int) -> None:
        self._of_a_kind, self._at_once, self._rest = lines, at_once, rest
        self._lines: list[OrderedDict[int, deque[int]]] = [OrderedDict() for _ in at_once]
        self._round = 0
        self._left = list(at_once)  # that may have their turn in this round, of each kind
        self._resting: OrderedDict[int, int] = OrderedDict()  # until which round, by line
        self._paced: dict[int, float] = {}  # until when, by line
        self._until = [0.0] * len(at_once)  # when one of the kind may have its turn again

    def add(self, number: int, line: int) -> None:
        """One more, by its descriptor."""
        self._lines[line // self._of_a_kind].setdefault(line, deque()).append(number)

    def begin_round(self) -> None:
        """Another round of the event loop."""
        self._round += 1
        self._left = list(self._at_once)
        while self._resting and next(iter(self._resting.values())) <= self._round:
            self._resting.popitem(last=False)

    def next(self, now: float) -> tuple[int, int] | None:
        """The one whose turn it is in this round, and its line."""
        self._paced = {line: until for line, until in self._paced.items() if until > now}
        for kind, lines in enumerate(self._lines):
            if not self._left[kind] or self._until[kind] > now:
                continue
            for line in lines:
                if line not in self._resting and line not in self._paced:
                    self._left[kind] -= 1
                    self._resting[line] = self._round + self._rest
                    lines.move_to_end(line)
                    return self._take(line, 0), line
        return None

    def pace(self, line: int, until: float) -> None:
        """No other one of the line before then, nor before it was said to be."""
        self._paced[line] = max(until, self._paced.get(line, until))

    def pause(self, line: int, until: float) -> None:
        """No other one of the line's kind before then."""
        self._until[line // self._of_a_kind] = until

    def wait(self, now: float) -> float | None:
        """For how many seconds nobody's turn comes, however many rounds there are; None where
        nobody is here."""
        moments = [
            max(self._until[kind], self._paced.get(line, now))
            for kind, lines in enumerate(self._lines)
            for line in lines
        ]
        return max(0.0, min(moments) - now) if moments else None

    def pop(self) -> tuple[int, int] | None:
        """Takes the last one out of the longest line; None where there is none."""
        lines = {line: each for lines in self._lines for line, each in lines.items()}
        if not lines:
            return None
        longest = max(lines, key=lambda line: len(lines[line]))
        return self._take(longest, -1), longest

    def _take(self, line: int, at: int) -> int:
        lines = self._lines[line // self._of_a_kind]
        number = lines[line][at]
        del lines[line][at]
        if not lines[line]:
            del lines[line]
        return number
