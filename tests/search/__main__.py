"""All searches, turn by turn in worker processes until the time is over; `./check search` runs it.

Each search has as much of the time as the others. Every turn has a seed of its own, drawn from that
of the search: what is found is told with it, and `--again` takes that turn once more.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from random import Random, SystemRandom

from tests.search.ending import workers
from tests.search.hunt import LARGEST
from tests.search.searches import SEARCHES, Taken, Turn

EXPECTED = 20.0
"""Seconds that a turn is counted for until it is over."""

TOLD = 60.0
"""Seconds between two words on how far it is."""


class Turns:
    """Whose turn it is, and with which seed."""

    def __init__(self, seed: int, kinds: Sequence[str]) -> None:
        self.spent = dict.fromkeys(kinds, 0.0)
        self._seeds = {kind: Random(f"{seed} {kind}") for kind in kinds}

    def next(self) -> tuple[str, int]:
        """The search that had the least time, and the next of its seeds."""
        kind = min(self.spent, key=lambda each: self.spent[each])
        self.spent[kind] += EXPECTED
        return kind, self._seeds[kind].randrange(2**32)

    def over(self, kind: str, seconds: float) -> None:
        """A turn took so long."""
        self.spent[kind] += seconds - EXPECTED


def search(turns: Turns, asked: argparse.Namespace, data: Path | None) -> int:
    """Searches until the time is over; how much was found."""
    end, last = time.monotonic() + 60.0 * asked.minutes, time.monotonic()
    looked: Counter[str] = Counter()
    number, most = 0, os.cpu_count() or 1
    with workers(most) as pool:
        waiting: dict[Future[Taken], str] = {}
        while waiting or time.monotonic() < end:
            while len(waiting) < most and time.monotonic() < end:
                kind, seed = turns.next()
                turn = Turn(kind, seed, asked.largest, data, asked.out)
                waiting[pool.submit(turn.taken)] = kind
            for done in wait(waiting, timeout=1.0, return_when=FIRST_COMPLETED).done:
                kind, taken = waiting.pop(done), done.result()
                turns.over(kind, taken.seconds)
                looked[kind] += taken.number
                number += len(taken.found)
                for each in taken.found:
                    print(each, flush=True)
            if time.monotonic() > last + TOLD:
                last = time.monotonic()
                print(f"{_counts(looked)}: {number} found", flush=True)
    print(f"{_counts(looked)}: {number} found")
    return number


def _counts(looked: Counter[str]) -> str:
    return ", ".join(f"{looked[kind]} {kind}" for kind in SEARCHES if looked[kind]) or "nothing yet"


def main() -> int:
    """The search; 1 where something was found, 130 where it was ended."""
    parser = argparse.ArgumentParser(prog="./check search", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default: 30)")
    parser.add_argument("--seed", type=int, help="the same turns again (default: new ones)")
    parser.add_argument(
        "--only", nargs="+", choices=list(SEARCHES), default=list(SEARCHES), help="some searches"
    )
    parser.add_argument("--again", nargs=2, metavar=("SEARCH", "SEED"), help="one turn once more")
    parser.add_argument("--largest", type=int, default=LARGEST, help="jobs at most (default: 5000)")
    parser.add_argument("--out", type=Path, default=Path("build/search"), help="for what is found")
    asked = parser.parse_args()
    asked.out = asked.out.resolve()  # what tasks write is there, whatever their folder is
    asked.out.mkdir(parents=True, exist_ok=True)
    named = os.environ.get("FAIRLEAD_DATA")
    there = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    data = there if there.is_dir() else None
    if data is None:
        print("left out: the demands of real clusters, whose data is not there")
    if asked.again:
        kind, seed = asked.again
        taken = Turn(kind, int(seed), asked.largest, data, asked.out).taken()
        print("\n".join(taken.found) or f"{taken.number} {kind}: nothing is wrong")
        return 1 if taken.found else 0
    seed = SystemRandom().randrange(2**32) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    try:
        return 1 if search(Turns(seed, asked.only), asked, data) else 0
    except KeyboardInterrupt:
        print("ended before its time")
        return 130


if __name__ == "__main__":
    sys.exit(main())
