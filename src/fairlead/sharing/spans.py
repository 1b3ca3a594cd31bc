"""Numbers of an input that are too far apart for exact shares: most often a unit is missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from fairlead.model.errors import Mistake
from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.quantity import written
from fairlead.model.words import number

FAR = 10**6
"""Numbers of one kind that lie further apart are named. It is asked only where shares could not be
computed: doubles carry 16 digits, and what is small beside the rest is lost in them."""

_NAMED = 3  # kinds of numbers that are named, the widest first

Number = tuple[Fraction, str]


def far_apart(cluster: Cluster, jobs: Sequence[Job]) -> Iterator[Mistake]:
    """What to look at where an input has no shares that could be computed and checked: resources
    and weights whose numbers lie far apart, the widest first. None where there are no such."""
    kinds: dict[str, list[Number]] = {}
    for machine in cluster.machines:
        for resource, amount in machine.capacity.items():
            kinds.setdefault(resource, []).append((amount, f"machine {machine.name}"))
    for job in jobs:
        for resource, amount in job.demand.items():
            kinds.setdefault(resource, []).append((amount, f"job {job.name}"))
    weights = [(tenant.weight, f"tenant {tenant.name}") for tenant in cluster.tenants]
    kinds["weight"] = [(weight, name) for weight, name in weights if weight is not None]
    spans = [(kind, *ends) for kind, numbers in kinds.items() if (ends := _ends(numbers))]
    spans.sort(key=lambda span: span[1][0] / span[2][0])
    for kind, (least, first), (most, last) in spans[:_NAMED]:
        yield Mistake(
            f"the numbers of {kind} lie too far apart for exact shares: from {_short(least)}"
            f" ({first}) to {_short(most)} ({last})",
            "look whether a unit is missing, or leave out what is too small to matter",
        )


def _short(amount: Fraction) -> str:
    text = written(amount)
    return text if len(text) <= 8 else number(float(amount))


def _ends(numbers: Iterable[Number]) -> tuple[Number, Number] | None:
    """The least and the largest of the numbers above 0; None where they are not far apart."""
    positive = [each for each in numbers if each[0] > 0]
    if not positive:
        return None
    least, most = (pick(positive, key=lambda each: each[0]) for pick in (min, max))
    return (least, most) if most[0] >= least[0] * FAR else None
