"""Parts that the commands share that talk to a running service."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fairlead.cli.common.inputs import close_match, complain, say
from fairlead.cli.common.screen import Screen, screen_of, table
from fairlead.model.errors import InputError
from fairlead.model.names import expand

if TYPE_CHECKING:  # a command that only prints its help loads no HTTP
    from enum import Enum

    from pydantic import BaseModel

    from fairlead.client.client import Client
    from fairlead.wire.jobs import TaskCounts

PATIENCE = 10.0
"""Seconds for which a command repeats what is safe to repeat, once the service has answered."""


def add_service(parser: argparse._ActionsContainer) -> None:
    """Adds the options that name the service and ask for an answer for programs."""
    add_address(parser)
    parser.add_argument("--json", action="store_true", help="print the answer as JSON")


def add_address(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--url",
        metavar="URL",
        help="the service's address (default: FAIRLEAD_URL, the client's file, or the service"
        " that this user runs here)",
    )


@contextmanager
def service_of(
    args: argparse.Namespace,
    patience: float = PATIENCE,
    remark: Callable[[str], None] | None = None,
    timeout: float = 30.0,
) -> Iterator[Client]:
    """The service that is asked; that it does not answer is a remark (None: `complain`)."""
    from fairlead.client.client import Client

    only_text(args)
    told = remark or complain
    with Client(args.url, timeout=timeout, patience=patience, on_wait=told) as client:
        yield client
        if client.age is not None:
            complain(f"from a service that does not lead: as of {client.age:.1f} s ago")


def only_text(args: argparse.Namespace) -> None:
    """Refuses what was typed in bytes that are no text: the service could not be told of it."""
    for value in vars(args).values():
        for word in value if isinstance(value, list) else [value]:
            if isinstance(word, str) and any("\ud800" <= char <= "\udfff" for char in word):
                raise InputError(f"{word[:60]!r} is no text in UTF-8", "write it as text")


def state_word(word: str, states: type[Enum], what: str) -> Any:
    """The state of that name. Raises InputError."""
    names = [str(each.value) for each in states]
    if word in names:
        return states(word)
    hint = close_match(word, names) or f"the states are {', '.join(names)}"
    raise InputError(f"{what} is never {word!r}", hint)


def check_tenant(service: Client, tenant: str) -> None:
    """Raises InputError where nothing is known of a tenant of which nothing was found."""
    if next(service.jobs(all=True, tenant=tenant), None) is not None:
        return  # of a job that is its own tenant, nothing else tells
    known = [each.name for each in service.tenants()]
    if tenant not in known:
        hint = close_match(tenant, known) or "`fairlead tenants` lists them"
        raise InputError(f"there is no tenant {tenant!r}", hint)


def say_json(tree: BaseModel | dict[str, Any]) -> None:
    """Prints an answer for programs."""
    import json

    if not isinstance(tree, dict):
        tree = tree.model_dump(mode="json", by_alias=True)
    # The schema goes first, wherever the shape has it.
    tree = {key: tree[key] for key in sorted(tree, key=lambda key: key != "schema")}
    say([json.dumps(tree, indent=2, ensure_ascii=False)], exact=True)


def say_answer(
    args: argparse.Namespace,
    answer: BaseModel | dict[str, Any],
    lines: Callable[[Screen], Iterable[str]],
) -> None:
    """Prints what the service answered: with --json as it is, else in lines for people."""
    if args.json:
        say_json(answer)
    else:
        say(lines(screen_of(sys.stdout)))


def all_pages(page: BaseModel) -> dict[str, Any]:
    """The answer that has what stands on all pages, and so names no next one."""
    return page.model_dump(mode="json", by_alias=True, exclude={"next"})


def names_of(words: Sequence[str]) -> list[str]:
    """The names that words mean, ranges written out. Raises InputError."""
    return list(dict.fromkeys(name for word in words for name in expand(word)))


def ago(moment: int, now: float | None = None) -> str:
    """The time since a moment (microseconds since 1970), in words."""
    return lasting((time.time() if now is None else now) - moment / 1e6)


def lasting(seconds: float) -> str:
    """A time as people say it: two units at most."""
    whole = max(0, int(seconds))
    for size, unit, below, smaller in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "m"),
        (60, "m", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size}{unit}{f'{rest}{smaller}' if rest else ''}"
    return f"{whole}s"


def at(moment: int | None) -> str:
    """A moment (microseconds since 1970), in the time of this place and with its zone:
    `2026-01-05 08:00:00+01:00`, which `date -d` and tables of jobs take, too."""
    if moment is None:
        return "-"
    from datetime import datetime

    return datetime.fromtimestamp(moment // 10**6).astimezone().isoformat(" ")


def time_of_day(moment: int) -> str:
    """The same without the day: `08:00:00+01:00`."""
    return at(moment).partition(" ")[2]


def done(tasks: TaskCounts) -> str:
    """Tasks that ended well, of all."""
    return f"{tasks.finished}/{total(tasks)}"


def total(tasks: TaskCounts) -> int:
    return sum(tasks.model_dump().values())


def holding(tasks: TaskCounts) -> int:
    return tasks.launched + tasks.running + tasks.stopping


def count(number: int) -> str:
    """A number of tasks; a dash for none, so that what is there stands out."""
    return str(number) if number else "-"


def rows_or(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: str,
    screen: Screen,
    none: str,
) -> Iterable[str]:
    """A table, or a sentence where it would be empty."""
    return table(header, rows, right, screen) if rows else [none]
