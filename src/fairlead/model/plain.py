"""Machines, tenants and jobs as plain trees (what JSON holds), and back, without loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

from fairlead.model.constraint import Selector
from fairlead.model.errors import About, InputError, Mistakes, brief
from fairlead.model.job import Job
from fairlead.model.machine import Machine, number_label
from fairlead.model.quantity import write_plain
from fairlead.model.selector_syntax import kept_selector
from fairlead.model.tenant import Tenant
from fairlead.model.times import write_times

Plain = dict[str, Any]
"""A tree of dicts, lists, texts, numbers, true and false. Exact amounts are texts in it."""

T = TypeVar("T", Machine, Tenant, Job)


def plain_machine(machine: Machine) -> Plain:
    """The tree of a machine. A label that is a number is a number in it if JSON keeps it so."""
    tree: Plain = {"name": machine.name, "capacity": _amounts(machine.capacity)}
    if machine.labels:
        tree["labels"] = {key: _label(value) for key, value in machine.labels.items()}
    return tree


def plain_tenant(tenant: Tenant) -> Plain:
    """The tree of a tenant, without what nothing was said of."""
    tree: Plain = {"name": tenant.name}
    if tenant.parent is not None:
        tree["parent"] = tenant.parent
    if tenant.weight is not None:
        tree["weight"] = write_plain(tenant.weight)
    if tenant.pool is not None:
        tree["pool"] = list(tenant.pool)
    if tenant.limit:
        tree["limit"] = _amounts(tenant.limit)
    if tenant.user is not None:
        tree["user"] = tenant.user
    return tree


def plain_job(job: Job) -> Plain:
    """The tree of a job, without what nothing was said of. Times are in seconds."""
    tree: Plain = {"name": job.name, "demand": _amounts(job.demand)}
    for name in ("tenant", "cwd", "retries", "call"):
        if getattr(job, name) is not None:
            tree[name] = getattr(job, name)
    for name in ("where", "prefer"):
        if getattr(job, name):
            tree[name] = str(getattr(job, name))
    for name in ("duration", "every"):
        if getattr(job, name) is not None:
            tree[name] = write_times(getattr(job, name))
    if job.repeat is not None:
        tree["repeat"] = job.repeat
    for name in ("prefer_for", "arrive", "time_limit"):
        if getattr(job, name) is not None:
            tree[name] = write_plain(getattr(job, name)) + "s"
    if job.tasks is not None:
        tree["tasks"] = int(job.tasks)
    if job.machines is not None:
        tree["machines"] = list(job.machines)
    if job.exclude:
        tree["exclude"] = list(job.exclude)
    if job.spread:
        tree["spread"] = True
    if job.gang > 1:
        tree["gang"] = job.gang
    if job.command is not None:
        tree["command"] = job.command if isinstance(job.command, str) else list(job.command)
    if job.env:
        tree["env"] = dict(job.env)
    if not job.rerunnable:
        tree["rerunnable"] = False
    return tree


def machine_of(tree: object) -> Machine:
    """The machine of a tree. Raises InputError with every mistake in it."""
    return _build(Machine, "machine", _MACHINE, tree)


def tenant_of(tree: object) -> Tenant:
    """The tenant of a tree. Raises InputError with every mistake in it."""
    return _build(Tenant, "tenant", _TENANT, tree)


def job_of(tree: object) -> Job:
    """The job of a tree. Raises InputError with every mistake in it."""
    return _build(Job, "job", _JOB, tree)


def kept_job_of(tree: object) -> Job:
    """As `job_of`, for one that was taken in before, perhaps by an older version."""
    return _build(Job, "job", _KEPT_JOB, tree)


def _amounts(amounts: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: write_plain(amount) for name, amount in amounts.items()}


def _label(value: str | Decimal) -> object:
    """A number as {"number": text}, so that 5.10 stays apart from 5.1 and from the text."""
    return {"number": str(value)} if isinstance(value, Decimal) else value


# What each field may be in a tree: each function gives what the constructor takes.


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise _wrong(value, "a text", "put it in quotes")


def _amount(value: object) -> int | float | str:
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        return value
    raise _wrong(value, "a number", "write one, or a text such as 64GiB")


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong(value, "true or false", "write one of the two")


def _kept_selector(value: object) -> Selector:
    return kept_selector(_text(value))


def _names(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [_text(each) for each in value]
    raise _wrong(value, "a list of texts", 'write one, as in ["a01", "a02"]')


def _command(value: object) -> str | list[str]:
    return value if isinstance(value, str) else _names(value)


def _map(value: object) -> dict[str, Any]:
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return value
    raise _wrong(value, "a mapping", 'write one, as in {"cpu": 1}')


def _amount_map(value: object) -> dict[str, int | float | str]:
    return {key: _amount(each) for key, each in _map(value).items()}


def _times(value: object) -> int | float | str | dict[str, int | float | str]:
    return _amount_map(value) if isinstance(value, dict) else _amount(value)


def _text_map(value: object) -> dict[str, str]:
    return {key: _text(each) for key, each in _map(value).items()}


def _label_map(value: object) -> dict[str, str | int | float | Decimal]:
    labels: dict[str, str | int | float | Decimal] = {}
    for key, each in _map(value).items():
        if isinstance(each, dict):
            number = number_label(each["number"]) if _is_number(each) else None
            if number is None:
                raise _wrong(each, "a label", 'write a text, a number or {"number": "5.10"}')
            labels[key] = number
        elif isinstance(each, (int, float)) and not isinstance(each, bool):
            labels[key] = each
        else:
            labels[key] = _text(each)
    return labels


def _is_number(value: dict[str, Any]) -> bool:
    return list(value) == ["number"] and isinstance(value["number"], str)


def _wrong(value: object, what: str, right: str) -> InputError:
    return InputError(f"{brief(repr(value))} is not {what}", right)


Fields = Mapping[str, Callable[[object], Any]]

_MACHINE: Fields = {"name": _text, "capacity": _amount_map, "labels": _label_map}
_TENANT: Fields = {
    "name": _text,
    "parent": _text,
    "weight": _amount,
    "pool": _names,
    "limit": _amount_map,
    "user": _text,
}
_JOB: Fields = {
    "name": _text,
    "demand": _amount_map,
    "tenant": _text,
    "tasks": _amount,
    "where": _text,
    "machines": _names,
    "exclude": _names,
    "spread": _truth,
    "prefer": _text,
    "prefer_for": _amount,
    "gang": _amount,
    "duration": _times,
    "arrive": _amount,
    "every": _times,
    "repeat": _amount,
    "command": _command,
    "env": _text_map,
    "cwd": _text,
    "time_limit": _amount,
    "retries": _amount,
    "rerunnable": _truth,
    "call": _text,
}
_KEPT_JOB: Fields = {**_JOB, "where": _kept_selector, "prefer": _kept_selector}
_NEEDED = {"machine": ("name", "capacity"), "tenant": ("name",), "job": ("name", "demand")}


def _build(make: Callable[..., T], word: str, fields: Fields, tree: object) -> T:
    name = tree.get("name", "") if isinstance(tree, dict) else ""
    about: About = (word, name if isinstance(name, str) else "")
    if not isinstance(tree, dict):
        raise InputError(f"{brief(repr(tree))} is not a {word}", "write a mapping of fields")
    mistakes = Mistakes()
    values: dict[str, Any] = {}
    for key, value in tree.items():
        if key not in fields:
            known = ", ".join(fields)
            mistakes.add(about, f"it has no field {brief(repr(key))}", f"the fields are {known}")
        elif value is not None:
            values[key] = mistakes.attempt((*about, key), fields[key], value)
    for key in _NEEDED[word]:
        if key not in values:
            mistakes.add(about, f"it has no {key}", "write one")
    mistakes.report()
    return make(**values)
