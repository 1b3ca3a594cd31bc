"""Changes as people write them (`4 x h100-node`, `vision=3`, `train:cpu=2`), read against the
input that it is about."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property

from fairlead.audit.finding import Input
from fairlead.audit.whatif.catalogue import Offer
from fairlead.audit.whatif.edits import Add, Demand, Drop, Edit, Limit, Remove, Weight
from fairlead.model.check import with_implied_tenants
from fairlead.model.constraint import Requirement
from fairlead.model.errors import InputError, Mistake, Mistakes
from fairlead.model.hints import Known
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.names import MOST_NAMES, compress, expand_all
from fairlead.model.quantity import exact, quantities
from fairlead.model.selector_syntax import parse_selector
from fairlead.model.tenant import positive
from fairlead.model.words import listing
from fairlead.sharing.analysis.input_changes import parts

_TIMES = re.compile(r"\s*(?P<count>[0-9]+)\s+[x×*]\s+(?P<what>\S.*?)\s*")
_ALMOST = re.compile(r"(?P<count>[0-9]+)\s*[x×*]?\s*(?P<what>\S+)")
_STEM = re.compile(r"(?P<stem>.*?[^-_.0-9])[-_.]?[0-9]+")


def read_edits(
    given: Input,
    *,
    add: Iterable[str] = (),
    remove: Iterable[str] = (),
    weight: Iterable[str] = (),
    drop_constraint: Iterable[str] = (),
    set_demand: Iterable[str] = (),
    set_limit: Iterable[str] = (),
    catalogue: Sequence[Offer] = (),
) -> tuple[Edit, ...]:
    """The changes that the texts mean. Raises InputError with every mistake: a name that the input
    does not have is refused with what is close."""
    asked = _Asked(given, catalogue)
    mistakes = Mistakes()
    found: list[Edit] = []
    for option, texts, reader in (
        ("--add", add, asked.add),
        ("--remove", remove, asked.remove),
        ("--weight", weight, asked.weight),
        ("--drop-constraint", drop_constraint, asked.drop),
        ("--set-demand", set_demand, asked.demand),
        ("--set-limit", set_limit, asked.limit),
    ):
        for text in texts:
            found += mistakes.attempt((f"{option} {text}",), reader, text) or ()
    for edit in _twice(found):
        mistakes.append(Mistake(f"{edit} is set twice", "say it once"))
    if twice := _gone_twice(found):
        mistakes.append(Mistake(f"{listing(compress(twice))} is removed twice", "say it once"))
    mistakes.report()
    return tuple(found)


def _twice(edits: Iterable[Edit]) -> list[str]:
    """The values that two of the changes set."""
    seen: dict[str, int] = {}
    for edit in edits:
        match edit:
            case Weight():
                key = f"the weight of {edit.tenant}"
            case Demand():
                key = f"the demand of {edit.job} for {edit.resource}"
            case Limit():
                key = f"the limit of {edit.tenant} of {edit.resource}"
            case _:
                continue
        seen[key] = seen.get(key, 0) + 1
    return [key for key, times in seen.items() if times > 1]


def _gone_twice(edits: Iterable[Edit]) -> list[str]:
    """The machines that two of the changes remove."""
    seen: dict[str, int] = {}
    for edit in edits:
        for name in dict.fromkeys(edit.machines) if isinstance(edit, Remove) else ():
            seen[name] = seen.get(name, 0) + 1
    return [name for name, times in seen.items() if times > 1]


class _Asked:
    """The input, and how each change is written."""

    def __init__(self, given: Input, catalogue: Sequence[Offer]) -> None:
        cluster = with_implied_tenants(given.cluster, given.jobs)
        self._machines = {machine.name: machine for machine in cluster.machines}
        self._jobs = {job.name: job for job in given.jobs}
        self._offers = {offer.name: offer for offer in catalogue}
        self._declared = {tenant.name: tenant for tenant in cluster.tenants}
        own = (job.name for job in given.jobs if job.tenant is None)
        self._tenants = dict.fromkeys([*self._declared, *own])
        self._resources = dict.fromkeys(r for m in cluster.machines for r in m.capacity)
        self._stems: dict[str, list[Machine]] = {}
        for machine in cluster.machines:
            match = _STEM.fullmatch(machine.name)
            if match is not None:
                self._stems.setdefault(match["stem"], []).append(machine)

    def add(self, text: str) -> list[Edit]:
        """`h01`, `4 x h01`, `4 x h[01-03]`, `4 x h` (h01 to h03), `4 x OFFER`."""
        match = _TIMES.fullmatch(text)
        count, what = (int(match["count"]), match["what"]) if match else (1, text.strip())
        if match is None and what not in self._machines and (meant := _ALMOST.fullmatch(what)):
            count_, name = meant["count"], meant["what"]
            if name in (*self._machines, *self._stems, *self._offers):
                raise InputError(f'"{what}" is not how many of which', f'write "{count_} x {name}"')
        if match is None and what.isdecimal() and self._machines and what not in self._machines:
            some = next(iter(self._machines))
            raise InputError(f"{what} says how many, and not of which", f'write "{what} x {some}"')
        if any(char.isspace() for char in what):
            raise InputError(
                f'"{what}" is no machine',
                'write how many of which, a whole number first: "4 x h01"',
            )
        if not 1 <= count <= MOST_NAMES:
            raise InputError(f"{count} machines cannot be added", f"write 1 to {MOST_NAMES}")
        if what in self._offers:
            return [Add(count, self._offers[what].machine)]
        alike = self._named(what, self._offers)
        first = alike[0]
        other = next((m for m in alike if not _same(m, first)), None)
        if other is not None:
            raise InputError(
                f"{first.name} and {other.name} are not alike, so {what!r} is no one machine",
                f"name one of them, as in {count} x {first.name}",
            )
        return [Add(count, first, first.name)]

    def _named(self, what: str, offers: Iterable[str] = ()) -> list[Machine]:
        """The machines that a name, a range or the beginning of numbered names means."""
        if what in self._machines:
            return [self._machines[what]]
        if what in self._stems:
            return self._stems[what]
        names = expand_all([what])
        missing = [name for name in names if name not in self._machines]
        if missing:
            known = Known([*self._machines, *self._stems, *offers])
            otherwise = "name a machine that is there, or a range of them"
            if self._machines:
                otherwise += f", as in {next(iter(self._machines))}"
            raise InputError(
                f'there is no machine "{missing[0]}"', known.hint(missing[0], otherwise)
            )
        return [self._machines[name] for name in names]

    def remove(self, text: str) -> list[Edit]:
        """A name, a range of names, or `2 x h01`: two of those that are as it is, the last ones."""
        what = text.strip()
        match = _TIMES.fullmatch(what)
        if match is None:
            return [Remove(tuple(machine.name for machine in self._named(what)))]
        count, first = int(match["count"]), self._named(match["what"])[0]
        lists = self._lists(first.name)
        alike = [
            machine.name
            for machine in self._machines.values()
            if _same(machine, first) and self._lists(machine.name) == lists
        ]
        if not 1 <= count <= len(alike):
            raise InputError(
                f"{count} machines like {first.name} cannot be removed",
                f"there {'is 1' if len(alike) == 1 else f'are {len(alike)}'} of them",
            )
        return [Remove(tuple(alike[-count:]))]

    def _lists(self, machine: str) -> frozenset[tuple[str, str]]:
        """The lists of jobs, and the pools, that the machine is on."""
        return self._on_lists.get(machine, frozenset())

    @cached_property
    def _on_lists(self) -> dict[str, frozenset[tuple[str, str]]]:
        found: dict[str, set[tuple[str, str]]] = {}
        for job in self._jobs.values():
            for kind, names in (("machines", job.machines or ()), ("exclude", job.exclude)):
                for name in names:
                    found.setdefault(name, set()).add((job.name, kind))
        for tenant in self._declared.values():
            for name in tenant.pool or ():
                found.setdefault(name, set()).add((tenant.name, "pool"))
        return {name: frozenset(lists) for name, lists in found.items()}

    def weight(self, text: str) -> list[Edit]:
        """`vision=3`."""
        name, amount = _read_assignment(text, "vision=3")
        return [Weight(self._tenant(name), positive(amount))]

    def _tenant(self, name: str) -> str:
        if name in self._tenants:
            return name
        otherwise = f"the tenants are {listing(self._tenants, most=5)}"
        if name in self._jobs:
            otherwise = f"the tenant of this job is {self._jobs[name].tenant}"
        raise InputError(f'there is no tenant "{name}"', Known(self._tenants).hint(name, otherwise))

    def _job(self, name: str) -> Job:
        if name in self._jobs:
            return self._jobs[name]
        otherwise = f"the jobs are {listing(self._jobs, most=5)}"
        mine = [job.name for job in self._jobs.values() if job.tenant == name]
        if mine:
            otherwise = f"it is a tenant, and its jobs are {listing(mine, most=5)}"
        raise InputError(f'there is no job "{name}"', Known(self._jobs).hint(name, otherwise))

    def _split(self, text: str) -> tuple[str, str]:
        """The job (or tenant) before a colon, and what is after it: names may have colons too."""
        for match in reversed(list(re.finditer(":", text))):
            if text[: match.start()] in self._jobs or text[: match.start()] in self._tenants:
                return text[: match.start()], text[match.end() :].strip()
        name, _, rest = text.partition(":")
        return name, rest.strip()

    def drop(self, text: str) -> list[Edit]:
        """`train`, or `train:PART`: a requirement as written, its key, `machines`, `exclude`,
        `spread`."""
        if text in self._jobs:
            job = self._jobs[text]
            if not (job.where or job.exclude or job.machines is not None):
                raise InputError(_nothing(job))
            return [Drop(text)]
        name, part = self._split(text)
        job = self._job(name)
        if not part:
            return self.drop(name)
        there = parts(job)
        if not there:
            raise InputError(_nothing(job))
        if part in there:
            return [Drop(name, part)]
        with_key = [str(one) for one in job.where.requirements if one.key == part]
        if with_key:
            return [Drop(name, one) for one in dict.fromkeys(with_key)]
        wanted = _as_written(part)
        if wanted and set(wanted) <= set(there):
            return [Drop(name, one) for one in wanted]
        shown = listing([f"`{one}`" for one in there], last="or")
        raise InputError(f'the constraint of {name} has no part "{part}"', f"its parts are {shown}")

    def demand(self, text: str) -> list[Edit]:
        """`train:cpu=2`, or several: `train:cpu=2,memory=4GiB`."""
        name, rest = self._split(text)
        job = self._job(name)
        return [Demand(name, r, a) for r, a in self._amounts(rest, "train:cpu=2", job.demand)]

    def limit(self, text: str) -> list[Edit]:
        """`vision:gpu=40`."""
        name, rest = self._split(text)
        tenant = self._tenant(name)
        if tenant not in self._declared:
            raise InputError(
                f"{tenant} is no tenant that the input declares", "declare it there first"
            )
        return [Limit(tenant, r, a) for r, a in self._amounts(rest, "vision:gpu=40", ())]

    def _amounts(self, text: str, example: str, more: Iterable[str]) -> list[tuple[str, Fraction]]:
        """Resources that machines (or the job) have, with their new amounts."""
        found: list[tuple[str, Fraction]] = []
        known = dict.fromkeys([*self._resources, *more])
        for each in text.split(","):
            resource, amount = _read_assignment(each, example)
            if resource not in known:
                hint = Known(known).hint(resource, f"machines have {listing(known, most=8)}")
                raise InputError(f'no machine has the resource "{resource}"', hint)
            found.append((resource, quantities({resource: amount})[resource]))
        return found


def _read_assignment(text: str, example: str) -> tuple[str, str]:
    name, equals, amount = text.rpartition("=")
    if not equals or not name.strip() or not amount.strip():
        raise InputError(f'"{text}" sets nothing', f"write it as in {example}")
    return name.strip(), amount.strip()


def _as_written(part: str) -> list[str]:
    """The requirements that the text means, as they are written; none where it means none."""
    try:
        wanted: tuple[Requirement, ...] = parse_selector(part).requirements
    except InputError:  # it names no part then, and the caller says which there are
        return []
    return [str(one) for one in wanted]


def _nothing(job: Job) -> Mistake:
    return Mistake(f"{job.name} has no constraint to drop", "it may use every machine already")


def _same(one: Machine, other: Machine) -> bool:
    return one.capacity == other.capacity and one.labels == other.labels


def budget_of(text: str) -> Fraction:
    """An amount of money: a positive number, in the unit of the catalogue's prices."""
    try:
        return positive(exact(text))
    except InputError as error:
        (mistake,) = error.mistakes
        raise InputError(f"{text} is no budget: {mistake.what}", mistake.right) from error
