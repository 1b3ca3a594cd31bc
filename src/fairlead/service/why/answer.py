"""The answer why a job waits, or what became of it, as values and in sentences."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

from fairlead.engines.observing import Apart
from fairlead.model.errors import InputError
from fairlead.model.words import timespan
from fairlead.scheduling.core import Core
from fairlead.scheduling.reading.core_copy import FrozenCore, Spares
from fairlead.scheduling.reading.holders import Holder, find_holders
from fairlead.scheduling.transitions import TaskState
from fairlead.scheduling.why.values import (
    Behind,
    Excluded,
    NoMachine,
    NotLooked,
    Reserved,
    TooSmall,
    Why,
)
from fairlead.service.fairness.causes import Cause, CauseKind, cause_of
from fairlead.service.fairness.interface import Answered, JobShare
from fairlead.service.fairness.monitor import FairnessMonitor
from fairlead.service.fairness.shortfalls import measure
from fairlead.service.records.book import Records
from fairlead.service.records.jobs import JobRecord
from fairlead.service.records.lookup import display_name, display_names, find
from fairlead.service.records.tasks import Outcome
from fairlead.service.requests import Caller, JobKey
from fairlead.service.why.expected_start import Start, expected_start
from fairlead.service.why.remedies import Change, smallest_changes
from fairlead.wire.kinds import JobState

SECOND = 1_000_000

STOPPED = (CauseKind.HELD, CauseKind.OTHER_JOBS)
"""Causes that preemption ends, where it is on."""

ADMIN = Caller()


@dataclass(frozen=True, slots=True)
class Fair:
    """A job's share by the exact allocation of a moment, and its distance from it. `short`:
    tasks that it lacks of what it is guaranteed, and has tasks for; `since`: when its tenant was
    first seen short, without a gap. `preempt`: after how long others' tasks are stopped for it;
    None: never."""

    exact: JobShare
    moment: int
    policy: str
    running: int
    short: int
    since: int | None
    cause: Cause | None
    preempt: int | None = None

    def sentence(self, now: int, said_before: Collection[str] = ()) -> str:
        """All of it in words, but for a cause that was said before."""
        said = (
            f"by the exact allocation ({self.policy}, of {_since(self.moment, now)} ago) its fair"
            f" share is {self._share()}; it runs {self.running or 'none'}"
        )
        if self.short:
            said += f", {self.short} fewer than it could have by that"
            if self.since is not None and now > self.since:
                said += f", for {_since(self.since, now)} now"
            if self.cause is not None and self.cause.sentence not in said_before:
                said += f": {self.cause.sentence}"
            if self.preempt is not None and self.cause is not None and self.cause.kind in STOPPED:
                said += f"; such are stopped for who has lacked tasks for {_since(0, self.preempt)}"
        elif self.running > self.exact.whole:
            said += ", more than it is guaranteed: what others leave"
        if self.exact.drained:
            said += f"; machines that take no tasks now would add {self.exact.drained}"
        return said

    def _share(self) -> str:
        tasks, whole = f"{self.exact.tasks:.4g}", self.exact.whole
        if tasks == "0":
            return "0"
        share = "1 task" if tasks == "1" else f"{tasks} tasks"
        if not whole:
            return f"{share}, less than a whole one, so none is guaranteed"
        if tasks == str(whole):
            return f"{share}, guaranteed"
        if whole > self.exact.tasks:
            return (
                f"{share}; {whole} {_are(whole)} guaranteed, as its tenant's other jobs leave more"
            )
        return f"{share}, of which {whole} {_are(whole)} guaranteed"


@dataclass(frozen=True, slots=True)
class WhyJob:
    """A job at a moment.

    `why` is the core's word on what waits; None for a job that is over. `changes`: the smallest of
    each kind after which it would start now, each tried. `start`: when it is expected to, run
    forward on a copy of the core; None where nobody told how long tasks take. `holders`: who has
    the machines that could run it."""

    time: int
    job: str
    tenant: str
    state: JobState
    counts: tuple[int, ...]  # by TaskState
    reason: str = ""  # of a job that was rejected
    failures: tuple[str, ...] = ()
    why: Why | None = None
    fair: Fair | None = None
    changes: tuple[Change, ...] = ()
    start: Start | None = None
    holders: tuple[Holder, ...] = ()
    said: str = ""  # by another scheduler, which places its tasks

    @property
    def ahead(self) -> Behind | None:
        reasons = () if self.why is None else self.why.reasons
        return next((each for each in reasons if isinstance(each, Behind)), None)

    def sentences(self) -> tuple[str, ...]:
        """All of it, in the order in which a reader wants it."""
        said = [self._stands() if any(self.counts) else self._claims_nothing()]
        if self.said:
            said.append(self.said)
        if self.reason:
            said.append(f"it was rejected: {self.reason}")
        said += self.failures
        reasons = [] if self.why is None else [str(reason) for reason in self.why.reasons]
        said += reasons
        if self.fair is not None:
            said.append(self.fair.sentence(self.time, reasons))
        said += [change.sentence for change in self.changes]
        if self.start is not None:
            said.append(describe_start(self.time, self.start))
        return tuple(said)

    def _claims_nothing(self) -> str:
        does = "runs" if self.state is JobState.RUNNING else "waits"
        return f"{self.job} of {self.tenant} {does}, and has no part in the shares now"

    def _stands(self) -> str:
        kinds = [(count, _WORDS[state]) for state in TaskState if (count := self.counts[state])]
        total = sum(self.counts)
        tasks = "1 task" if total == 1 else f"{total or 'no'} tasks"
        if len(kinds) == 1:
            tasks += f", {'all ' if total > 1 else ''}{kinds[0][1]}"
        else:
            tasks += "".join(f", {count} {word}" for count, word in kinds)
        whose = "" if self.tenant == self.job else f" of {self.tenant}"
        return f"{self.job}{whose} {_STANDS[self.state]}: {tasks}"


@dataclass(frozen=True)
class Taken:
    """The causes of a job at a moment, taken in the loop's thread; what takes long is
    made of it elsewhere (`explain_taken`)."""

    said: WhyJob
    copy: FrozenCore | None  # where something is not over
    job: str  # by its unique name
    otherwise: Mapping[str, str]  # names that the reader is told, where they are not these
    exact: Answered | None = None
    since: int | None = None  # its tenant is short

    def display_name(self, name: str) -> str:
        """The form of a job's name for the reader."""
        return self.otherwise.get(name, name)


def take(
    time: int,
    records: Records,
    frozen: Callable[[], FrozenCore | None],
    watch: FairnessMonitor | None,
    key: JobKey,
    *,
    caller: Caller = ADMIN,
    own: bool = True,
    beside: str = "",
) -> Taken:
    """How the job that the caller means stands, and a copy of the core (`frozen`) to look at, of
    which others are made to try changes on. Raises InputError where there is no such job. Not
    `own`: what its tasks said when they failed is left out. `beside`: what another scheduler says
    of it, which places its tasks."""
    job = find(records, caller, key)
    if job is None:
        raise InputError(
            f'there is no job "{key}"' if isinstance(key, str) else f"there is no job {key}",
            "finished jobs are forgotten after a while: `fairlead jobs` lists the names",
        )
    name = display_name(records, caller, job)
    said = WhyJob(
        time=time,
        job=name,
        tenant=job.job.tenant or name,
        state=job.state,
        counts=tuple(job.counts),
        reason=job.reason if own else "",
        failures=tuple(_failures(records, job)) if own else (),
        said=beside,
    )
    copy = None if job.over or job.cancelled else frozen()
    if copy is None or not copy.has(job.name):
        return Taken(said, None, job.name, {})
    taken = Taken(said, copy, job.name, display_names(records, caller))
    if watch is None:
        return taken
    return replace(taken, exact=watch.exact, since=watch.since(job.tenant))


def apart(time: int, job: str, held: Apart) -> Taken:
    """A job that another scheduler holds, or runs, itself: it is in no record."""
    none, state = (0,) * len(TaskState), JobState.RUNNING if held.runs else JobState.PENDING
    return Taken(WhyJob(time, job, held.tenant or job, state, none, said=held.why), None, job, {})


def explain_taken(taken: Taken, spares: Spares | None = None) -> WhyJob:
    """With the core's reasons, the exact share, the changes that would start it, each tried, and
    the expected start. Touches nothing that the loop owns: to be called in any thread. `spares`:
    copies to be written over."""
    said = taken.said
    if taken.copy is None:
        return said
    core = taken.copy.core
    why = core.why(taken.job, taken.display_name)
    said = replace(said, why=why, fair=_fair(core, taken, why))
    if why.waiting != 0:
        holders = find_holders(core, core.ids.jobs[taken.job], taken.display_name)
        said = replace(said, holders=tuple(holders))
    if not core.placement.places:
        return said  # what would start it here says nothing of whoever places
    if why.waiting == 0 or any(isinstance(reason, NotLooked) for reason in why.reasons):
        return said
    changes = smallest_changes(core, why, taken.display_name, spares)
    return replace(said, changes=changes, start=start_of(core, why))


_STANDS = {
    JobState.PENDING: "is pending",
    JobState.RUNNING: "is running",
    JobState.FINISHED: "has finished",
    JobState.FAILED: "has failed",
    JobState.CANCELLED: "was cancelled",
}

_WORDS = {state: state.name.lower() for state in TaskState} | {TaskState.STOPPING: "being stopped"}

_CODED = (Outcome.EXITED, Outcome.SIGNALLED)
"""Of these the code says something."""

SHOWN = 3
"""So many failed tasks are told of; the others are counted."""
SEARCHED = 10_000
"""Among so many tasks failed ones are looked for."""


def _failures(records: Records, job: JobRecord) -> list[str]:
    """The ends of the first tasks that failed, and of those that ended well what there is to say
    of the first."""
    failed = job.counts[TaskState.FAILED]
    if not failed:
        return _remarks(records, job)
    found: list[str] = []
    for number in range(min(job.rows, SEARCHED)):
        if len(found) == min(SHOWN, failed):
            break
        if records.table.state[job.first + number] == TaskState.FAILED:
            task = records.task(job, number)
            how = task.outcome.name.lower().replace("_", " ")
            if task.outcome in _CODED:
                how += f" {task.code}"
            where = "" if task.machine is None else f" on {task.machine}"
            why = f": {task.why}" if task.why else ""
            found.append(f"task {number} failed in attempt {task.attempt}{where} ({how}){why}")
    if failed > len(found):
        found.append(f"{failed - len(found)} more failed")
    return found + _remarks(records, job)


def _remarks(records: Records, job: JobRecord) -> list[str]:
    """Of tasks that ended well, what the engine says of the first end of which it says something,
    as that an output is not whole."""
    states = records.table.state
    finished = TaskState.FINISHED
    said = [n for n in sorted(job.why or ()) if states[job.first + n] == finished]
    if not said or job.why is None:
        return []
    more = f" ({len(said) - 1} more of such)" if len(said) > 1 else ""
    return [f"task {said[0]} ended well: {job.why[said[0]]}{more}"]


def _fair(core: Core, taken: Taken, why: Why) -> Fair | None:
    exact = None if taken.exact is None else taken.exact.answer.jobs.of(why.job)
    if exact is None or taken.exact is None:  # or it is older than the job
        return None
    wanted = exact.whole if why.waiting is None else min(exact.whole, why.running + why.waiting)
    short = max(wanted - why.running, 0)
    gang = core.ids.job_at[core.ids.jobs[why.job]].gang > 1  # gangs are not helped
    return Fair(
        exact=exact,
        moment=taken.exact.answer.time,
        policy=taken.exact.question.policy,
        running=why.running,
        short=short,
        since=taken.since if short else None,
        cause=_cause(core, taken) if short else None,
        preempt=None if gang else core.options.preempt_after,
    )


def _cause(core: Core, taken: Taken) -> Cause:
    beyond = measure(core, taken.exact).beyond(core)
    return cause_of(core, beyond, core.ids.jobs[taken.job], display_name=taken.display_name)


def start_of(core: Core, why: Why) -> Start | None:
    """When the next task of a job would start; None where nobody can say, or it never will."""
    if any(isinstance(reason, (NoMachine, Excluded, TooSmall)) for reason in why.reasons):
        return None  # however long one waits
    own = next((each for each in why.reasons if isinstance(each, Reserved)), None)
    found = expected_start(core, why.job)
    if found is None and own is not None and own.start is not None:
        return Start(own.start, 1, own.start, 0)
    return found


def describe_start(now: int, start: Start) -> str:
    if start.time is not None:
        what = "1 task" if start.tasks == 1 else f"{start.tasks} tasks"
        said = f"{what} of it {_are(start.tasks)} expected to start in {_since(now, start.time)}"
        said += ", if tasks take their declared duration"
    else:
        looked = _since(now, start.until)
        said = f"none of its tasks is expected to start in the next {looked}"
    if start.unknown:
        one = start.unknown == 1
        said += (
            f"; {'1 running task has' if one else f'{start.unknown} running tasks have'} no"
            " declared duration, so it may be earlier"
        )
    return said


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _since(then: int, now: int) -> str:
    return timespan((now - then) / SECOND)
