"""The online core: a deterministic state machine, events in, decisions out."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairlead.model.errors import InputError, Mistakes
from fairlead.model.job import Job
from fairlead.scheduling import apply as applying
from fairlead.scheduling import events
from fairlead.scheduling.advice.apply import advice_changed
from fairlead.scheduling.decisions import Decision, Launch, Reject, Stop
from fairlead.scheduling.events import Event
from fairlead.scheduling.kernels.memory.codes import DecisionCode
from fairlead.scheduling.options import Options
from fairlead.scheduling.placement.registry import DEFAULT, ELSEWHERE
from fairlead.scheduling.preemption.adapter import guarantees_changed
from fairlead.scheduling.preemption.picture import pieces_of
from fairlead.scheduling.slot_core import SlotCore
from fairlead.scheduling.state.ids import Ids, Unit
from fairlead.scheduling.why.collect import why
from fairlead.scheduling.why.never import Prospects
from fairlead.scheduling.why.values import Why
from fairlead.sharing.policy import Policy


class Core(SlotCore):
    """Decides which task starts where, by events and by nothing else.

    `policy` is one that has a scale, or `fifo`; `placement` a rule's name. All events of one
    moment are applied before `decide` is called once. `checked`: the state is checked after every
    decision, which is slow. `pending` are decisions of events, for the next `decide` to return.
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
        super().__init__(resources, policy, placement, options or Options())
        self.checked = checked
        self.pending: list[Decision] = []

    @property
    def ids(self) -> Ids:
        return self.book.ids

    def apply(self, event: Event) -> None:
        """Takes in what happened. Raises InputError, and changes nothing, where it cannot have
        happened."""
        book = self.book
        if event.time < book.now:
            raise InputError(
                f"an event of {event.time} comes after one of {book.now} microseconds",
                "give events in the order of their times",
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
                self.pending += self._named()  # while what it is about has its name
            case events.TaskPlaced(time, name, number, machine):
                if self.placement.places:
                    raise InputError(
                        "this core places tasks itself", f"its rule must be {ELSEWHERE}"
                    )
                applying.task_placed(book, time, name, number, machine)
            case events.TenantChanged(time, tenant):
                applying.tenant_changed(book, time, tenant)
            case events.TimePassed(time):
                book.pass_time(time)
            case events.AdviceChanged():
                book.refresh()
                advice_changed(book, event)
            case events.GuaranteesChanged():
                book.refresh()
                if self.stopping is None:
                    guarantees_changed(book, event)
                else:
                    self.stopping.set_guarantees(book, event)
            case _:
                applying.task_reported(book, event)

    def job_mistakes(self, jobs: Sequence[Job]) -> Mistakes:
        """Everything for which these jobs would be refused, each by itself, so that several can be
        looked at before the first is submitted."""
        return applying.job_mistakes(self.book, jobs)

    def decide(self) -> list[Decision]:
        """Decides what is to be done now; decisions come in the order in which they were made."""
        self.book.refresh()
        decisions = self.pending
        self.pending = []
        decisions += [Reject(*each) for each in self.book.rejected]
        self.book.rejected.clear()
        self.run_round()
        decisions += self._named()
        if self.checked:
            self.check()
        return decisions

    def handle(self, event: Event) -> list[Decision]:
        self.apply(event)
        return self.decide()

    def why(self, job: str, display_name: Callable[[str], str] = str, *, ahead: bool = True) -> Why:
        """Why tasks of the job wait. `display_name`: what sentences call a job of this
        name. Not `ahead`: who comes first is left out, which takes most of the time."""
        return why(self.state, self.ids, job, display_name, ahead=ahead)

    def prospects(self) -> Prospects:
        """Remarks on jobs before they are submitted, of which `job_mistakes` has
        nothing to say: whether they could ever run on the machines that are there."""
        return Prospects(self.book)

    def _named(self) -> list[Decision]:
        """The decisions that the kernels wrote down, in names."""
        decisions: list[Decision] = []
        ids = self.ids
        for kind, j, m, t, attempt, number, pieces in self.take_decisions().tolist():
            job, machine = ids.job_at[j].name, ids.machine_at[m].name
            if kind == DecisionCode.STOP:
                decisions.append(Stop(job, number, machine, attempt))
                continue
            ids.hold(j, number, t)
            decisions.append(Launch(job, number, machine, attempt, self._pieces(pieces)))
        return decisions

    def _pieces(self, bits: int) -> tuple[tuple[str, int], ...]:
        """The devices whose bits are set, by resource and index."""
        units = self.ids.units
        return tuple((units[r].name, piece) for r, piece in pieces_of(self.state, bits))
