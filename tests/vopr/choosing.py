"""Few seeds of many that meet what all of them meet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tests.vopr.tally import Tally

TIMES = 2
"""By so many seeds each kind is met, or by all that meet it: what one of them meets may be met at a
harmless moment."""


def choose(met: Mapping[int, Tally]) -> list[int]:
    """Seeds that meet each kind of what these met TIMES times; those first that meet most of what
    is lacking for their steps."""
    lacking = Counter(kind for tally in met.values() for kind in _kinds(tally))
    for kind, times in lacking.items():
        lacking[kind] = min(times, TIMES)
    left, chosen = dict(met), []
    while +lacking:
        seed = max(left, key=lambda each: (_worth(left[each], lacking), -each))
        chosen.append(seed)
        lacking.subtract(kind for kind in _kinds(left.pop(seed)) if lacking[kind] > 0)
    return sorted(chosen)


def _kinds(tally: Tally) -> list[tuple[str, str]]:
    return [kind for kind, times in tally.items() if times and kind[0] != "run"]


def _worth(tally: Tally, lacking: Mapping[tuple[str, str], int]) -> float:
    return sum(lacking[kind] > 0 for kind in _kinds(tally)) / tally["run", "steps"]
