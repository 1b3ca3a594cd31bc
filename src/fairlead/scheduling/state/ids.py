"""Names become slots here, and come back: machines, jobs, tenants, tasks, terms, amounts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from fractions import Fraction

from fairlead.model.errors import About, InputError, Mistakes
from fairlead.model.hints import Known
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import PIECES
from fairlead.scheduling.state.rows import tasks_held
from fairlead.scheduling.state.terms import Term

HINTED = 10
"""Resources of one demand that nothing counts for which close names are looked for: each takes some
hundredths of a millisecond, in which the loop does nothing else."""

LARGEST = 2**53
"""Amounts in units are below this, so that they are exact in floating point too."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A resource is counted in whole multiples of `unit`. One that comes in pieces (a device) has
    `piece` units in each: with GPUs counted in thousandths, a piece of 1000."""

    name: str
    unit: Fraction = Fraction(1)
    piece: int = 0


@dataclass
class Ids:
    """The name of every slot, and what was said of it."""

    units: tuple[Unit, ...]
    machines: dict[str, int] = field(default_factory=dict)
    machine_at: dict[int, Machine] = field(default_factory=dict)
    jobs: dict[str, int] = field(default_factory=dict)
    job_at: dict[int, Job] = field(default_factory=dict)
    tenants: dict[str, int] = field(default_factory=dict)
    tenant_at: dict[int, Tenant] = field(default_factory=dict)
    below: dict[str | None, list[int]] = field(default_factory=dict)  # tenants of a parent
    tasks: dict[int, dict[int, int]] = field(default_factory=dict)  # job -> number -> slot
    terms: dict[Term, int] = field(default_factory=dict)
    term_users: dict[Term, int] = field(default_factory=dict)
    free_terms: list[int] = field(default_factory=list)

    def add_tenant(self, slot: int, tenant: Tenant) -> None:
        self.tenants[tenant.name] = slot
        self.tenant_at[slot] = tenant
        self.below.setdefault(tenant.parent, []).append(slot)

    def copy(self) -> Ids:
        """Tables of one's own, without `tasks`. The values are frozen, and shared."""
        tables = {name: copy(table) for name, table in vars(self).items()}
        below = {parent: list(slots) for parent, slots in self.below.items()}
        return Ids(**{**tables, "below": below, "tasks": {}})

    def find_tasks(self, state: State) -> None:
        """The tasks of the jobs, from the state: who copied or read these tables has none."""
        self.tasks = {}
        held = tasks_held(state)
        columns = (held, state.task["job"][held], state.task["number"][held])
        for slot, job, number in zip(*(column.tolist() for column in columns), strict=True):
            self.hold(job, number, slot)

    def hold(self, job: int, number: int, slot: int) -> None:
        self.tasks.setdefault(job, {})[number] = slot

    def release(self, job: int, number: int) -> None:
        held = self.tasks[job]
        del held[number]
        if not held:
            del self.tasks[job]

    def amounts(self, about: About, amounts: Mapping[str, Fraction]) -> list[int]:
        """The amounts of all resources in their units; 0 where nothing is said. Refuses what is
        finer than a unit, too large, or of a resource that is not among them."""
        place = {unit.name: r for r, unit in enumerate(self.units)}
        counts = [0] * len(self.units)
        mistakes = Mistakes()
        for name, amount in amounts.items():
            if name not in place:
                few = len(mistakes) < HINTED
                hint = Known(place).hint(name, f"there is {', '.join(place)}") if few else ""
                mistakes.add((*about, name), "nothing counts this resource", hint)
                continue
            unit = self.units[place[name]].unit
            # As whole numbers: ten thousand limits of a first start are ten thousand divisions.
            count, finer = divmod(
                amount.numerator * unit.denominator, amount.denominator * unit.numerator
            )
            if finer:
                mistakes.add(
                    (*about, name),
                    f"the amount is finer than the unit, which is {unit}",
                    "round it, or start with a finer unit",
                )
            elif count >= LARGEST:
                mistakes.add((*about, name), "the amount is 2^53 units or more", "use less")
            else:
                counts[place[name]] = count
        mistakes.report()
        return counts

    def capacity(self, machine: Machine, most_pieces: int) -> list[int]:
        """A machine's capacity in units; its devices are whole ones, and not too many."""
        about: About = ("machine", machine.name, "capacity")
        counts = self.amounts(about, machine.capacity)
        for unit, count in zip(self.units, counts, strict=True):
            if unit.piece and count % unit.piece:
                raise _mistake((*about, unit.name), "a machine has whole devices", "round it")
            if unit.piece and count // unit.piece > most_pieces:
                raise _mistake(
                    (*about, unit.name), f"it has more than {most_pieces} devices", "split it"
                )
        return counts

    def demand(self, job: Job) -> list[int]:
        """A task's demand in units: of a device a part, or whole ones."""
        about: About = ("job", job.name, "demand")
        counts = self.amounts(about, job.demand)
        for unit, count in zip(self.units, counts, strict=True):
            if unit.piece and count > unit.piece and count % unit.piece:
                raise _mistake(
                    (*about, unit.name),
                    "a task takes a part of one device, or whole ones",
                    "round it",
                )
        return counts

    def take_term(self, term: Term) -> tuple[int, bool]:
        """The bit of a term that one more job needs, and whether it is new."""
        self.term_users[term] = self.term_users.get(term, 0) + 1
        if term in self.terms:
            return self.terms[term], False
        bit = self.free_terms.pop() if self.free_terms else len(self.terms)
        self.terms[term] = bit
        return bit, True

    def drop_terms(self, terms: Iterable[Term]) -> list[int]:
        """One job less needs each of them. Returns the bits of those that nobody needs any more;
        they are used again."""
        free = []
        for term in terms:
            self.term_users[term] -= 1
            if not self.term_users[term]:
                del self.term_users[term]
                free.append(self.terms.pop(term))
        self.free_terms += free
        return free


def most_pieces(units: Sequence[Unit]) -> int:
    """The devices of one kind that a machine may have."""
    return PIECES // max(1, sum(bool(unit.piece) for unit in units))


def unit_names(units: Sequence[Unit]) -> tuple[str, ...]:
    """The names of the resources. Each is counted once."""
    names = tuple(unit.name for unit in units)
    for name in names:
        if names.count(name) > 1:
            raise _mistake(("resource", name), "it is counted twice", "name it once")
    return names


def _mistake(about: About, what: str, right: str) -> InputError:
    return InputError(what, right, about=about)
