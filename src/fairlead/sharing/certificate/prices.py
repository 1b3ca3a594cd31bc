"""What is scarce, with its prices: what they charge a task, and the bound that follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairlead.model.errors import CertificateError
from fairlead.model.shares import Placement, Stop
from fairlead.sharing.certificate.seen import Classes, Floats, Seen
from fairlead.sharing.certificate.tolerances import EXACT
from fairlead.sharing.certificate.tree import Tree

# Which of class, resource, tenant and job each kind of stop names.
ON_CLASS = (True, True, False, False)
ON_LIMIT = (False, True, True, False)
ON_TASKS = (False, False, False, True)
ON_SPREAD = (True, False, False, True)

# Jobs that are looked at together: what they cost on all classes stays in the processor's cache,
# which is twenty times faster.
BLOCK = 500


@dataclass(frozen=True)
class Scarce:
    """Everything that can stop a job: machines, numbers of tasks, limits."""

    seen: Seen
    classes: Classes
    tree: Tree
    tasks: Floats  # (J,)
    spread: bool = True  # False where the machines are looked at as one

    def prices(self, stops: Sequence[Stop], where: str) -> Prices:
        """The prices as arrays. Raises CertificateError where one names nothing that is scarce."""
        seen, classes = self.seen, self.classes
        amount = np.zeros_like(classes.capacity)
        task = np.zeros(len(seen.names))
        cap = np.zeros(len(self.tree.caps))
        caps = {(each.tenant, each.resource): index for index, each in enumerate(self.tree.caps)}
        spread: list[tuple[int, int, float]] = []
        named = {(s.machine_class, s.resource, s.tenant, s.job) for s in stops}
        for stop in stops:
            price = _positive(stop.price, f"{where}: a price")
            column = classes.column.get(_or(stop.machine_class, -1))
            resource = seen.resource.get(stop.resource or "")
            job = seen.job.get(stop.job or "")
            kind = tuple(
                part is not None
                for part in (stop.machine_class, stop.resource, stop.tenant, stop.job)
            )
            at = caps.get((stop.tenant or "", stop.resource or ""))
            if kind == ON_CLASS and column is not None and resource is not None:
                amount[column, resource] = price
            elif kind == ON_LIMIT and at is not None:
                cap[at] = price
            elif kind == ON_TASKS and job is not None and np.isfinite(self.tasks[job]):
                task[job] = price
            elif (
                kind == ON_SPREAD
                and job is not None
                and column is not None
                and self.spread
                and seen.spread[job]
            ):
                spread.append((job, column, price))
            else:
                raise CertificateError(f"{where}: a price for what is not scarce: {stop}")
        if len(named) != len(stops):
            raise CertificateError(f"{where}: two prices for the same thing")
        return Prices(self, amount, task, cap, tuple(spread))

    def violation(self, tasks: Floats) -> float:
        """The largest relative excess of tasks (J, C) over what there is. Raises CertificateError
        where it is more than a rounding error."""
        seen, classes = self.seen, self.classes
        if np.any(tasks[~classes.usable]):
            job, column = np.argwhere((tasks != 0) & ~classes.usable)[0]
            raise CertificateError(
                f"job {seen.names[job]} has tasks on class {self._number(column)}, which it cannot"
                " use"
            )
        worst = 0.0
        used = tasks.T @ seen.demand
        over, at = _over(used, classes.total)
        if over > EXACT:
            column, resource = np.unravel_index(at, used.shape)
            raise CertificateError(
                f"the tasks on class {self._number(column)} need {used[column, resource]:.12g} of"
                f" {seen.resources[resource]}, of which there is"
                f" {classes.total[column, resource]:.12g}"
            )
        worst = max(worst, over)
        each = tasks.sum(axis=1)
        over, at = _over(each, self.tasks)
        if over > EXACT:
            raise CertificateError(
                f"job {seen.names[at]} runs {each[at]:.12g} tasks and has only"
                f" {self.tasks[at]:.12g}"
            )
        worst = max(worst, over)
        for cap in self.tree.caps:
            over, _ = _over(np.array([each @ cap.need]), np.array([cap.most]))
            if over > EXACT:
                raise CertificateError(
                    f"the jobs of {cap.tenant} hold {each @ cap.need:.12g} of {cap.resource} and"
                    f" are limited to {cap.most:.12g}"
                )
            worst = max(worst, over)
        rows = np.flatnonzero(seen.spread) if self.spread else np.zeros(0, dtype=int)
        if rows.size:
            over, at = _over(tasks[rows], np.broadcast_to(classes.count, tasks[rows].shape))
            if over > EXACT:
                job, column = np.unravel_index(at, tasks[rows].shape)
                raise CertificateError(
                    f"job {seen.names[rows[job]]} spreads and has more than one task on a machine"
                    f" of class {self._number(column)}"
                )
            worst = max(worst, over)
        return worst

    def possible(self, tasks: Floats) -> Floats:
        """(J,) how many tasks each job has once what exceeds anything is taken away."""
        used = tasks.T @ self.seen.demand
        most = np.divide(used, self.classes.total, out=np.ones_like(used), where=used > 0)
        fewer = tasks / np.maximum(most.max(axis=1, initial=1.0), 1.0)
        if self.spread:
            rows = np.flatnonzero(self.seen.spread)
            fewer[rows] = np.minimum(fewer[rows], self.classes.count)
        each: Floats = np.minimum(fewer.sum(axis=1), self.tasks)
        for cap in self.tree.caps:
            held = float(each @ cap.need)
            if held > cap.most:
                each = np.where(cap.need > 0, each * (cap.most / held), each)
        return each

    def placed(
        self, placements: Iterable[tuple[str, Sequence[Placement]]], where: str = ""
    ) -> Floats:
        """(J, C) the tasks that are placed."""
        tasks = np.zeros(self.classes.usable.shape)
        for name, places in placements:
            job = self.seen.job.get(name)
            if job is None:
                raise CertificateError(f"{where}tasks of job {name}, which does not exist")
            for place in places:
                column = self.classes.column.get(place.machine_class)
                if column is None or tasks[job, column]:
                    raise CertificateError(
                        f"{where}job {name} has tasks on class {place.machine_class}, "
                        + ("which does not exist" if column is None else "twice")
                    )
                tasks[job, column] = _positive(
                    place.tasks, f"{where}the number of tasks of job {name}"
                )
        return tasks

    def _number(self, column: int | np.integer[Any]) -> int:
        return next(number for number, at in self.classes.column.items() if at == column)


@dataclass(frozen=True)
class Prices:
    """Prices of everything that is scarce, those that are not named being 0."""

    scarce: Scarce
    amount: Floats  # (C, R)
    task: Floats  # (J,)
    cap: Floats  # (L,)
    spread: tuple[tuple[int, int, float], ...]  # (job, class, price)

    def cheapest(self, shut: Floats) -> Floats:
        """(J,) what each job pays for a task where it is cheapest; `shut` (C, J) is inf where a job
        may not run."""
        demand = self.scarce.seen.demand.T
        paid = self.task.copy()
        for begin in range(0, len(paid), BLOCK):
            jobs = slice(begin, begin + BLOCK)
            cost = self.amount @ demand[:, jobs]
            cost += shut[:, jobs]
            for job, column, price in self.spread:
                if begin <= job < begin + BLOCK:
                    cost[column, job - begin] += price
            paid[jobs] += cost.min(axis=0, initial=np.inf)
        for cap, price in zip(self.scarce.tree.caps, self.cap, strict=True):
            if price:
                paid += price * cap.need
        return paid

    def bound(self) -> float:
        """What everything that is scarce is worth: nobody can pay more than that together."""
        scarce = self.scarce
        rows = np.flatnonzero(self.task)
        worth = float((scarce.classes.total * self.amount).sum())
        worth += float(self.task[rows] @ scarce.tasks[rows])
        worth += float(self.cap @ np.array([cap.most for cap in scarce.tree.caps]))
        count = scarce.classes.count
        return worth + sum(price * float(count[column]) for _, column, price in self.spread)


def _over(used: Floats, there: Floats) -> tuple[float, int]:
    """The largest relative excess, and where."""
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(used > there, (used - there) / there, 0.0)
    if not excess.size:
        return 0.0, 0
    at = int(excess.argmax())
    return float(excess.flat[at]), at


def _or(value: int | None, other: int) -> int:
    return other if value is None else value


def _positive(value: float, what: str) -> float:
    if not 0 <= value < np.inf:
        raise CertificateError(f"{what} is {value}")
    return value
