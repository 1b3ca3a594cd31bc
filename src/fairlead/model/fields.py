"""The fields of a machine, a tenant and a job as YAML has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from yaml.nodes import Node, ScalarNode

from fairlead.model.errors import About
from fairlead.model.machine import number_label
from fairlead.model.nodes import Source, is_plain, node_in_words

# What a field holds: each function gives what the constructor takes, or None and a mistake.


def _text(source: Source, node: Node, about: About) -> str | None:
    return source.text(node, about)


def _boolean(source: Source, node: Node, about: About) -> bool | None:
    if isinstance(node, ScalarNode) and is_plain(node):
        if node.value in ("true", "True", "TRUE"):
            return True
        if node.value in ("false", "False", "FALSE"):
            return False
    source.wrong(
        node,
        about,
        f"{node_in_words(node)} is neither true nor false",
        "write true or false without quotes",
    )
    return None


def _text_by_name(source: Source, node: Node, about: About) -> dict[str, str] | None:
    values = source.mapping(node, about)
    if values is None:
        return None
    texts = {key: source.text(value, (*about, key)) for key, value in values.items()}
    return {key: text for key, text in texts.items() if text is not None}


def _labels(source: Source, node: Node, about: About) -> dict[str, str | Decimal] | None:
    values = source.mapping(node, about)
    if values is None:
        return None
    labels: dict[str, str | Decimal] = {}
    for key, value in values.items():
        text = source.text(value, (*about, key))
        if text is not None:
            number = number_label(text) if is_plain(value) else None
            labels[key] = text if number is None else number
    return labels


def _names(source: Source, node: Node, about: About) -> list[str] | None:
    if isinstance(node, ScalarNode):
        text = source.text(node, about)
        return None if text is None else [text]
    items = source.sequence(node, about)
    if items is None:
        return None
    texts = [source.text(item, about) for item in items]
    # With an item missing the indices would be wrong, and the list would look shorter than it is.
    return None if None in texts else [text for text in texts if text is not None]


def _command(source: Source, node: Node, about: About) -> str | list[str] | None:
    return source.text(node, about) if isinstance(node, ScalarNode) else _names(source, node, about)


def _times(source: Source, node: Node, about: About) -> str | dict[str, str] | None:
    if isinstance(node, ScalarNode):
        return source.text(node, about)
    return _text_by_name(source, node, about)


Field = Callable[[Source, Node, About], Any]


@dataclass(frozen=True)
class Need:
    """A field that every entry has: an example for who forgot it, what stands in for it so that
    the other fields can be checked all the same, and what is said where it is not there."""

    example: str
    stand_in: object
    lack: str = ""


@dataclass(frozen=True, eq=False)
class Kind:
    """The fields of an entry. Without a field, its `partner` would look mistaken; one that is
    needed may have another `instead`."""

    word: str
    fields: dict[str, Field]
    needed: dict[str, Need]
    partner: dict[str, str]
    instead: dict[str, str] = field(default_factory=dict)


MACHINE = Kind(
    "machine",
    {"name": _text, "capacity": _text_by_name, "labels": _labels},
    {
        "name": Need('name: a01, or name: "a[01-25]" for 25 of them', "unnamed"),
        "capacity": Need("capacity: {cpu: 16, memory: 64GiB}", {}),
    },
    {},
)
TENANT = Kind(
    "tenant",
    {
        "name": _text,
        "weight": _text,
        "pool": _names,
        "parent": _text,
        "limit": _text_by_name,
        "user": _text,
    },
    {"name": Need("name: vision", "unnamed")},
    {},
)
JOB = Kind(
    "job",
    {
        "name": _text,
        "tenant": _text,
        "demand": _text_by_name,
        "tasks": _text,
        "where": _text,
        "machines": _names,
        "exclude": _names,
        "spread": _boolean,
        "prefer": _text,
        "prefer_for": _text,
        "gang": _text,
        "duration": _times,
        "arrive": _text,
        "every": _times,
        "repeat": _text,
        "command": _command,
        "env": _text_by_name,
        "cwd": _text,
        "time_limit": _text,
        "retries": _text,
        "rerunnable": _boolean,
        "call": _text,
    },
    {
        "name": Need("name: train", "unnamed"),
        "demand": Need("demand: {cpu: 1, memory: 4GiB}", {"anything": 1}),
    },
    {"prefer": "prefer_for", "prefer_for": "prefer", "every": "repeat"},
)

SUBMITTED_JOB = replace(
    JOB,
    needed=JOB.needed
    | {
        "tasks": Need("tasks: 1", "1", "it does not say how many tasks it has"),
        "command": Need('command: "sleep 60"', "true", "it does not say what it runs"),
    },
    partner=JOB.partner | {"tasks": "gang"},
    instead={"command": "call"},
)
"""A job that is to run, not only to be shared."""

ELSEWHERE = {
    "machines": "machines come from the engine",
    "tenants": "make tenants with `fairlead tenants --apply`",
    "devices": "devices are set where the service is started",
}
"""The fields of a job that a submission does not hold."""

SECTIONS = ("machines", "tenants", "devices", "jobs")
