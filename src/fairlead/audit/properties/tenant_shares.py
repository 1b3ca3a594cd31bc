"""Each tenant's tasks or share, before and after a change, in numbers that can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairlead.audit.holdings.slack import difference, shortfall
from fairlead.audit.outcome import Outcome, Shown
from fairlead.model.words import counted, number

NONE = Fraction(0)


@dataclass(frozen=True)
class Standing:
    """Tasks of a tenant with one job that can run; else its share, weights not counted, by the
    units in which shares were counted before the change."""

    tasks: dict[str, dict[str, Fraction]]  # by tenant, by job
    units: Mapping[str, Fraction]  # by job
    able: frozenset[str]  # the jobs that can run somewhere
    within: Fraction  # to what part of themselves the numbers are known

    def of(self, tenant: str, after: Standing) -> tuple[Fraction, Fraction, str]:
        """The tenant's number here, its number there, and the unit of both."""
        mine, then = self.tasks[tenant], after.tasks.get(tenant, {})
        mine = {job: has for job, has in mine.items() if job in self.able} or mine
        if len(mine) == 1:
            ((job, has),) = mine.items()
            return has, then.get(job, NONE), "tasks"
        jobs = [job for job in mine if self.units[job] > 0]
        return (
            sum((mine[job] / self.units[job] for job in jobs), NONE),
            sum((then.get(job, NONE) / self.units[job] for job in jobs), NONE),
            "share",
        )


def standing(outcome: Outcome) -> Standing:
    """The tasks of each tenant, and the units of its share."""
    numbers = outcome.numbers
    tasks: dict[str, dict[str, Fraction]] = {}
    for job in outcome.allocation.jobs:
        tasks.setdefault(job.tenant, {})[job.name] = numbers.tasks[job.name]
    able = frozenset(job.name for job in outcome.allocation.jobs if job.nowhere is None)
    return Standing(tasks, numbers.unit, able, numbers.within)


def amount(value: Fraction, unit: str) -> str:
    """`3 tasks`, `the share 0.25`."""
    much = float(value)
    return counted(much, "task") if unit == "tasks" else f"the share {number(much)}"


def amounts(first: Fraction, then: Fraction, unit: str) -> tuple[str, str]:
    """Both, and where they look alike by how much the second differs."""
    one, other = amount(first, unit), amount(then, unit)
    if one == other and first != then:
        part = difference(first, then, NONE)
        other += f" ({part:.1g} of {'them' if unit == 'tasks' else 'it'}"
        other += f" {'more' if then > first else 'less'})"
    return one, other


def falls(before: Outcome, after: Outcome, tenant: str, when: str) -> Shown | None:
    """By how much the tenant falls; None where it is not in both."""
    return _compare(before, after, tenant, f"{tenant} falls from {{}} to {{}} {when}.", fall=True)


def moves(before: Outcome, after: Outcome, tenant: str, when: str) -> Shown | None:
    """By how much what the tenant has changes, either way; None where it is not in both."""
    return _compare(before, after, tenant, f"{tenant} goes from {{}} to {{}} {when}.", fall=False)


def _compare(
    before: Outcome, after: Outcome, tenant: str, sentence: str, *, fall: bool
) -> Shown | None:
    first, second = standing(before), standing(after)
    if tenant not in first.tasks:
        return None
    was, now, unit = first.of(tenant, second)
    within = max(first.within, second.within)
    return Shown(
        before=float(was),
        after=float(now),
        slack=shortfall(was, now, within) if fall else difference(was, now, within),
        sentence=sentence.format(*amounts(was, now, unit)),
        unit=unit,
    )
