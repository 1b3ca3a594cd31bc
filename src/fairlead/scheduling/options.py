"""Options of the online core, beside the policy and the placement rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from fairlead.model.errors import InputError

MICROSECONDS = 10**6

USUAL = 0
"""A `reserve_for` that nobody chose."""
TIMES = 10
"""It is so many times as long as `reserve_after`."""

CHOSEN = ("reserve_after", "reserve_for", "preempt_after", "whole")
"""The options that users choose."""


@dataclass(frozen=True, slots=True)
class Options:
    """Times are in microseconds; None: off.

    `reserve_after`: for the jobs of a tenant that has waited for so long machines are reserved.
    `reserve_for`: for so long at least machines are held for one job; 0: ten times
    `reserve_after`. Nobody chooses None: so it is where an older version decided, which held whole
    machines, without an end.
    `preempt_after`: tasks are stopped for a job that was below its guarantee for so long.
    `whole`: stand-alone numbers count whole tasks on each machine; otherwise divisible ones.
    `filling`: a tenant's jobs count as far as filling goes, and its first tasks together. Nobody
    chooses otherwise: it is False of what was decided by an older version, and stands for all its
    rules: jobs took no turns, machines were reserved where only tasks of jobs that come first
    were, too, and gangs kept no room.
    """

    reserve_after: int | None = 60 * MICROSECONDS
    reserve_for: int | None = USUAL
    preempt_after: int | None = None
    whole: bool = True
    filling: bool = True

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        """The options that were written down, perhaps by an older version. Raises InputError where
        there are some that only a newer one knows."""
        if said.get("floors"):
            raise InputError(
                "tenants have floors here, by which only builds between two releases decided",
                "use the build that wrote this, or begin with a new state folder",
            )
        said = {name: value for name, value in said.items() if name != "floors"}
        strange = sorted(set(said) - {field.name for field in fields(cls)})
        if strange:
            raise InputError(
                f"the core has options that are not known here: {', '.join(strange)}",
                "use the newer Fairlead that wrote them",
            )
        return cls(**{"filling": False, "reserve_for": None, **said})

    @property
    def least_lease(self) -> int | None:
        """How long machines are held at least; None where nothing is, or for ever."""
        if self.reserve_after is None or self.reserve_for is None or not self.filling:
            return None
        return self.reserve_for or TIMES * self.reserve_after

    def plain(self) -> dict[str, Any]:
        """The options as they are written down."""
        return asdict(self)

    def __post_init__(self) -> None:
        if self.reserve_for is not None and self.reserve_for < USUAL:
            raise InputError(
                f"reserve_for of {self.reserve_for} microseconds", "choose more than 0"
            )
        for name in ("reserve_after", "preempt_after"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise InputError(
                    f"{name} of {value} microseconds", "choose more than 0, or switch it off"
                )
