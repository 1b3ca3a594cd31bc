"""Jobs parted into requests that a service takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from fairlead.model.plain import Plain

LONGEST = 6_000_000
"""Bytes of jobs in one request of `submit_all`: a service takes 8 MiB if nothing else is said."""


def batches(jobs: Iterable[Plain], size: int) -> Iterator[list[Plain]]:
    """The jobs in requests that a service takes: of at most so many, and not too long."""
    batch: list[Plain] = []
    length = 0
    for job in jobs:
        own = len(json.dumps(job))
        if batch and (len(batch) == size or length + own > LONGEST):
            yield batch
            batch, length = [], 0
        batch.append(job)
        length += own
    if batch:
        yield batch
