"""Every machine filled by itself, once more from the definition: one clock, and who stops when."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flint import fmpq

from fairlead.model.errors import CertificateError
from fairlead.model.proof import Round
from fairlead.sharing.certificate.arithmetic import NONE, nearest
from fairlead.sharing.certificate.arrays import Classes, Seen
from fairlead.sharing.certificate.tree import Tree
from fairlead.sharing.numbers.sums import total


class Clock:
    """One machine of each class, on which shares rise with one clock until something is used up.

    A resource of a machine stops those who need it there; the tasks of a job stop it everywhere,
    and a limit all who are below it.
    """

    def __init__(
        self,
        seen: Seen,
        classes: Classes,
        tree: Tree,
        weight: Sequence[fmpq],
        scale: Sequence[Sequence[fmpq]],  # by class, then by job
    ) -> None:
        self._seen, self._tree, self._weight, self._scale = seen, tree, weight, scale
        self.count = [int(each) for each in classes.count]
        columns = range(len(self.count))
        self.active = [{j for j, each in enumerate(scale[c]) if each > 0} for c in columns]
        self.held = [dict.fromkeys(jobs, NONE) for jobs in self.active]
        self.stops: list[list[tuple[fmpq, set[int]]]] = [[] for _ in columns]
        self._left = [[fmpq(int(each)) for each in row] for row in classes.one]
        self._speed: list[dict[int, fmpq]] = [self._speeds(c) for c in columns]
        self._time = NONE
        self._number = {j: n for j, n in enumerate(seen.number) if n is not None}
        self._caps = dict(enumerate(tree.caps))
        while any(self.active):
            self._tick()

    def tasks(self) -> list[fmpq]:
        """(J,) the tasks of each job on all machines."""
        return [self._all(job, self.held) for job in range(len(self._seen.names))]

    def _speeds(self, column: int) -> dict[int, fmpq]:
        rate: dict[int, fmpq] = {}
        for top in self._tree.under:
            rate |= self._tree.rates(self._weight, self.active[column], top)
        return {job: each * self._scale[column][job] for job, each in rate.items()}

    def _all(self, job: int, amounts: Sequence[dict[int, fmpq]]) -> fmpq:
        each = zip(amounts, self.count, strict=True)
        return sum((on[job] * count for on, count in each if job in on), NONE)

    def _used(self, speeds: dict[int, fmpq], resource: int) -> fmpq:
        need = self._seen.need
        return total([v * int(need[j, resource]) for j, v in speeds.items() if need[j, resource]])

    def _tick(self) -> None:
        use = [
            [self._used(speeds, r) for r in range(len(self._seen.resources))]
            for speeds in self._speed
        ]
        times = []
        for c, speeds in enumerate(self._speed):
            times += [left / u for left, u in zip(self._left[c], use[c], strict=True) if u != 0]
            times += [(1 - self.held[c][j]) / v for j, v in speeds.items() if self._seen.spread[j]]
        for j, number in self._number.items():
            speed = self._all(j, self._speed)
            if speed != 0:
                times.append((number - self._all(j, self.held)) / speed)
        for cap in self._caps.values():
            speed = total([self._all(j, self._speed) * takes for j, takes in cap.takes.items()])
            if speed != 0:
                held = total([self._all(j, self.held) * takes for j, takes in cap.takes.items()])
                times.append((cap.amount - held) / speed)
        step = min(times)
        self._time = self._time + step
        for c, speeds in enumerate(self._speed):
            for j, v in speeds.items():
                self.held[c][j] += v * step
            self._left[c] = [a - u * step for a, u in zip(self._left[c], use[c], strict=True)]
        out = {j for j, n in self._number.items() if self._all(j, self.held) == n}
        for index, cap in list(self._caps.items()):
            held = total([self._all(j, self.held) * takes for j, takes in cap.takes.items()])
            if held == cap.amount:
                out |= cap.takes.keys()
                del self._caps[index]
        for c, jobs in enumerate(self.active):
            gone = [r for r, left in enumerate(self._left[c]) if left == 0]
            stopped = {
                j
                for j in jobs
                if j in out
                or any(self._seen.need[j, r] for r in gone)
                or (self._seen.spread[j] and self.held[c][j] == 1)
            }
            if stopped:
                self.active[c] = jobs - stopped
                self._speed[c] = self._speeds(c)
                self.stops[c].append((self._time, stopped))


def check_stops(
    clock: Clock, seen: Seen, column: int, rounds: Sequence[Round], where: str
) -> tuple[fmpq, ...]:
    """The exact level of each round. Raises CertificateError where these are not the rounds of the
    class: two levels may be one double, so that rounds are held against stops in their order."""
    right: list[tuple[fmpq, set[str]]] = []
    for level, jobs in clock.stops[column]:
        names = {seen.names[j] for j in jobs}
        if right and right[-1][0] == level:
            right[-1][1].update(names)
        else:
            right.append((level, names))
    levels: list[fmpq] = []
    stops = iter(right)
    level, left = NONE, set[str]()
    for each in rounds:
        frozen = set(each.frozen)
        if not frozen or len(frozen) < len(each.frozen):
            raise CertificateError(f"{where}: a job freezes twice, or nobody does")
        if not left:
            level, left = next(stops, (NONE, set()))
        if each.share != nearest(level) or not frozen <= left:
            raise _others(where, each.share, frozen, left if each.share == nearest(level) else ())
        left = left - frozen
        levels.append(level)
    if rest := [(level, left)] * bool(left) + list(stops):
        raise _others(where, nearest(rest[0][0]), (), rest[0][1])
    return tuple(levels)


def _others(
    where: str, at: float, stated: Collection[str], true: Collection[str]
) -> CertificateError:
    said, does = (", ".join(sorted(names)[:5]) or "nobody" for names in (stated, true))
    return CertificateError(f"{where}: at {at:.12g} {said} is said to freeze, and {does} does")
