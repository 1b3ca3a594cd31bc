"""`fairlead logs`: what the tasks of a job wrote."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import complain
from fairlead.cli.common.remote import add_service, service_of
from fairlead.model.errors import InputError
from fairlead.model.words import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from fairlead.client.client import Client
    from fairlead.wire.jobs import Task

    Put = Callable[[bytes, bool], None]
    """Hears of a line without its end, and whether it has one."""

EPILOG = """\
examples:
  fairlead logs train
  fairlead logs -f train              go on as it is written, until all tasks have ended
  fairlead logs train --task 3 --tail 20
  fairlead logs train --stream stderr > errors.txt
  fairlead logs -f train --json       a line of JSON for each line

What a task wrote to its standard output is written to this one, errors to this one's. Lines of jobs
with several tasks begin with the number of the task. Earlier attempts at a task come first.
"""

SCHEMA = "fairlead.logs/1"

STREAMS = ("stdout", "stderr")

PAUSE = 0.3
"""Seconds between two looks at what was written."""

MOST_FOLLOWED = 100
"""Tasks that are followed at once: each look asks for every one of them."""

PIECE = 1 << 20
"""Bytes asked for at once."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="the job's name")
    parser.add_argument("-f", "--follow", action="store_true", help="go on as it is written")
    parser.add_argument("--task", type=int, metavar="N", help="of this task only (from 0)")
    parser.add_argument("--stream", choices=STREAMS, help="of this stream only")
    parser.add_argument(
        "--tail", type=int, metavar="N", help="of each stream, no more than the last N lines"
    )
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Copies what was written: as bytes, or line by line as JSON."""
    for name in ("task", "tail"):
        if getattr(args, name) is not None and getattr(args, name) < 0:
            raise InputError(f"--{name} {getattr(args, name)} is below 0", "write 0 or more")
    with service_of(args, patience=60.0 if args.follow else 10.0) as service:
        copy_outputs(service, args.job, args)
    return 0


def copy_outputs(
    service: Client, job: str, args: argparse.Namespace, until: float | None = None
) -> None:
    """Copies what the tasks of the job wrote, as `args` say: `task`, `stream`, `tail`, `json`. With
    `follow` until all are over, or until that moment of the steady clock."""
    from fairlead.wire.jobs import TaskState

    over = {TaskState.FINISHED, TaskState.FAILED, TaskState.DROPPED}
    streams = [args.stream] if args.stream else list(STREAMS)
    read: dict[tuple[int, int, str], Reading] = {}
    begun = False
    while True:
        tasks = select_tasks(service, job, args.task, args.follow)
        if args.json and not begun:
            _say_line({"schema": SCHEMA, "job": job})
        for task in tasks:
            for attempt in task.attempts:
                for stream in streams:
                    key = (task.task, attempt.number, stream)
                    put = in_json(*key) if args.json else in_bytes(*key, len(tasks) > 1)
                    one = read.setdefault(key, Reading(put))
                    ended = attempt.ended is not None or attempt is not task.attempts[-1]
                    one.copy(service, job, *key, args.tail, ended or not args.follow)
        done = all(task.state in over for task in tasks)
        if not begun and not any(task.attempts for task in tasks):
            complain(_nothing_yet(job, tasks, done))
        begun = True
        late = until is not None and time.monotonic() >= until
        if not args.follow or done or late:
            return
        time.sleep(PAUSE)


def _nothing_yet(job: str, tasks: Sequence[Task], done: bool) -> str:
    """Why there is no output: nothing has run."""
    name = escaped(job)
    if done:
        return f"{name}: none of its tasks ever ran"
    return (
        f"{name}: nothing ran yet, {counted(len(tasks), 'task')} waiting (`fairlead why {name}`"
        " says why)"
    )


def select_tasks(service: Client, job: str, number: int | None, follow: bool) -> Sequence[Task]:
    """The tasks whose outputs are wanted. Raises InputError."""
    tasks = list(service.tasks(job))
    if number is not None:
        tasks = [task for task in tasks if task.task == number]
        if not tasks:
            raise InputError(
                f"job {job!r} has no task {number}", f"`fairlead job {job}` lists them"
            )
    if follow and len(tasks) > MOST_FOLLOWED:
        raise InputError(
            f"job {job!r} has {len(tasks)} tasks, and at most {MOST_FOLLOWED} can be followed",
            "name one with --task",
        )
    return tasks


def in_bytes(task: int, attempt: int, stream: str, several: bool) -> Put:
    """Copies lines to the stream that is called the same, with the task's number where there are
    `several`."""
    del attempt
    target = sys.stdout.buffer if stream == "stdout" else sys.stderr.buffer
    prefix = f"[{task}] ".encode() if several else b""

    def put(line: bytes, whole: bool) -> None:
        target.write(prefix + line + (b"\n" if whole or several else b""))

    return put


def in_json(task: int, attempt: int, stream: str) -> Put:
    """Prints lines as JSON, bytes that are no UTF-8 as U+FFFD."""

    def put(line: bytes, whole: bool) -> None:
        text = line.decode("utf-8", "replace")
        tree = {"task": task, "attempt": attempt, "stream": stream, "line": text}
        _say_line(tree if whole else tree | {"whole": False})

    return put


def _say_line(tree: dict[str, object]) -> None:
    import json

    sys.stdout.write(json.dumps(tree, ensure_ascii=False) + "\n")


@dataclass
class Reading:
    """Progress of copying one output of one attempt to `put`. `rest` is the beginning of a
    line whose end has not come."""

    put: Put
    offset: int = 0
    rest: bytes = b""
    over: bool = False
    begun: bool = field(default=False)

    def copy(
        self,
        service: Client,
        job: str,
        task: int,
        attempt: int,
        stream: str,
        tail: int | None,
        ended: bool,
    ) -> None:
        """Writes what has come since the last time: whole lines, and at its end all of it."""
        if not self.begun:
            self.begun = True
            if tail is not None:
                self.offset = start_of_tail(service, job, task, attempt, stream, tail)
        while not self.over:
            found = service.output(
                job, task, stream=stream, attempt=attempt, offset=self.offset, limit=PIECE
            )
            self.offset = found.offset + len(found.data)
            *lines, self.rest = (self.rest + found.data).split(b"\n")
            for line in lines:
                self.put(line, True)
            if self.offset < found.size and found.data:
                continue
            self.over = found.over
            if (self.over or ended) and self.rest:
                self.put(self.rest, False)
                self.rest = b""
            sys.stdout.flush()
            sys.stderr.flush()
            return


def start_of_tail(
    service: Client, job: str, task: int, attempt: int, stream: str, lines: int
) -> int:
    """The offset at which the last so many lines of the output begin."""
    at = service.output(job, task, stream=stream, attempt=attempt, offset=0, limit=1).size
    seen, last = 0, True
    while at > 0:
        begin = max(0, at - PIECE)
        found = service.output(
            job, task, stream=stream, attempt=attempt, offset=begin, limit=at - begin
        )
        for index in range(len(found.data) - 1, -1, -1):
            if found.data[index] == 0x0A and not last:
                seen += 1
                if seen == lines:
                    return begin + index + 1
            last = False
            if lines == 0:
                return at
        at = begin
    return 0
