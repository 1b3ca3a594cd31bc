"""The book that the core keeps: its state, what everything in it is called, and the scales."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from fairlead.model.constraint import Label, Requirement
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.scheduling.kernels.change.job_events import forget, rescale, weigh
from fairlead.scheduling.kernels.change.machine_events import (
    advance,
    before_change,
    change,
    join,
    leave,
)
from fairlead.scheduling.kernels.memory.codes import Full
from fairlead.scheduling.kernels.memory.state import Ints, State, Words
from fairlead.scheduling.kernels.search.signature import signatures
from fairlead.scheduling.state.distinct_rows import alike
from fairlead.scheduling.state.ids import Ids, Unit, unit_names
from fairlead.scheduling.state.labels import Labels, scarcity
from fairlead.scheduling.state.pools import pool_weights
from fairlead.scheduling.state.possible import possible
from fairlead.scheduling.state.rows import jobs_kept
from fairlead.scheduling.state.scales import Classes, Scaled, Scaler, classes, parting_words
from fairlead.scheduling.state.slots import online
from fairlead.scheduling.state.terms import Listed, NotListed, Term, needed_by, satisfies, terms_of
from fairlead.scheduling.transitions import MachineState
from fairlead.sharing.policy import Policy
from fairlead.sharing.problem.problem import Bools

MOST_FITTED = 10_000
"""Answers of `fitted` that are kept: each demand that somebody asks for is one more."""

_SLOTS = {
    Full.MACHINES: ("machines", None),
    Full.JOBS: ("jobs", "free_job"),
    Full.TENANTS: ("tenants", "free_tenant"),
    Full.TASKS: ("tasks", "free_task"),
    Full.OUT: ("out", None),
}
"""Of each table, what counts its slots, and what leads to those that are free again."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Of a job: its scale, a held task in units of 1 / SHARE, and whether it could ever run, as
    `possible` says it."""

    scale: float
    unit: int
    usable: int


class Book:
    """State, names and scales. Slots are filled and given back here; events are judged elsewhere.

    `stale`: the scales are computed again before the next decision; `pools_changed`: so are the
    weights of pools.
    """

    def __init__(self, units: Sequence[Unit], policy: str | Policy, whole: bool) -> None:
        names = unit_names(units)
        self.ids = Ids(tuple(units))
        self.state = State([unit.piece for unit in units])
        self.scaler = Scaler(online(policy, units), names, self.state.unit, whole)
        self.state.header[0]["fifo"] = self.scaler.fifo
        self.labels = Labels()
        self.rejected: list[tuple[str, str]] = []
        self._classes: Classes | None = None
        self._fitted: dict[tuple[bytes, bytes, bool, int, int], Fitted] = {}
        self._signatures: dict[tuple[bytes, bytes], np.uint64] = {}
        self._labels: list[tuple[Machine, Ints]] | None = None
        self.stale = False
        self.pools_changed = False

    @property
    def now(self) -> int:
        """The time of the last event."""
        return int(self.state.header[0]["now"])

    def pass_time(self, time: int) -> None:
        """Time has come so far, if it had not."""
        if time > self.now:
            advance(self.state.handle, time)

    # Machines

    def join(self, capacity: Ints, satisfies: Words, labels: Sequence[Mapping[str, Label]]) -> int:
        """Machines are there, one after the other: a row of amounts, a row of terms and labels for
        each. Returns the first one's slot; the others follow."""
        state, count = self.state, len(capacity)
        self.room_for(Full.MACHINES, count)
        first = int(state.header[0]["machines"])
        state.capacity[first : first + count] = capacity
        state.satisfies[first : first + count] = satisfies
        for m, each in enumerate(labels, first):
            self.labels.put(m, each)
            join(state.handle)
        self.machines_changed()
        return first

    def change(self, m: int, capacity: Ints, satisfies: Words, labels: Mapping[str, Label]) -> None:
        """A machine has this capacity, these terms and these labels from now on."""
        before_change(self.state.handle, m)
        self.state.capacity[m] = capacity
        self.state.satisfies[m] = satisfies
        self.labels.put(m, labels)
        change(self.state.handle, m)
        self.machines_changed()

    def leave(self, m: int) -> None:
        """A machine is gone; its tasks wait again."""
        leave(self.state.handle, m)
        self.machines_changed()

    def classes(self) -> Classes:
        """The machines that are not gone, as classes."""
        if self._classes is None:
            self._classes = classes(self.state)
        return self._classes

    def machines_changed(self) -> None:
        """The scales are computed again before the next decision."""
        self._classes = self._labels = None
        self._fitted.clear()
        self._signatures.clear()
        self.stale = self.pools_changed = True

    def limits_changed(self) -> None:
        """Who could ever run is computed again before the next decision."""
        self._fitted.clear()
        self.stale = True

    def forget_sums(self) -> None:
        """Drops the sums that are kept: they are made anew, in one's own tables, when needed."""
        self._classes, self._fitted, self._signatures, self._labels = None, {}, {}, None

    def room_for(self, full: Full, slots: int = 1) -> None:
        """Make a table larger, if it has fewer free slots than that."""
        header = self.state.header[0]
        used, first = _SLOTS[full]
        if first is not None and slots == 1 and header[first] >= 0:
            return
        table = full.name.lower().rstrip("s")
        rows = int(header[used]) + slots
        if rows > len(getattr(self.state, table)):
            self.state.grow(full, rows)

    # Terms

    def satisfied(self, machine: Machine) -> Words:
        """The terms that a machine satisfies, as words of bits. Raises InputError where an ordering
        meets a label without an order. Where there are many terms, those about labels are taken
        from a machine that has the same ones."""
        words, asked = np.zeros(self.state.words, np.uint64), self.ids.terms
        if len(asked) > len(self.ids.machine_at):
            there = self.ids.machine_at.items()
            like = next((m for m, each in there if each.labels is machine.labels), None)
            if like is not None:
                words = self.state.satisfies[like].copy()
                asked = {t: bit for t, bit in asked.items() if not isinstance(t, Requirement)}
        for term, bit in asked.items():
            word, flag = bit // 64, np.uint64(1) << np.uint64(bit % 64)
            words[word] = words[word] | flag if satisfies(machine, term) else words[word] & ~flag
        return words

    def holders(self, terms: Iterable[Term]) -> dict[Term, Bools]:
        """The machines that satisfy each of the terms that nobody has needed so far."""
        ids, found = self.ids, dict[Term, Bools]()
        for term in dict.fromkeys(terms):
            if term in ids.terms:
                continue
            holds = found[term] = np.zeros(int(self.state.header[0]["machines"]), bool)
            if isinstance(term, Requirement):
                for machine, slots in self.alike_in_labels():
                    holds[slots] = satisfies(machine, term)
            else:
                named = [ids.machines[name] for name in term.machines if name in ids.machines]
                if isinstance(term, NotListed):
                    holds[list(ids.machine_at)] = True
                holds[named] = isinstance(term, Listed)
        return found

    def alike_in_labels(self) -> list[tuple[Machine, Ints]]:
        """The machines by their labels, equal ones of which are one object: one machine each, and
        the slots of all."""
        if self._labels is None:
            slots: dict[int, list[int]] = {}
            for m, machine in self.ids.machine_at.items():
                slots.setdefault(id(machine.labels), []).append(m)
            self._labels = [
                (self.ids.machine_at[each[0]], np.array(each)) for each in slots.values()
            ]
        return self._labels

    def bits(self, terms: Iterable[Term], holders: dict[Term, Bools]) -> Words:
        """The words in which these terms are set; each has one user more."""
        bits = []
        for term in terms:
            bit, new = self.ids.take_term(term)
            bits.append(bit)
            if new:
                words = bit // 64 + 1
                if words > self.state.words:
                    self.state.widen(words + words // 4)  # all is copied: not once a word
                self.state.set_term(bit, holders[term])
                self._signatures.clear()
                if self._classes is not None:
                    self._classes = self._classes.with_term(self.state, bit)
        found = np.zeros(self.state.words, np.uint64)
        for bit in bits:
            found[bit // 64] |= np.uint64(1) << np.uint64(bit % 64)
        return found

    def forget_terms(self, terms: Iterable[Term]) -> None:
        """One job less asks for these terms. What nobody asks for makes no class of machines."""
        for bit in self.ids.drop_terms(terms):
            self._classes = None
            self._signatures.clear()
            self.state.set_term(bit, np.zeros(int(self.state.header[0]["machines"]), bool))

    # Jobs

    def fitted(self, demand: Ints, needs: Words, job: Job, tenant: int) -> Fitted:
        """How one job of the tenant in this slot fits the machines that are there now. Jobs that
        ask for as much and may use as many machines of each capacity are computed once, whatever
        their constraints say: one tenant can submit thousands of these. Raises InputError where the
        policy has no scale for it."""
        having = self.classes().having(needs[None, :])
        key = (demand.tobytes(), having.tobytes(), job.spread, job.gang, tenant)
        found = self._fitted.get(key)
        if found is None:
            if len(self._fitted) >= MOST_FITTED:  # machines may stay as they are for ever
                self._fitted.clear()
            alike = demand[None, :], needs[None, :], np.array([job.spread])
            scaled = self.scales(*alike, [job.name])
            usable = self.possible(scaled.usable, *alike, np.array([job.gang]), np.array([tenant]))
            found = Fitted(float(scaled.scale[0]), int(scaled.unit[0]), int(usable[0]))
            self._fitted[key] = found
        return found

    def signature(self, demand: Ints, needs: Words) -> np.uint64:
        """Where in a trie it is to be, once for jobs that ask for as much under the same terms, as
        long as as many machines satisfy each."""
        key = demand.tobytes(), needs.tobytes()
        found = self._signatures.get(key)
        if found is None:
            if len(self._signatures) >= MOST_FITTED:
                self._signatures.clear()
            (found,) = signatures(demand[None, :], needs[None, :], self.state.satisfied)
            self._signatures[key] = found
        return found

    def scales(self, demand: Ints, needs: Words, spread: Bools, names: Sequence[str]) -> Scaled:
        """The scales of jobs on the machines that are there now."""
        return self.scaler.scales(demand, needs, spread, self.classes(), tuple(names))

    def possible(
        self, usable: Bools, demand: Ints, needs: Words, spread: Bools, gang: Ints, tenant: Ints
    ) -> Ints:
        """Which of these jobs could ever run, all things considered: as `possible`."""
        return possible(
            self.state, self.scaler, self.classes(), usable, demand, needs, spread, gang, tenant
        )

    def possible_now(self, jobs: Ints, usable: Bools) -> Ints:
        """The same of jobs that are there, in these slots."""
        state = self.state
        spread, gang, tenant = (state.job[name][jobs] for name in ("spread", "gang", "tenant"))
        return self.possible(
            usable, state.demand[jobs], state.needs[jobs], spread > 0, gang, tenant
        )

    def terms_of(self, job: Job) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        """The terms that the job needs, and those that it prefers."""
        return needed_by(job), terms_of(job.prefer, None, ())

    def new_terms(self, jobs: Iterable[Job]) -> int:
        """How many terms these jobs have that nobody has needed so far."""
        return len(self.terms_of_all(jobs) - self.ids.terms.keys())

    def terms_of_tenant(self, tenant: str, jobs: Iterable[Job]) -> int:
        """How many terms the jobs of a tenant's own have together with these."""
        present = (job for job in self.ids.job_at.values() if job.tenant == tenant)
        return len(self.terms_of_all(chain(present, jobs)))

    def terms_of_all(self, jobs: Iterable[Job]) -> set[Term]:
        return {term for job in jobs for each in self.terms_of(job) for term in each}

    def refresh(self) -> None:
        """Follows machines and jobs that came or went with scales and weights: before decisions,
        and before anything is applied that was computed from the scales and weights of now."""
        self.rescale()
        self.reweigh()

    def rescale(self) -> None:
        """Compute the scales of all jobs again, if the machines changed since the last time."""
        if not self.stale:
            return
        self.stale = False
        state = self.state
        self.find_scarcity()
        jobs = jobs_kept(state)
        if not len(jobs):
            return
        first, kind = self._kinds(jobs)
        some = jobs[first]
        spread = state.job["spread"][some] > 0
        names = list(map(self.name_of, some.tolist()))
        try:
            found = self.scales(state.demand[some], state.needs[some], spread, names)
        except InputError:
            before = len(self.rejected)
            self._reject(jobs)
            if len(self.rejected) == before:  # each job has a scale, all together have none
                raise
            self.stale = True
            self.rescale()
            return
        usable = self.possible_now(some, found.usable)
        scale, unit, usable = found.scale[kind], found.unit[kind], usable[kind]
        changed = np.flatnonzero(
            (scale != state.job["scale"][jobs])
            | (unit != state.job["unit"][jobs])
            | (usable != state.job["usable"][jobs])
        )
        rescale(state.handle, jobs[changed], scale[changed], unit[changed], usable[changed])

    def _kinds(self, jobs: Ints) -> tuple[Ints, Ints]:
        """The first of each kind of these jobs, in their order, and of which kind each is: those of
        a kind have one scale, and can all run or not, whatever else they ask for."""
        state = self.state
        needs = parting_words(state.needs, jobs, self.classes().terms)[0].view(np.int64)
        said = [state.job[name][jobs] for name in ("spread", "gang", "tenant")]
        first, kind = alike(np.column_stack([state.demand[jobs], needs, *said]))
        order = np.argsort(first)
        number = np.empty_like(order)
        number[order] = np.arange(len(order))
        return first[order], number[kind]

    def find_scarcity(self) -> None:
        """Find anew how scarce each machine is, among those that are there."""
        found = scarcity(self.state, self.labels)
        self.state.scarcity[: len(found)] = found

    def reweigh(self) -> None:
        """Give tenants with pools the weights that these are worth now, if anything changed."""
        if not self.pools_changed:
            return
        self.pools_changed = False
        for t, weight in pool_weights(self.state, self.ids, self.scaler).items():
            if self.state.tenant[t]["weight"] != weight:
                weigh(self.state.handle, t, weight, 0.0)

    def name_of(self, job: int) -> str:
        """A job's name; its slot's number where it was put in without a name."""
        known = self.ids.job_at.get(job)
        return str(job) if known is None else known.name

    def _reject(self, jobs: Ints) -> None:
        """Takes out the jobs for which the policy has no scale. They could run nowhere until now,
        so that nobody asked for one."""
        state = self.state
        for j in jobs.tolist():
            one = np.array([j])
            spread = state.job["spread"][one] > 0
            name = self.name_of(j)
            try:
                self.scales(state.demand[one], state.needs[one], spread, [name])
            except InputError as error:
                self.rejected.append((name, str(error)))
                state.job[j]["waiting"] = 0
                self.drop(j)

    def drop(self, j: int) -> None:
        """A job is over: its slot and its name are free again."""
        job = self.ids.job_at.pop(j, None)
        if job is not None:
            del self.ids.jobs[job.name]
            needs, prefers = self.terms_of(job)
            self.forget_terms((*needs, *prefers))
        self.ids.tasks.pop(j, None)
        self.pools_changed = True
        forget(self.state.handle, j)


def machine_state(book: Book, name: str) -> tuple[int, MachineState]:
    """A machine that is there, and its state. Refuses a name that no machine has."""
    if name not in book.ids.machines:
        raise InputError(f'there is no machine "{name}"', "name one that has joined and not left")
    m = book.ids.machines[name]
    return m, MachineState(int(book.state.machine[m]["state"]))
