"""Marks on the time line of shares: what changed who gets what, in bounded memory. What is older is
told more coarsely."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fairlead.wire.kinds import MarkKind

MOST_MARKS = 1024
"""Marks that are kept. Each time there are more, every two of a kind in the older half are
joined."""


@dataclass(frozen=True, slots=True)
class Mark:
    """It happened so many times from `time` to `last`. `tenant`: whose tasks were stopped, or who
    was changed, and has that `weight` now; `machine`: which one. Each is None where it was several,
    or where it is about none."""

    time: int
    kind: MarkKind
    tenant: str | None = None
    machine: str | None = None
    weight: str | None = None
    count: int = 1
    last: int = 0

    def join(self, later: Mark) -> Mark:
        return replace(
            self,
            tenant=self.tenant if self.tenant == later.tenant else None,
            machine=self.machine if self.machine == later.machine else None,
            weight=later.weight if self.tenant == later.tenant else None,
            count=self.count + later.count,
            last=later.last,
        )


class Marks:
    """The marks, oldest first. Those of one moment that are alike are one."""

    def __init__(self, rows: Iterable[Mark] = (), most: int = MOST_MARKS) -> None:
        self._most = max(most, 64)
        self._rows: list[Mark] = list(rows)

    def __iter__(self) -> Iterator[Mark]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Marks) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]  # it changes

    def copy(self) -> Marks:
        """The same marks, which later ones do not change."""
        return Marks(self._rows, self._most)

    def add(self, mark: Mark) -> None:
        """One more, not before the last."""
        mark = replace(mark, last=max(mark.time, mark.last))
        at = self._alike(mark)
        if at is None:
            self._rows.append(mark)
            if len(self._rows) > self._most:
                self._thin()
        else:
            self._rows[at] = self._rows[at].join(mark)

    def _alike(self, mark: Mark) -> int | None:
        """Where the one of this moment is that it belongs to."""
        for at in range(len(self._rows) - 1, -1, -1):
            one = self._rows[at]
            if one.last != mark.time or one.time != mark.time:
                return None
            if one.kind is mark.kind and one.tenant == mark.tenant:
                return at
        return None

    def _thin(self) -> None:
        half = len(self._rows) // 2
        old = _in_pairs(self._rows[:half], by_tenant=True)
        if len(old) > half * 3 // 4:  # so many tenants that few have two marks
            old = _in_pairs(self._rows[:half], by_tenant=False)
        self._rows[:half] = old


def _in_pairs(rows: Sequence[Mark], *, by_tenant: bool) -> list[Mark]:
    """Every two of a kind that follow each other as one, where the first of them was."""
    made: list[Mark | None] = list(rows)
    first: dict[tuple[MarkKind, str | None], int] = {}
    for at, mark in enumerate(rows):
        key = (mark.kind, mark.tenant if by_tenant else None)
        before = first.pop(key, None)
        if before is None:
            first[key] = at
        else:
            made[before], made[at] = rows[before].join(mark), None
    return [mark for mark in made if mark is not None]
