"""`fairlead job`: one job with its tasks."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairlead.cli.common.remote import (
    add_service,
    at,
    lasting,
    say_answer,
    service_of,
    state_word,
    total,
)
from fairlead.cli.common.screen import Screen, columns, fold, table
from fairlead.model.words import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fairlead.wire.jobs import JobDetail, Task, TaskAttempt

EPILOG = """\
examples:
  fairlead job train
  fairlead job train --tasks failed    only the tasks that failed
  fairlead job train --json            the job and its tasks, for programs
"""

MOST = 20
"""Tasks that are shown if nothing is said."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="the job's name")
    parser.add_argument(
        "--tasks",
        metavar="STATE",
        help="show all tasks in this state: waiting, launched, running, stopping, finished,"
        f" failed or dropped; `all` for all. Without this option, at most {MOST} are shown",
    )
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Asks for the job and its tasks and prints them."""
    from itertools import islice

    from fairlead.wire.jobs import TaskState

    chosen = args.tasks not in (None, "all")
    state = state_word(args.tasks, TaskState, "a task") if chosen else None
    most = MOST if args.tasks is None and not args.json else None
    with service_of(args) as service:
        job = service.job(args.job)
        # Of another tenant's job only the counts may be seen.
        tasks = list(islice(service.tasks(args.job, state), most)) if job.job is not None else []
    tree = job.model_dump(mode="json", by_alias=True)
    tree["task_list"] = [task.model_dump(mode="json") for task in tasks]
    say_answer(args, tree, lambda screen: lines(job, tasks, screen))
    return 0


def lines(job: JobDetail, tasks: Sequence[Task], screen: Screen) -> Iterator[str]:
    """Lines on the job and its state, and one for each task."""
    facts = [("job", escaped(job.name)), ("tenant", escaped(job.tenant))]
    if not job.name.isdecimal():  # to whom Slurm's numbers are names, another one says nothing
        facts.insert(1, ("number", f"{job.id} (its FAIRLEAD_JOB_ID, and in the service's log)"))
    facts.append(("state", job.state.value))
    counts = job.tasks.model_dump()
    parts = [f"{counts[state]} {state}" for state in counts if counts[state]]
    facts.append(("tasks", f"{total(job.tasks)}: {', '.join(parts)}"))
    if job.reason:
        facts.append(("because", escaped(job.reason)))
    facts.append(("submitted", at(job.submitted) + (f" by {escaped(job.by)}" if job.by else "")))
    if job.ended is not None:
        facts.append(("ended", f"{at(job.ended)} ({lasting((job.ended - job.submitted) / 1e6)})"))
    for key, value in (job.job or {}).items():
        if key not in ("name", "tenant", "tasks"):
            facts.append(
                (key, escaped(demand_text(value) if key == "demand" else field_text(value)))
            )
    for key, text in facts:
        first, *more = fold(text, max(30, screen.width - 13)) if screen.width else [text]
        yield screen.dim(key) + " " * (12 - columns(key)) + " " + first
        yield from (" " * 13 + line for line in more)
    if tasks:
        yield ""
        rows = [row(task) for task in tasks]
        header = ["task", "state", "machine", "attempts", "took", "ended"]
        yield from table(header, rows, "><<>><", screen)
    if job.job is not None and len(tasks) == MOST < total(job.tasks):
        yield f"... and {total(job.tasks) - MOST} more (--tasks all)"


def row(task: Task) -> list[str]:
    """A task: its last attempt is what counts."""
    last = task.attempts[-1] if task.attempts else None
    took = "-"
    if last is not None and last.started is not None and last.ended is not None:
        took = lasting((last.ended - last.started) / 1e6)
    return [
        str(task.task),
        task.state.value,
        escaped(last.machine) if last is not None and last.machine else "-",
        str(last.number if last is not None else 0),
        took,
        ending(last) if last is not None else "",
    ]


def ending(attempt: TaskAttempt) -> str:
    """The end of an attempt in words; empty while it has not ended."""
    if attempt.cause is None:
        return ""
    words = {
        "exited": f"exit code {attempt.code}",
        "signalled": f"signal {attempt.code}",
        "time_limit": "exceeded its time limit",
        "memory": "stopped for memory",
        "stopped": "stopped",
        "not_started": "could not be started",
        "lost": "lost with its machine",
    }
    said = words.get(attempt.cause, attempt.cause)
    return f"{said}: {escaped(attempt.message)}" if attempt.message else said


def demand_text(demand: dict[str, str]) -> str:
    """A demand as it would be written in a file, with units."""
    from fractions import Fraction

    from fairlead.model import quantity

    return ", ".join(f"{key}: {quantity.write_short(Fraction(demand[key]))}" for key in demand)


def field_text(value: object) -> str:
    """A field of a job as it would be written in a file."""
    import json

    if isinstance(value, dict) and all(isinstance(each, str) for each in value.values()):
        return ", ".join(f"{key}: {each}" for key, each in value.items())
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
