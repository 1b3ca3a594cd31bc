"""Terms: the single conditions that jobs put to machines. A job needs a set of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairlead.model.constraint import Requirement, Selector
from fairlead.model.eligibility import EXCLUDE, MACHINES
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine


@dataclass(frozen=True, slots=True)
class Listed:
    """The machine's name is on a white list."""

    machines: frozenset[str]


@dataclass(frozen=True, slots=True)
class NotListed:
    """The machine's name is not on a black list."""

    machines: frozenset[str]


Term = Requirement | Listed | NotListed


def terms_of(
    where: Selector, machines: tuple[str, ...] | None, exclude: tuple[str, ...]
) -> tuple[Term, ...]:
    """The terms that a constraint is made of: a machine may be used if it satisfies all."""
    terms: list[Term] = list(dict.fromkeys(where.requirements))
    if machines is not None:
        terms.append(Listed(frozenset(machines)))
    if exclude:
        terms.append(NotListed(frozenset(exclude)))
    return tuple(terms)


def needed_by(job: Job) -> tuple[Term, ...]:
    return terms_of(job.where, job.machines, job.exclude)


def satisfies(machine: Machine, term: Term) -> bool:
    """Does the machine satisfy the term? Raises InputError where an ordering meets a label that
    has no order."""
    match term:
        case Listed(machines):
            return machine.name in machines
        case NotListed(machines):
            return machine.name not in machines
        case _:
            try:
                return term.matches(machine.labels)
            except InputError as error:
                about = ("machine", machine.name, "labels", term.key)
                asked = f" (a job asks for {term})"
                raise InputError(
                    [replace(m, what=f"{m.what}{asked}", about=about) for m in error.mistakes]
                ) from error


def write_term(term: Term) -> str:
    """The term as reasons count it: a requirement as written, `machines`, or `exclude`."""
    match term:
        case Listed():
            return MACHINES
        case NotListed():
            return EXCLUDE
        case _:
            return str(term)
