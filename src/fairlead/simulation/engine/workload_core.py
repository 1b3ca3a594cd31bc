"""The online core as a run uses it: machines and jobs by their places in the workload, no names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fairlead.scheduling.advice.apply import advice_changed
from fairlead.scheduling.advice.ranking import advice_of
from fairlead.scheduling.apply import tenant_changed
from fairlead.scheduling.events import AdviceChanged, GuaranteesChanged
from fairlead.scheduling.kernels.memory.codes import Full
from fairlead.scheduling.kernels.memory.state import Ints, Words
from fairlead.scheduling.kernels.memory.tables import NONE
from fairlead.scheduling.kernels.search.signature import signatures
from fairlead.scheduling.placement.registry import DEFAULT
from fairlead.scheduling.preemption.guarantees import by_name
from fairlead.scheduling.slot_core import SlotCore
from fairlead.scheduling.state import slots
from fairlead.scheduling.state.distinct_rows import alike
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.state.pools import check_job_beside
from fairlead.scheduling.state.rows import jobs_present, tasks_on
from fairlead.scheduling.state.scales import Scaled, Scaler
from fairlead.scheduling.state.terms import Listed, NotListed, Term
from fairlead.sharing.guarantees import guarantees_of
from fairlead.sharing.present import exact_now
from fairlead.sharing.problem.problem import Bools
from fairlead.simulation.engine.changes import Change
from fairlead.simulation.engine.feed import JOBS, Chunk
from fairlead.simulation.engine.options import Options
from fairlead.simulation.measure.distances import snapshot_of, tenants_of
from fairlead.simulation.measure.moment import Moment
from fairlead.simulation.workload import Workload

ON_MACHINE = 16
"""Tasks on a machine for which there is room from the start."""


def policy_named(policy: str) -> str:
    """The policy's one canonical form. Raises InputError where no run can be led by it."""
    if slots.is_named(policy):
        return slots.canonical(policy)
    return Scaler(policy, (), np.zeros(0, np.int64)).spec


class WorkloadCore(SlotCore):
    """The core of one run, and what changes it outside of the compiled loop."""

    def __init__(
        self, workload: Workload, policy: str, placement: str | None, options: Options
    ) -> None:
        units = [Unit(each.name, each.unit, each.piece) for each in workload.resources]
        super().__init__(units, policy, placement or DEFAULT, options.of_core())
        self._workload = workload
        self.exact = self.placement.guided or self.stopping is not None
        self.pools = any(tenant.pool is not None for tenant in workload.tenants)
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
        machines = [each.machine for each in joined]
        capacity = np.array([each.capacity for each in joined])
        labels = [self._workload.machines.labels[machine] for machine in machines]
        first = self.book.join(capacity, self._satisfies[machines], labels)
        slots = range(first, first + len(machines))
        if slots.stop > len(self.machine_index):
            more = max(slots.stop, 2 * len(self.machine_index)) - len(self.machine_index)
            self.machine_index = np.pad(self.machine_index, (0, more))
        self.machine_index[slots] = machines
        self._slot[machines] = slots
        names = self._workload.machines.names
        for slot, machine in zip(slots, machines, strict=True):
            self.book.ids.machines[names[machine]] = slot

    def leave(self, machine: int) -> None:
        self.book.leave(self.slot(machine))
        self._slot[machine] = NONE
        del self.book.ids.machines[self._workload.machines.names[machine]]

    def update(self, machine: int, capacity: Ints) -> None:
        labels = self._workload.machines.labels[machine]
        self.book.change(self.slot(machine), capacity, self._satisfies[machine], labels)

    def slot(self, machine: int) -> int:
        return int(self._slot[machine])

    def newest(self, machine: int, started: Ints) -> int:
        """The task of the machine that was launched last; NONE where there is none. `started` is
        the more, the later a task was."""
        tasks = tasks_on(self.state, self.slot(machine))
        return max(tasks, key=started.__getitem__, default=NONE)

    def refresh(self) -> None:
        """After machines changed: the scales of all jobs that are here or come next."""
        if self.book.stale:
            self.book.rescale()
            if self._chunk is not None:
                self.fit(self._chunk)

    # Jobs

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
                self.book.forget_sums()

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
        rows["scale"], rows["unit"] = found.scale, found.unit
        rows["usable"] = self.book.possible(
            found.usable, chunk.demand, chunk.needs, rows["spread"] == 1, rows["gang"],
            rows["tenant"],
        )  # fmt: skip
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

    def follow_exact(
        self, moment: Moment, job_name: Callable[[int], str]
    ) -> Iterator[AdviceChanged | GuaranteesChanged]:
        """Applies what the exact allocation of this moment says, and yields it as events."""
        now = snapshot_of(self._workload, moment)
        exact = exact_now(now, tenants_of(self._workload, moment))
        jobs = [job_name(number) for number in moment.job.tolist()]
        # The events speak of names; here those of jobs are known while they are taken in.
        self.book.ids.jobs = dict(zip(jobs, self._job_slots(moment), strict=True))
        if self.placement.guided:
            names = self._workload.machines.names
            machines = [names[machine] for machine in moment.machine.tolist()]
            advice = AdviceChanged(moment.time, advice_of(exact, jobs, machines))
            advice_changed(self.book, advice)
            yield advice
        if self.stopping is not None:
            guarantees = GuaranteesChanged(moment.time, by_name(jobs, guarantees_of(exact, now)))
            self.stopping.set_guarantees(self.book, guarantees)
            yield guarantees
        self.book.ids.jobs = {}

    def _job_slots(self, moment: Moment) -> list[int]:
        """The slots of a moment's jobs, which are in the order of submission."""
        found: list[int] = jobs_present(self.state).tolist()
        assert len(found) == len(moment.job)  # the moment is of now
        return found


def _wide(words: Words, width: int) -> Words:
    """The words of terms, as many as the core's."""
    return np.ascontiguousarray(np.pad(words, [(0, 0), (0, width - words.shape[1])]))
