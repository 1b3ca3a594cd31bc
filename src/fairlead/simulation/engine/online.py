"""The online core as a run uses it: machines and jobs by their places in the workload, no names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fairlead.scheduling.advice.apply import advice_changed
from fairlead.scheduling.advice.ranking import advice_of
from fairlead.scheduling.apply import tenant_changed
from fairlead.scheduling.events import AdviceChanged, GuaranteesChanged
from fairlead.scheduling.kernels.change.machine_events import (
    advance,
    before_change,
    change,
    end,
    join,
    leave,
)
from fairlead.scheduling.kernels.memory.state import Ints, Records, Words
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE, DecisionCode, Full, TrailCode
from fairlead.scheduling.kernels.search.signature import signatures
from fairlead.scheduling.placement.registry import DEFAULT, find
from fairlead.scheduling.preemption.adapter import Stopping
from fairlead.scheduling.preemption.guarantees import named
from fairlead.scheduling.state import slots
from fairlead.scheduling.state.book import Book
from fairlead.scheduling.state.digest import digest
from fairlead.scheduling.state.distinct_rows import alike
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.state.invariants import check
from fairlead.scheduling.state.pools import check_job_beside
from fairlead.scheduling.state.scales import Scaled, Scaler
from fairlead.scheduling.state.terms import Listed, NotListed, Term
from fairlead.sharing.present import exact_now
from fairlead.sharing.problem.problem import Bools
from fairlead.simulation.engine.changes import Change
from fairlead.simulation.engine.feed import JOBS, Chunk
from fairlead.simulation.engine.options import Options
from fairlead.simulation.kernels.loop import wake
from fairlead.simulation.measure.distances import snapshot_of, tenants_of
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.workload import Workload

ON_MACHINE = 16
"""Tasks on a machine for which there is room from the start."""


def policy_named(policy: str) -> str:
    """The policy's one canonical form. Raises InputError where no run can be led by it."""
    if slots.named(policy):
        return slots.canonical(policy)
    return Scaler(policy, (), np.zeros(0, np.int64)).spec


def placement_named(placement: str | None) -> str:
    """The rule's name. Raises InputError where there is no such rule."""
    return find(placement or DEFAULT).name


class Online:
    """The core's state for one run, and what changes it outside of the compiled loop."""

    def __init__(
        self, workload: Workload, policy: str, placement: str | None, options: Options
    ) -> None:
        self._workload = workload
        units = [Unit(each.name, each.unit, each.piece) for each in workload.resources]
        self.book = Book(units, policy, options.whole)
        self.state = self.book.state
        self.policy = self.book.scaler.spec
        rule = find(placement or DEFAULT)
        self.placement, self.rule, self._guided = rule.name, rule.rule, rule.guided
        preempt = options.preempt_after
        self.stopping = None if preempt is None else Stopping(preempt)
        self.exact = self._guided or self.stopping is not None
        self.pools = any(tenant.pool is not None for tenant in workload.tenants)
        whole = self.state.header[0]
        whole["reserve_after"] = NEVER if options.reserve_after is None else options.reserve_after
        whole["picky"] = rule.picky
        whole["tight"] = rule.tight
        names = workload.machines.names
        self._make_room(len(names), JOBS if workload.jobs is None else min(workload.jobs, JOBS))
        self._slot = np.full(len(names), NONE)
        self.machine_index: Ints = np.zeros(len(names), np.int64)
        self.terms: tuple[Term, ...] = ()
        self._satisfies: Words = np.zeros((len(names), 1), np.uint64)
        for tenant in workload.tenants:
            tenant_changed(self.book, 0, tenant)
        known = self.book.ids.tenants
        self.tenant_slots: Ints = np.array([known[t.name] for t in workload.tenants], np.int64)
        self._stale = True
        self._chunk: Chunk | None = None
        self.learn(workload.terms)

    def _make_room(self, machines: int, jobs: int) -> None:
        """Makes the tables as large as they are likely to become. They grow where they must."""
        rows = {
            Full.MACHINES: machines,
            Full.JOBS: jobs,
            Full.TENANTS: len(self._workload.tenants) + jobs,
            Full.TASKS: ON_MACHINE * machines,
            Full.OUT: ON_MACHINE * machines,
        }
        for table, wanted in rows.items():
            self.book.room_for(table, wanted)

    # Machines

    def join(self, joined: Sequence[Change]) -> None:
        """Machines of the workload are there, one after the other."""
        state, machines = self.state, [each.machine for each in joined]
        first = int(state.header[0]["machines"])
        there = first + len(machines)
        self.book.room_for(Full.MACHINES, len(machines))
        if there > len(self.machine_index):
            more = max(there, 2 * len(self.machine_index)) - len(self.machine_index)
            self.machine_index = np.pad(self.machine_index, (0, more))
        state.capacity[first:there] = np.array([each.capacity for each in joined])
        state.satisfies[first:there] = self._satisfies[machines]
        self.machine_index[first:there] = machines
        self._slot[machines] = np.arange(first, there)
        names = self._workload.machines.names
        for slot, machine in enumerate(machines, first):
            join(state.handle)
            self.book.ids.machines[names[machine]] = slot
        self._stale = True

    def leave(self, machine: int) -> None:
        """A machine is gone."""
        leave(self.state.handle, self.slot(machine))
        self._slot[machine] = NONE
        del self.book.ids.machines[self._workload.machines.names[machine]]
        self._stale = True

    def update(self, machine: int, capacity: Ints) -> None:
        """A machine has another capacity."""
        slot = self.slot(machine)
        before_change(self.state.handle, slot)
        self.state.capacity[slot] = capacity
        change(self.state.handle, slot)
        self._stale = True

    def slot(self, machine: int) -> int:
        """The slot of a machine that is there."""
        return int(self._slot[machine])

    def newest(self, machine: int, started: Ints) -> int:
        """The task of the machine that was launched last; NONE where there is none. `started` is
        the more, the later a task was."""
        newest, task = NONE, int(self.state.machine["first"][self.slot(machine)])
        while task != NONE:
            if newest == NONE or started[task] > started[newest]:
                newest = task
            task = int(self.state.task["machine_next"][task])
        return newest

    def refresh(self) -> None:
        """After machines changed: the scales of all jobs that are here or come next."""
        if not self._stale:
            return
        self._stale = False
        self.book.machines_changed()
        self.book.rescale()
        if self._chunk is not None:
            self.fit(self._chunk)

    # Jobs and time

    def learn(self, terms: tuple[Term, ...]) -> None:
        """More terms, whose bits are the next ones."""
        first = len(self.terms)
        self.terms += terms
        words = max(1, -(-len(self.terms) // 64))
        if words > self.state.words:
            self.state.widen(words)
            self._satisfies = _wide(self._satisfies, words)
        there = np.flatnonzero(self._slot != NONE)
        for bit, term in enumerate(terms, first):
            yes = self._satisfied(term)
            self._satisfies[yes, bit // 64] |= np.uint64(1 << bit % 64)
            if len(there):
                holds = np.zeros(int(self.state.header[0]["machines"]), bool)
                holds[self._slot[there]] = yes[there]
                self.state.set_term(bit, holds)
                self.book.machines_changed()

    def _satisfied(self, term: Term) -> Bools:
        """(machines of the workload,) which of them satisfy the term."""
        table = self._workload.machines
        match term:
            case Listed(listed):
                return np.array([name in listed for name in table.names], bool)
            case NotListed(listed):
                return np.array([name not in listed for name in table.names], bool)
        # A requirement looks at one label.
        yes = np.full(len(table.names), term.matches({}))
        for label, machines in table.labelled.get(term.key, ()):
            yes[machines] = term.matches({term.key: label})
        return yes

    def fit(self, chunk: Chunk) -> None:
        """Fills in what the jobs of a chunk are in the core."""
        self._chunk = chunk
        if self.pools:
            self._check_beside_pools(chunk)
        words = self.state.words
        chunk.needs, chunk.prefers = _wide(chunk.needs, words), _wide(chunk.prefers, words)
        rows = chunk.rows
        rows["tenant"] = NONE
        owned = rows["owner"] >= 0
        rows["tenant"][owned] = self.tenant_slots[rows["owner"][owned]]
        if self.state.header[0]["present"] == 0:
            # Without machines a job can run nowhere; it is fitted anew when they come.
            rows["scale"], rows["unit"], rows["usable"] = 0.0, 0, 0
            rows["signature"] = signatures(chunk.demand, chunk.needs, self.state.satisfied)
            return
        found = self._scales(chunk)
        rows["scale"], rows["unit"], rows["usable"] = found.scale, found.unit, found.usable
        rows["signature"] = signatures(chunk.demand, chunk.needs, self.state.satisfied)

    def _scales(self, chunk: Chunk) -> Scaled:
        """The scales of a chunk's jobs. Alike jobs are computed once."""
        spread = chunk.rows["spread"] == 1
        first, of_job = alike(
            np.hstack([chunk.demand, chunk.needs.view(np.int64), spread[:, None].astype(np.int64)])
        )
        names = (
            list(map(str, chunk.rows["number"][first].tolist()))
            if chunk.names is None
            else [chunk.names[at] for at in first.tolist()]
        )
        found = self.book.scales(chunk.demand[first], chunk.needs[first], spread[first], names)
        return Scaled(found.scale[of_job], found.unit[of_job], found.usable[of_job])

    def _check_beside_pools(self, chunk: Chunk) -> None:
        """Raises InputError where a job would weigh 1 beside a tenant that has a pool."""
        owners, first = np.unique(chunk.rows["owner"], return_index=True)
        for owner, at in zip(owners.tolist(), first.tolist(), strict=True):
            name = str(chunk.rows["number"][at]) if chunk.names is None else chunk.names[at]
            tenant = self._workload.tenants[owner].name if owner >= 0 else None
            check_job_beside(self.book.ids, name, tenant)

    def reweigh(self) -> None:
        """After jobs came or went: the weights of tenants with pools."""
        self.book.pools_changed = True
        self.book.reweigh()

    # The exact allocation

    def tell_exact(
        self, moment: Moment, job_name: Callable[[int], str]
    ) -> Iterator[AdviceChanged | GuaranteesChanged]:
        """Tells the core what the exact allocation of this moment says, and yields what it said."""
        exact = exact_now(snapshot_of(moment), tenants_of(self._workload, moment))
        jobs = [job_name(number) for number in moment.job.tolist()]
        # The events speak of names; here those of jobs are known while they are taken in.
        self.book.ids.jobs = dict(zip(jobs, self._job_slots(moment), strict=True))
        if self._guided:
            names = self._workload.machines.names
            machines = [names[machine] for machine in moment.machine.tolist()]
            advice = AdviceChanged(moment.time, advice_of(exact, jobs, machines))
            advice_changed(self.book, advice)
            yield advice
        if self.stopping is not None:
            guarantees = GuaranteesChanged(moment.time, named(jobs, exact.whole))
            self.stopping.told(self.book, guarantees)
            yield guarantees
        self.book.ids.jobs = {}

    def _job_slots(self, moment: Moment) -> list[int]:
        """The slots of a moment's jobs, which are in the order of submission."""
        rows = self.state.job[: int(self.state.header[0]["jobs"])]
        jobs = np.flatnonzero((rows["used"] == 1) & ((rows["waiting"] > 0) | (rows["held"] > 0)))
        found: list[int] = jobs[np.argsort(rows["seq"][jobs], kind="stable")].tolist()
        assert len(found) == len(moment.job)  # the moment is of now
        return found

    # Tasks that are cut short

    def lost(self, task: int) -> None:
        """The task in this slot is lost."""
        end(self.state.handle, task, int(TrailCode.LOST))

    def stopped(self, task: int) -> None:
        """The task in this slot, which was told to stop, has."""
        end(self.state.handle, task, int(TrailCode.STOPPED))

    def said(self, kind: DecisionCode) -> Records:
        """The decisions of a kind that lie in `out`."""
        out = self.state.out[: int(self.state.header[0]["out"])]
        found: Records = out[out["kind"] == kind].copy()
        return found

    def preempt_at(self) -> int:
        """When somebody will have been below its guarantee for long enough."""
        moment = None if self.stopping is None else self.stopping.wake()
        return NEVER if moment is None else moment

    # Time

    def pass_time(self, time: int) -> None:
        """It is so late now."""
        if time > self.book.now:
            advance(self.state.handle, time)

    def wake(self) -> int:
        """When the core wants to be asked though nothing happened."""
        return int(wake(self.state.handle))

    def digest(self) -> str:
        """Of all events and decisions and of the state."""
        return digest(self.state, () if self.stopping is None else self.stopping.state())

    def check(self) -> None:
        """Raises InternalError where the state contradicts itself."""
        check(self.state)


def _wide(words: Words, width: int) -> Words:
    """The words of terms, as many as the core's."""
    return np.ascontiguousarray(np.pad(words, [(0, 0), (0, width - words.shape[1])]))
