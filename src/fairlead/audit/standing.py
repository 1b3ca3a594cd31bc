"""What each tenant has, before and after a change, in numbers that can be compared."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.audit.outcome import Outcome, Shown
from fairlead.audit.tolerance import difference, shortfall
from fairlead.model.words import counted, number


@dataclass(frozen=True)
class Standing:
    """Tasks of a tenant with one job that can run; else its share, weights not counted, by the
    units in which shares were counted before the change."""

    tasks: dict[str, dict[str, float]]  # by tenant, by job
    units: dict[str, float]  # by job
    able: frozenset[str]  # the jobs that can run somewhere

    def of(self, tenant: str, after: Standing) -> tuple[float, float, str]:
        """What the tenant has here, what it has there, and what is counted."""
        mine, then = self.tasks[tenant], after.tasks.get(tenant, {})
        mine = {job: has for job, has in mine.items() if job in self.able} or mine
        if len(mine) == 1:
            ((job, has),) = mine.items()
            return has, then.get(job, 0.0), "tasks"
        jobs = [job for job in mine if self.units[job] > 0]
        return (
            sum(mine[job] / self.units[job] for job in jobs),
            sum(then.get(job, 0.0) / self.units[job] for job in jobs),
            "share",
        )


def standing(outcome: Outcome) -> Standing:
    """What each tenant has."""
    tasks: dict[str, dict[str, float]] = {}
    units: dict[str, float] = {}
    for job in outcome.allocation.jobs:
        tasks.setdefault(job.tenant, {})[job.name] = job.tasks
        units[job.name] = job.alone if job.scale is None else job.scale
    able = frozenset(job.name for job in outcome.allocation.jobs if job.nowhere is None)
    return Standing(tasks, units, able)


def amount(value: float, unit: str) -> str:
    """`3 tasks`, `the share 0.25`."""
    return counted(value, "task") if unit == "tasks" else f"the share {number(value)}"


def falls(before: Outcome, after: Outcome, tenant: str, when: str) -> Shown | None:
    """By how much the tenant falls; None where it is not in both."""
    return _compared(before, after, tenant, f"{tenant} falls from {{}} to {{}} {when}.", fall=True)


def moves(before: Outcome, after: Outcome, tenant: str, when: str) -> Shown | None:
    """By how much what the tenant has changes, either way; None where it is not in both."""
    return _compared(before, after, tenant, f"{tenant} goes from {{}} to {{}} {when}.", fall=False)


def _compared(
    before: Outcome, after: Outcome, tenant: str, sentence: str, *, fall: bool
) -> Shown | None:
    first, second = standing(before), standing(after)
    if tenant not in first.tasks:
        return None
    was, now, unit = first.of(tenant, second)
    return Shown(
        before=was,
        after=now,
        slack=shortfall(was, now) if fall else difference(was, now),
        sentence=sentence.format(amount(was, unit), amount(now, unit)),
        unit=unit,
    )
