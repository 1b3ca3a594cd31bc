"""Limits on how often: token buckets, by whom they are for."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

CHANGING = 0.0003
"""Seconds of the loop's time that a job costs that is submitted, cancelled or forgotten; about."""

MOST_BUCKETS = 100_000
"""Buckets that are kept; of more, those that were not used for longest are forgotten."""


@dataclass(slots=True)
class _Bucket:
    amount: float
    time: float


class Buckets:
    """A bucket for each key: it holds `burst`, and `rate` a second flow in."""

    def __init__(self, rate: float, burst: float, most: int = MOST_BUCKETS) -> None:
        self._rate, self._burst, self._most = rate, burst, most
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, key: str, now: float) -> float:
        """0 if one may pass now; otherwise in how many seconds one may, and nothing is taken."""
        bucket = self._filled(key, now)
        if bucket.amount >= 1:
            bucket.amount -= 1
            return 0.0
        return (1 - bucket.amount) / self._rate

    def wait(self, key: str, now: float) -> float:
        """In how many seconds one may pass; nothing is taken."""
        return max(0.0, (1 - self._filled(key, now).amount) / self._rate)

    def debt(self, key: str, now: float) -> float:
        """In how many seconds there is something in the bucket; 0 if there is."""
        return max(0.0, -self._filled(key, now).amount / self._rate)

    def spend(self, key: str, now: float, amount: float) -> None:
        """Takes so much, though less be there: it was spent already. Nobody owes more than a whole
        bucket."""
        bucket = self._filled(key, now)
        bucket.amount = max(-self._burst, bucket.amount - amount)

    def __len__(self) -> int:
        return len(self._buckets)

    def _filled(self, key: str, now: float) -> _Bucket:
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = _Bucket(self._burst, now)
            if len(self._buckets) > self._most:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(key)
        passed = max(0.0, now - bucket.time)
        bucket.amount = min(self._burst, bucket.amount + passed * self._rate)
        bucket.time = now
        return bucket


@lru_cache(maxsize=1000)
def neighbourhood(address: str) -> str:
    """The address that limits count by: of IPv6 a network of 64 bits, since one
    customer gets that many."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(IPv6Address(int(found) >> 64 << 64)) + "/64"
    return str(found)
