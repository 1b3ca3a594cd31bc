"""What an engine says, before it is believed: what of it an entry of the journal can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from fairlead.engines.interface import Attempt, Cause, Ended, Lost, Node, Started

LONGEST = 1000
"""Letters of a sentence that are kept."""

MOST_BYTES = 2**53
"""Of an attempt's outputs: more than any disk holds, and counted exactly by whoever reads JSON."""


def flaw(report: object) -> str:
    """What cannot be of a report; empty where all can. An entry that is durable and cannot be taken
    in ends each start of the service from then on."""
    match report:
        case Started(attempt, time):
            return _flaw_of_attempt(attempt) or _no(int, "time", time)
        case Ended(attempt, cause, code, time, started, message, output):
            return (
                _flaw_of_attempt(attempt)
                or _no(Cause, "cause", cause)
                or _no(int, "code", code)
                or _no(int, "time", time)
                or ("" if started is None else _no(int, "start", started))
                or _no(str, "message", message)
                or _no_size(output)
            )
        case Lost(attempt, started, why, machine_at_fault, output):
            return (
                _flaw_of_attempt(attempt)
                or _no(bool, "word on whether it started", started)
                or _no(str, "reason", why)
                or _no(bool, "word on whose fault it is", machine_at_fault)
                or _no_size(output)
            )
    return "it is no report"


def heard(text: str) -> str:
    """A sentence of an engine as it is kept: its beginning, with a question mark for each half of a
    character, which no answer can hold. Errors of users' functions and names of files have some."""
    text = text[:LONGEST]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def heard_nodes(nodes: Sequence[Node]) -> Sequence[Node]:
    """The machines, with such sentences."""
    if all(each.problem == heard(each.problem) for each in nodes):
        return nodes
    return [replace(each, problem=heard(each.problem)) for each in nodes]


def names_attempt(attempt: object) -> TypeGuard[Attempt]:
    """Whether it is one, of numbers."""
    match attempt:
        case Attempt(job, task, number):
            numbers: tuple[object, ...] = (job, task, number)
            return not any(_no(int, "", each) for each in numbers)
    return False


def _flaw_of_attempt(attempt: object) -> str:
    return "" if names_attempt(attempt) else "it names no attempt"


def _no(kind: type, name: str, value: object) -> str:
    """A number that has a name, such as a signal, is a number; a yes or no is none."""
    right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return "" if right else f"its {name} is none"


def _no_size(value: int) -> str:
    if _no(int, "", value) or not 0 <= value <= MOST_BYTES:
        return "its outputs cannot be of that size"
    return ""
