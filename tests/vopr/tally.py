"""Counts of all that a run of seeds met, and what it must have met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import get_args

from fairlead.engines.interface import Cause
from fairlead.scheduling.transitions import CANCELLED, MACHINE, TASK
from fairlead.service.requests import CancelJobs, Request, Wrong
from tests.vopr.faults import Fault
from tests.vopr.features import Feature
from tests.vopr.looks import What
from tests.vopr.midway import COPIED, LATER, MIDWAY
from tests.vopr.simulation import Simulation

Tally = Counter[tuple[str, str]]
"""How often what of which kind happened."""

CALLS = ("nodes", "launch", "poll", "acknowledge", "cancel", "reconcile", "forget")

ENTRIES = (
    *("service_started", "machine_joined", "machine_left", "machine_drained", "machine_changed"),
    *("machine_quarantined", "quarantine_ended", "attempt_gone", "drain_asked"),
    *("job_submitted", "job_changed", "job_cancelled", "job_forgotten", "tenant_changed"),
    *("task_started", "task_finished", "task_failed", "task_lost", "task_stopped"),
    *("launch", "stop", "time_passed", "advice_changed", "guarantees_changed"),
    *("token_made", "token_revoked", "core_changed"),
)


def tally(run: Simulation) -> Tally:
    """What one run met."""
    found: Tally = Counter()
    for fault, times in run.chance.hits.items():
        found["fault", fault.name] += times
    for (state, change, cancelled), times in run.ledger.task_changes.items():
        found["task", task_change(state.name, change.name, cancelled)] += times
    for (before, what), times in run.ledger.machine_changes.items():
        found["machine", f"{before.name} {what.name}"] += times
    for feature, times in run.ledger.features.met.items():
        found["feature", feature.name] += times
    for kind, times in run.ledger.kinds.items():
        found["entry", kind] += times
    for (request, reply), times in run.clients.replies.items():
        found["request", f"{request} {reply}"] += times
        found["reply", reply] += times
    for report, times in run.cluster.causes.items():
        found["report", report] += times
    for (look, status), times in run.readers.seen.items():
        found["look", f"{look} {status}"] += times
    for (look, status), times in run.onlooker.seen.items():
        found["midway", f"{look} {status}"] += times
    for call, times in run.calls.items():
        found["call", call] += times
    found["run", "seeds"] += 1
    found["run", "steps"] += run.steps
    found["run", "lives"] += run.lives
    found["run", "entries"] += run.ledger.seq
    found["run", "tasks"] += sum(line.count for line in run.clients.accepted())
    found["run", "attempts"] += sum(run.judge.begun.values())
    found["run", "simulated seconds"] += (run.trace.now - run.trace.start) // 10**6
    return found


def task_change(state: str, change: str, cancelled: bool) -> str:
    """The name of a transition."""
    return f"{state} {change}" + (" (cancelled)" if cancelled else "")


def wanted() -> Iterator[tuple[str, str]]:
    """All that a run of many seeds must have met."""
    for fault in Fault:
        yield "fault", fault.name
    for state, change in TASK:
        # Of what must run once nothing is stopped, but in a journal of an older core.
        if (state.name, change.name) != ("STOPPING", "FAILED"):
            yield "task", task_change(state.name, change.name, False)
    for state, change in CANCELLED:
        yield "task", task_change(state.name, change.name, True)
    for before, what in MACHINE:
        yield "machine", f"{before.name} {what.name}"
    for kind in ENTRIES:
        yield "entry", kind
    for request in get_args(Request):
        for reply in ("done", "no reply"):
            yield "request", f"{request.__name__} {reply}"
        if request is not CancelJobs:  # which is rarely asked for: it was not in 2,000 seeds
            yield "request", f"{request.__name__} {Wrong.UNAVAILABLE.value}"
    for wrong in Wrong:
        # Followers say the one, and here one life follows another; where the other would be said,
        # which whoever runs the loop does, a life is a failure.
        if wrong not in (Wrong.NOT_LEADING, Wrong.FAILED):
            yield "reply", wrong.value
    for cause in ("well", "lost", *(each.value for each in Cause)):
        yield "report", cause
    for feature in Feature:
        yield "feature", feature.name
    for look in What:
        good = {What.REVOKED: "401", What.EVENTS: "event"}.get(look, "200")
        yield "look", f"{look.name} {good}"
    for look in (What.TASKS, What.OUTPUT, What.WHY, What.TOKENS):
        yield "look", f"{look.name} 403"
    for look in MIDWAY:
        yield "midway", f"{look.name} 200"
    for look in LATER:
        yield "midway", f"{look.name} later"
    for look in COPIED:
        yield "midway", f"{look.name} 200"
    for call in CALLS:
        yield "call", call


def missing(found: Tally) -> list[tuple[str, str]]:
    """What was not met."""
    return [each for each in wanted() if not found[each]]


def table(found: Tally) -> str:
    """All counts, a line each, those that are missing too."""
    names = sorted({*found, *wanted()})
    return "\n".join(f"{kind:8} {what:44} {found[kind, what]:>10,}" for kind, what in names)
