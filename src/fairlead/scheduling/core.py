"""The online core: a deterministic state machine, events in, decisions out."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.errors import InputError, Mistake
from fairlead.model.job import Job
from fairlead.scheduling import apply as applying
from fairlead.scheduling import events
from fairlead.scheduling.advice.apply import advice_changed
from fairlead.scheduling.decisions import Decision, Launch, Reject, Stop
from fairlead.scheduling.events import Event
from fairlead.scheduling.kernels.change.machine_events import advance
from fairlead.scheduling.kernels.decide import decide
from fairlead.scheduling.kernels.guided import decide_guided
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE, DecisionCode, Full
from fairlead.scheduling.options import Options
from fairlead.scheduling.placement.registry import DEFAULT, find
from fairlead.scheduling.preemption.adapter import Stopping, guarantees_changed
from fairlead.scheduling.preemption.picture import pieces_of
from fairlead.scheduling.state.book import Book
from fairlead.scheduling.state.digest import digest
from fairlead.scheduling.state.ids import Ids, Unit
from fairlead.scheduling.state.invariants import check
from fairlead.scheduling.why.collect import why
from fairlead.scheduling.why.values import Why
from fairlead.sharing.policy import Policy


class Core:
    """Decides which task starts where, by what it is told and by nothing else.

    `policy` is one that has a scale, or `fifo`; `placement` a rule's name. All events of one
    moment are applied before `decide` is called once. `checked`: the state is checked after every
    decision, which is slow. `pending` are decisions of events, said by the next `decide`.
    """

    def __init__(
        self,
        resources: Sequence[Unit],
        policy: str | Policy = "tsf",
        placement: str = DEFAULT,
        options: Options | None = None,
        *,
        checked: bool = False,
    ) -> None:
        self.options = options or Options()
        self.placement = find(placement)
        self.book = Book(resources, policy, self.options.whole)
        self.checked = checked
        self.pending: list[Decision] = []
        preempt = self.options.preempt_after
        self.stopping = None if preempt is None else Stopping(preempt)
        header = self.state.header[0]
        header["picky"] = self.placement.picky
        header["tight"] = self.placement.tight
        after = self.options.reserve_after
        header["reserve_after"] = NEVER if after is None else after

    @property
    def state(self) -> State:
        """The tables of the state."""
        return self.book.state

    @property
    def ids(self) -> Ids:
        """What every slot is called."""
        return self.book.ids

    @property
    def now(self) -> int:
        """The time of the last event, in microseconds."""
        return self.book.now

    def apply(self, event: Event) -> None:
        """Takes in what happened. Raises InputError, and changes nothing, where it cannot have
        happened."""
        book = self.book
        if event.time < book.now:
            raise InputError(
                Mistake(
                    f"an event of {event.time} comes after one of {book.now} microseconds",
                    "give events in the order of their times",
                )
            )
        match event:
            case events.MachineJoined(time, machine):
                applying.machine_joined(book, time, machine)
            case events.MachineLeft(time, name):
                applying.machine_left(book, time, name)
            case events.MachineDrained(time, name, back):
                applying.machine_drained(book, time, name, back)
            case events.MachineChanged(time, machine):
                applying.machine_changed(book, time, machine)
            case events.JobSubmitted(time, job):
                applying.job_submitted(book, time, job)
            case events.JobChanged(time, name, tasks):
                applying.job_changed(book, time, name, tasks)
            case events.JobCancelled(time, name):
                applying.job_cancelled(book, time, name)
                self.pending += self._said()  # while what it is about has its name
            case events.TenantChanged(time, tenant):
                applying.tenant_changed(book, time, tenant)
            case events.TimePassed(time):
                if time > book.now:
                    advance(self.state.handle, time)
            case events.AdviceChanged():
                self._weigh()
                advice_changed(book, event)
            case events.GuaranteesChanged():
                self._weigh()
                if self.stopping is None:
                    guarantees_changed(book, event)
                else:
                    self.stopping.told(book, event)
            case _:
                applying.task_reported(book, event)

    def check_job(self, job: Job) -> None:
        """Raises InputError where what the job says by itself would be refused, so that several
        jobs can be looked at before the first is submitted."""
        applying.check_job(self.book, job)

    def decide(self) -> list[Decision]:
        """What is to be done now, in the order in which it was decided."""
        self._weigh()
        decisions = self.pending
        self.pending = []
        decisions += [Reject(*each) for each in self.book.rejected]
        self.book.rejected.clear()
        decisions += self._launch()
        if self.stopping is not None:
            last = decisions
            while self.stopping.carry_out(self.book, self._slots(last)):
                last = [*self._said(), *self._launch()]
                decisions += last
        if self.checked:
            self.check()
        return decisions

    def _weigh(self) -> None:
        """What machines and jobs that came or went mean for scales and pools: before decisions, and
        before the core is told what was computed from the scales and weights of now."""
        self.book.rescale()
        self.book.reweigh()

    def handle(self, event: Event) -> list[Decision]:
        """Applies one event and decides."""
        self.apply(event)
        return self.decide()

    def wake(self) -> int | None:
        """The earliest moment at which time alone changes something: to be told then by
        `TimePassed`."""
        header = self.state.header[0]
        moments = self._patience_ends()
        if header["first"] != NONE and header["reserve_after"] != NEVER and not header["hopeless"]:
            moments.append(int(header["first_since"] + header["reserve_after"]))
        if self.stopping is not None:
            moments.append(self.stopping.wake() or NEVER)
        return min((each for each in moments if self.now < each < NEVER), default=None)

    def _patience_ends(self) -> list[int]:
        """When each job that waits for what it prefers takes anything."""
        state = self.state
        alarms = state.alarm[: int(state.header[0]["alarms"])]
        if not len(alarms):
            return []
        jobs = state.job[alarms["job"]]
        there = (jobs["used"] > 0) & (jobs["seq"] == alarms["seq"])
        waits = jobs[there & (jobs["active"] > 0) & (jobs["patient"] > 0)]
        return (waits["since"] + waits["patience"]).tolist()  # type: ignore[no-any-return]  # Any

    def why(self, job: str) -> Why:
        """Why tasks of the job wait."""
        return why(self.state, self.ids, job)

    def check(self) -> None:
        """Raises InternalError where the state contradicts itself."""
        check(self.state)

    def digest(self) -> str:
        """The same if and only if the same happened, on every machine."""
        return digest(self.state, () if self.stopping is None else self.stopping.state())

    def _launch(self) -> list[Decision]:
        """Launches all that can be launched."""
        guided = self.placement.guided and self.state.header[0]["groups"] > 0
        said: list[Decision] = []
        while True:
            kernel = decide_guided if guided else decide
            full = kernel(self.state.handle, self.placement.rule)
            said += self._said()
            if full == Full.NOT:
                return said
            self.state.grow(full)

    def _slots(self, decisions: list[Decision]) -> list[tuple[int, int]]:
        """The job and the machine of each launch."""
        launches = (each for each in decisions if isinstance(each, Launch))
        return [(self.ids.jobs[each.job], self.ids.machines[each.machine]) for each in launches]

    def _said(self) -> list[Decision]:
        """The decisions that the kernels wrote down, in names."""
        header = self.state.header[0]
        said: list[Decision] = []
        ids = self.ids
        for kind, j, m, t, attempt, number, pieces in self.state.out[: int(header["out"])].tolist():
            job, machine = ids.job_at[j].name, ids.machine_at[m].name
            if kind == DecisionCode.STOP:
                said.append(Stop(job, number, machine, attempt))
                continue
            ids.tasks[j][number] = t
            said.append(Launch(job, number, machine, attempt, self._pieces(pieces)))
        header["out"] = 0
        return said

    def _pieces(self, bits: int) -> tuple[tuple[str, int], ...]:
        """The devices whose bits are set, by resource and index."""
        units = self.ids.units
        return tuple((units[r].name, piece) for r, piece in pieces_of(self.state, bits))
