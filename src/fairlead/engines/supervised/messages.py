"""Requests to an engine and its reports, as plain trees that JSON holds, and back."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from fairlead.engines.interface import (
    Assignment,
    Attempt,
    Cause,
    Ended,
    Health,
    Lost,
    Node,
    Output,
    Report,
    Started,
)
from fairlead.model.plain import machine_of, plain_machine
from fairlead.model.values import FrozenMap

Tree = dict[str, Any]


def plain_attempt(attempt: Attempt) -> list[int]:
    return [attempt.job, attempt.task, attempt.number]


def attempt_of(tree: list[int]) -> Attempt:
    job, task, number = tree
    return Attempt(job, task, number)


def plain_assignment(assignment: Assignment) -> Tree:
    """The tree of an assignment, without what nothing was said of; its call is left out, too."""
    tree: Tree = {
        "attempt": plain_attempt(assignment.attempt),
        "machine": assignment.machine,
        "name": assignment.name,
        "tenant": assignment.tenant,
        "demand": {name: str(amount) for name, amount in assignment.demand.items()},
    }
    if assignment.command is not None:
        command = assignment.command
        tree["command"] = command if isinstance(command, str) else list(command)
    if assignment.env:
        tree["env"] = dict(assignment.env)
    if assignment.cwd is not None:
        tree["cwd"] = assignment.cwd
    if assignment.time_limit is not None:
        tree["time_limit"] = str(assignment.time_limit)
    if assignment.pieces:
        tree["pieces"] = [list(piece) for piece in assignment.pieces]
    if assignment.user is not None:
        tree["user"] = assignment.user
    if assignment.room is not None:
        tree["room"] = assignment.room
    return tree


def assignment_of(tree: Tree, call: str | None = None) -> Assignment:
    command = tree.get("command")
    limit = tree.get("time_limit")
    return Assignment(
        attempt=attempt_of(tree["attempt"]),
        machine=tree["machine"],
        name=tree["name"],
        tenant=tree["tenant"],
        demand=FrozenMap({name: Fraction(amount) for name, amount in tree["demand"].items()}),
        command=tuple(command) if isinstance(command, list) else command,
        call=call,
        env=FrozenMap(tree.get("env", {})),
        cwd=tree.get("cwd"),
        time_limit=None if limit is None else Fraction(limit),
        pieces=tuple((resource, index) for resource, index in tree.get("pieces", ())),
        user=tree.get("user"),
        room=tree.get("room"),
    )


def plain_assignments(batch: Iterable[Assignment]) -> tuple[list[Tree], dict[str, str]]:
    """The trees of a batch and, by job and number, the calls in it: each call once. The attempts
    of a job have one call, which may be a thousand times as long as all the rest."""
    trees: list[Tree] = []
    calls: dict[str, str] = {}
    for assignment in batch:
        tree = plain_assignment(assignment)
        if assignment.call is not None:
            key = str(assignment.attempt.job)
            tree["call"] = key
            calls[key] = assignment.call
        trees.append(tree)
    return trees, calls


def assignments_of(trees: Iterable[Tree], calls: Mapping[str, str]) -> list[Assignment]:
    """The batch of `plain_assignments`."""
    return [assignment_of(t, calls[t["call"]] if "call" in t else None) for t in trees]


def plain_report(report: Report) -> Tree:
    tree: Tree = {"attempt": plain_attempt(report.attempt)}
    match report:
        case Started():
            tree |= {"is": "started", "time": report.time}
        case Ended():
            tree |= {"is": "ended", "cause": report.cause.value, "code": report.code}
            tree |= {"time": report.time, "started": report.started, "message": report.message}
            tree["output"] = report.output
        case Lost():
            tree |= {"is": "lost", "started": report.started, "why": report.why}
            tree |= {"machine_at_fault": report.machine_at_fault, "output": report.output}
    return tree


def report_of(tree: Tree) -> Report:
    attempt = attempt_of(tree["attempt"])
    if tree["is"] == "started":
        return Started(attempt, tree["time"])
    if tree["is"] == "ended":
        return Ended(
            attempt,
            Cause(tree["cause"]),
            tree["code"],
            tree["time"],
            tree["started"],
            tree["message"],
            tree.get("output", 0),  # a launcher of before does not say it
        )
    why, at_fault = tree["why"], tree["machine_at_fault"]
    return Lost(attempt, tree["started"], why, at_fault, tree.get("output", 0))


def plain_node(node: Node) -> Tree:
    machine = plain_machine(node.machine)
    return {"machine": machine, "health": node.health.value, "problem": node.problem}


def node_of(tree: Tree) -> Node:
    return Node(machine_of(tree["machine"]), Health(tree["health"]), tree["problem"])


def plain_output(output: Output) -> Tree:
    data = b64encode(output.data).decode("ascii")
    return {"data": data, "offset": output.offset, "size": output.size, "over": output.over}


def output_of(tree: Tree) -> Output:
    return Output(b64decode(tree["data"]), tree["offset"], tree["size"], tree["over"])
