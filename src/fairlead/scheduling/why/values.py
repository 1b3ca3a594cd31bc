"""Why tasks wait: the reasons as values, with their counts, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairlead.model import shares
from fairlead.model.report import gang_words, limit_words, readable
from fairlead.model.words import listing, machines, timespan, verb
from fairlead.scheduling.why.rests import AfterStint, Resting

NAMED = 3
"""How many jobs a sentence names; the others are counted."""

NEVER = "it can never run, because"
"""So begins what no task that ends would change."""

Counts = tuple[tuple[str, int], ...]
"""Names with a number of machines each."""


@dataclass(frozen=True, slots=True)
class NoMachine:
    """There is no machine at all."""

    def __str__(self) -> str:
        return "there is no machine"


@dataclass(frozen=True, slots=True)
class Excluded:
    """No machine satisfies the constraint. `parts` counts the machines that each part of it
    excludes, each part by itself; `slips` are names in it that no machine has."""

    machines: int
    parts: Counts
    slips: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = ", ".join(f"`{part}` excludes {count}" for part, count in self.parts)
        why = "; ".join((parts, *self.slips))
        if self.machines == 1:
            return f"{NEVER} the only machine does not satisfy its constraint: {why}"
        return f"{NEVER} none of {self.machines} machines satisfies its constraint: {why}"


@dataclass(frozen=True, slots=True)
class TooSmall:
    """The machines that satisfy the constraint do not hold a task even when empty. `lacking`
    counts those that have too little of each resource."""

    machines: int
    lacking: Counts

    def __str__(self) -> str:
        return (
            f"{NEVER} {machines(self.machines)} {verb(self.machines, 'satisfy')} its constraint but"
            f" {verb(self.machines, 'are')} too small even when empty: {_too_little(self.lacking)}"
        )


@dataclass(frozen=True, slots=True)
class OverLimit(shares.OverLimit):
    """The same of a live job."""

    def __str__(self) -> str:
        return f"{NEVER} {limit_words(self)}"


@dataclass(frozen=True, slots=True)
class GangTooLarge(shares.GangTooLarge):
    """The same of a live job."""

    def __str__(self) -> str:
        return f"{NEVER} {gang_words(self)}"


@dataclass(frozen=True, slots=True)
class NoRoom:
    """Machines that hold a task when empty have too little left. `lacking` counts those that have
    too little of each resource free. `able` counts all that hold a task when empty, `room` those
    of them where nothing is in its way."""

    machines: int
    lacking: Counts
    able: int
    room: int = 0

    def __str__(self) -> str:
        # What is lacking comes first: it must be read where there is little room.
        (first, count), *rest = self.lacking
        if self.able == 1:
            lacking = " and ".join(name for name, _ in self.lacking)
            return f"too little {lacking} is free on the one machine that could run it"
        if not rest and count == self.able:
            return f"too little {first} is free on all {count} machines that could run it"
        more = "".join(f", too little {name} on {on}" for name, on in rest)
        room = f"; {self.room} {verb(self.room, 'have')} room" if self.room else ""
        return (
            f"too little {first} is free on {count}{more}{',' * bool(rest)}"
            f" of the {self.able} machines that could run it{room}"
        )


@dataclass(frozen=True, slots=True)
class Behind:
    """Other waiting jobs come first, of those that could use a machine which this one could use:
    those of less level, then those submitted earlier. `first` are the first of them with their
    levels, `jobs` how many there are."""

    level: float
    jobs: int
    first: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        named = ", ".join(f"{job} ({level:.6g})" for job, level in self.first[:NAMED])
        more = f" and {self.jobs - NAMED} more" if self.jobs > NAMED else ""
        one = "job comes" if self.jobs == 1 else "jobs come"
        level = f"its level (share ÷ weight) is {self.level:.6g}"
        return f"{level}; {self.jobs} {one} first: {named}{more}"


@dataclass(frozen=True, slots=True)
class Gang:
    """So many tasks start together, and only `fit` of them do now."""

    size: int
    fit: int

    def __str__(self) -> str:
        fit = "fits" if self.fit == 1 else "fit"
        return f"{self.size} tasks start together, and {self.fit} {fit} now"


@dataclass(frozen=True, slots=True)
class Term:
    """For so many seconds machines are held already, and from now on, where no task ends there."""

    since: Fraction
    left: Fraction

    def __str__(self) -> str:
        left = timespan(float(self.left))
        if not self.since:
            return f"for {left} if no task ends there"
        return f"for {timespan(float(self.since))} already, and {left} more if no task ends there"


@dataclass(frozen=True, slots=True)
class Cap:
    """A tenant's jobs hold so much that what is to start next would pass its limit, beside what is
    set aside for other jobs (`whom`). `own`: how long the room below the limit is set aside for
    this one."""

    tenant: str
    resource: str
    held: Fraction
    limit: Fraction
    aside: Fraction = Fraction(0)
    whom: tuple[str, ...] = ()
    own: Term | None = None

    def __str__(self) -> str:
        held, limit, aside = readable(self.held, self.limit, self.aside)
        said = f"tenant {self.tenant} holds {held} {self.resource} of the {limit} that it may hold"
        if self.whom:
            whom = listing(self.whom, NAMED)
            said += f"; the first {aside} that are free are set aside for {whom}"
        if self.own is not None:
            said += f"; room below it is set aside for this one, {self.own}"
        return said


@dataclass(frozen=True, slots=True)
class Prefers:
    """Until that moment it waits for one of the machines that it prefers, of which there are
    `machines`; `others` would have room."""

    until: int
    seconds: Fraction
    machines: int
    others: int

    def __str__(self) -> str:
        which = "the machine" if self.machines == 1 else f"one of {self.machines} machines"
        if not self.machines:
            which = "a machine, which is not there,"
        waits = f"it waits {timespan(float(self.seconds))} more for {which} that it prefers"
        if not self.others:
            return waits
        return (
            f"{waits}; {'1 other has' if self.others == 1 else f'{self.others} others have'} room"
        )


@dataclass(frozen=True, slots=True)
class ReservedForOthers:
    """Machines that could run it are reserved or kept for other jobs. `whom` counts them by job;
    `left`: so many seconds the last of these is, where no task ends there (None: for ever)."""

    machines: int
    whom: Counts
    left: Fraction | None = None

    def __str__(self) -> str:
        whom = ", ".join(f"{count} for {job}" for job, count in self.whom)
        verb = "is" if self.machines == 1 else "are"
        said = f"{machines(self.machines)} {verb} reserved for others: {whom}"
        if self.left is None:
            return said
        return f"{said}; for {timespan(float(self.left))} if no task ends there"


@dataclass(frozen=True, slots=True)
class Reserved:
    """Machines are reserved for this job until it can start (`start`: when that is expected), or
    `kept`, as its gang collects their room. `term`: how long (None: without an end). `awaited`: of
    how many tasks of which jobs the end is waited for there."""

    machines: tuple[str, ...]
    start: int | None
    kept: bool = False
    term: Term | None = None
    awaited: Counts = ()

    def __str__(self) -> str:
        names = ", ".join(self.machines[:NAMED])
        more = f" and {len(self.machines) - NAMED} more" if len(self.machines) > NAMED else ""
        how = "kept for its gang, which collects room" if self.kept else "reserved for it"
        said = f"{names}{more} {verb(len(self.machines), 'are')} {how}"
        if self.term is not None:
            said += f", {self.term}"
        if self.awaited:
            named = ", ".join(f"{count} of {job}" for job, count in self.awaited[:NAMED])
            rest = len(self.awaited) - NAMED
            others = f" and of {rest} more jobs" if rest > 0 else ""
            said += f"; tasks run there that are to end first: {named}{others}"
        return said


@dataclass(frozen=True, slots=True)
class OneEach:
    """Machines that run a task of it already, of which it wants only one on each."""

    machines: int

    def __str__(self) -> str:
        return f"{machines(self.machines)} {verb(self.machines, 'run')} a task of it already"


@dataclass(frozen=True, slots=True)
class Draining:
    """Machines that could run it take no more tasks."""

    machines: int

    def __str__(self) -> str:
        return f"{machines(self.machines)} that could run it {verb(self.machines, 'are')} draining"


@dataclass(frozen=True, slots=True)
class NotLooked:
    """Machines have room: the next round of decisions will place it, or a rule keeps them."""

    machines: int

    def __str__(self) -> str:
        return f"{machines(self.machines)} {verb(self.machines, 'have')} room for it"


Reason = (
    NoMachine
    | Excluded
    | TooSmall
    | OverLimit
    | GangTooLarge
    | NoRoom
    | Behind
    | Gang
    | Cap
    | Prefers
    | ReservedForOthers
    | Reserved
    | Resting
    | AfterStint
    | OneEach
    | Draining
    | NotLooked
)

LASTING = (Excluded, TooSmall, OverLimit, GangTooLarge)
"""Reasons that stay as long as machines and limits do: a job with one of them can never run."""


@dataclass(frozen=True, slots=True)
class Machines:
    """Every machine that is there, counted once, under the first of these that is true of it."""

    excluded: int  # by the constraint
    too_small: int  # for a task, even when empty
    draining: int
    one_each: int  # runs a task already, and the job spreads
    no_room: int
    reserved: int  # has room, for others
    not_preferred: int  # has room, while the job waits for what it prefers
    room: int

    @property
    def total(self) -> int:
        return (
            self.excluded
            + self.too_small
            + self.draining
            + self.one_each
            + self.no_room
            + self.reserved
            + self.not_preferred
            + self.room
        )


@dataclass(frozen=True, slots=True)
class Why:
    """How a job stands, and why those of its tasks that wait do so.

    `tasks` and `waiting` are None where the job is unlimited. `running` counts launched tasks as
    well. `level` is None while the job has no place in the order.
    """

    job: str
    tasks: int | None
    running: int
    stopping: int
    over: int
    waiting: int | None
    level: float | None
    machines: Machines
    reasons: tuple[Reason, ...]

    @property
    def never(self) -> bool:
        """Whether it can run on no machine that is there, whatever ends."""
        return any(isinstance(reason, LASTING) for reason in self.reasons)

    def sentences(self) -> tuple[str, ...]:
        """How the job stands, in a sentence, and a sentence for each reason."""
        stands = f"runs {self.running}"
        if self.tasks is not None:
            stands += f" of {self.tasks}"
        if self.stopping:
            stands += f", {self.stopping} {verb(self.stopping, 'are')} being stopped"
        if self.over:
            stands += f", {self.over} {verb(self.over, 'have')} ended"
        match self.waiting:
            case None:
                stands += "; any number waits"
            case 0:
                stands += "; nothing waits"
            case 1:
                stands += "; 1 waits"
            case count:
                stands += f"; {count} wait"
        return (stands, *(str(reason) for reason in self.reasons))

    def __str__(self) -> str:
        return "\n".join(self.sentences())


def never_runs(reasons: Sequence[Reason]) -> str:
    """All that keeps a job from ever running, in one sentence."""
    begin, *others = map(str, reasons)
    return "; and ".join((begin, *(each.removeprefix(f"{NEVER} ") for each in others)))


def _too_little(lacking: Counts) -> str:
    return ", ".join(f"{count} {verb(count, 'have')} too little {r}" for r, count in lacking)
