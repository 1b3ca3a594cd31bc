"""Chooses the gate's seeds: `python -m tests.vopr.choosing 800` takes them from so many.

The cheapest of which each kind of event, fault and answer is met by seven tenths as many lives as
it is by the first of them and those that meet what is rare; what few lives meet, by as many.
"""

from __future__ import annotations

import gc
import sys
import time
from collections import Counter
from collections.abc import Iterable
from math import ceil

from tests.vopr.chosen import LIVES, RARE
from tests.vopr.plan import draw
from tests.vopr.running import run

PART = 0.7
FEW = 5
"""So many lives, or fewer, that meet something all stay."""


class Lives:
    """What lives met, and the seconds of a processor that each took."""

    def __init__(self, seeds: Iterable[int]) -> None:
        self.met: dict[int, set[tuple[str, str]]] = {}
        self.seconds: dict[int, float] = {}
        for seed in seeds:
            start = time.thread_time()
            failure, found = run(draw(seed))
            assert failure is None, str(failure)
            self.seconds[seed] = time.thread_time() - start
            self.met[seed] = {kind for kind, times in found.items() if times and kind[0] != "run"}

    def count(self, seeds: Iterable[int]) -> Counter[tuple[str, str]]:
        """How many of these lives meet each kind."""
        return Counter(kind for seed in seeds for kind in self.met[seed])

    def choose(self, number: int) -> list[int]:
        """So many seeds, or more where each of them is needed."""
        wanted = [*list(self.met)[: number - len(RARE)], *RARE]
        least = {
            kind: lives if lives <= FEW else max(FEW, ceil(PART * lives))
            for kind, lives in self.count(dict.fromkeys(wanted)).items()
        }
        left, there = dict.fromkeys(self.met), self.count(self.met)
        for seed in sorted(self.met, key=lambda each: -self.seconds[each]):
            if len(left) <= number:
                break
            if seed not in RARE and all(there[k] > least.get(k, 1) for k in self.met[seed]):
                del left[seed]
                there.subtract(self.met[seed])
        return sorted(left)


def main() -> None:
    """Prints them, and what they cost beside the first ones."""
    run(draw(0))
    gc.collect()
    gc.freeze()
    lives = Lives(dict.fromkeys((*range(int(sys.argv[1])), *RARE)))
    for seeds in (lives.choose(len(LIVES)), [*range(len(LIVES) - len(RARE)), *RARE]):
        seconds = sum(lives.seconds[seed] for seed in seeds)
        sys.stdout.write(f"{len(seeds)} seeds, {seconds:.1f} s: {', '.join(map(str, seeds))}\n")


if __name__ == "__main__":
    main()
