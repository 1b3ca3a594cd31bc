"""`fairlead submit`: jobs from files, or one command."""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import complain, say
from fairlead.cli.common.remote import (
    PATIENCE,
    add_service,
    done,
    holding,
    only_text,
    say_json,
    service_of,
    total,
)
from fairlead.cli.main import Exit
from fairlead.model.errors import InputError
from fairlead.model.words import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.cli.common.submit_job import WrittenJobs
    from fairlead.client.client import Client
    from fairlead.model.job import Job
    from fairlead.wire.jobs import JobRow, SubmissionWarning

LEAST_MEMORY = 2**20
"""Bytes of which no process has less."""

EPILOG = """\
examples:
  fairlead submit jobs.yaml
  fairlead submit --wait --tenant vision --gpu 1 -- python train.py --epochs 3
  fairlead submit --wait --follow -- make test     as if it ran here: its output, its exit code
  fairlead submit --name sweep --tasks 100 -- 'python fit.py --seed "$FAIRLEAD_TASK"'
  fairlead submit --cpu 4 --memory 8GiB --where "zone = east" --time-limit 2h -- make test

Several words after `--` are a program and its arguments; one word is a text for the shell.
A task finds its number in FAIRLEAD_TASK.
"""

COMMAND_AFTER_DASHES = True
"""The words after `--` are a command, and `run` gets them as `args.command`."""


_WAITING = (
    "jobs do not wait for others here: `fairlead submit --wait` returns once a job has ended, and"
    " its exit code tells how"
)
_PRIORITY = "there are no priorities: a tenant gets by its weight, beside others"
_LABEL = 'a partition is a label here, as in --where "partition = short"'
_LIMIT = "write --time-limit TIME, as in 2h"
_RESERVED = (
    "nothing is kept free for a time: who has less than its fair share goes first, and tasks of"
    " others are stopped for it where the service has `preempt_after`"
)
_STOPPED = (
    "any task may be stopped for others' fair shares where the service has `preempt_after`, and"
    " starts again; with --once it runs to its end"
)
_TRIED = "`fairlead why JOB` of one that was submitted says when it is expected to start"
_LOGS = "what tasks write is kept: `fairlead logs JOB` shows it"
_TASKS = "-n 10 is ten tasks, and each finds its number, from 0, in FAIRLEAD_TASK"
_DEMAND = "write what a task needs as --cpu N, --memory N, --gpu N, or --resource NAME=N"

ELSEWHERE = {
    "--array": _TASKS,
    "--ntasks": _TASKS,
    **dict.fromkeys(("--dependency", "--depends", "--depend", "--after", "--afterok"), _WAITING),
    **dict.fromkeys(("--priority", "--qos", "--nice"), _PRIORITY),
    **dict.fromkeys(("--partition", "--queue", "-p", "-q"), _LABEL),
    **dict.fromkeys(("--time", "--walltime", "-t"), _LIMIT),
    **dict.fromkeys(("--reservation", "--begin", "--deadline"), _RESERVED),
    **dict.fromkeys(("--preemptible", "--interruptible"), _STOPPED),
    **dict.fromkeys(("--dry-run", "--test-only"), _TRIED),
    "--requeue": "write --retries N; what is lost with its machine is started again in any case",
    "--exclusive": "ask for all that a machine has, or --spread: one task on a machine",
    "--wrap": "write -- and the command as one word, behind all options",
    "-c": "write --cpu N",
    "-A": "write --tenant",
    "-J": "write --name",
    "-w": "write --machine",
    **dict.fromkeys(("--output", "--error", "--log"), _LOGS),
    **dict.fromkeys(("--account", "--user"), "write --tenant"),
    "--constraint": 'write --where "LABEL = VALUE"',
    "--nodelist": "write --machine",
    **dict.fromkeys(("--demand", "--demands", "--request", "--requests"), _DEMAND),
    "--gres": "write --gpu N, or --resource NAME=N",
    "--cpus-per-task": "write --cpu N",
    "--job-name": "write --name",
    "--chdir": "write --cwd",
    "--export": "write -e NAME=VALUE",
}
"""What other schedulers call otherwise, or have and Fairlead has not."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = "fairlead submit [options] FILE... | -- COMMAND..."
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="files of jobs; `-` is the standard input"
    )
    job = parser.add_argument_group("the job of a command")
    job.add_argument("--name", metavar="NAME", help="its name (default: one is made up)")
    job.add_argument("--tenant", metavar="TENANT", help="whose job it is (default: the token's)")
    job.add_argument("-n", "--tasks", metavar="N", help="how many tasks it has (default: 1)")
    job.add_argument("--cpu", metavar="N", help="CPUs that a task needs (default: 1)")
    job.add_argument("--memory", metavar="N", help="memory that a task needs, as in 4GiB")
    job.add_argument("--gpu", metavar="N", help="GPUs that a task needs")
    job.add_argument(
        "-r",
        "--resource",
        action="append",
        default=[],
        metavar="NAME=N",
        help="any other resource that a task needs; may be repeated",
    )
    job.add_argument("--where", metavar="SELECTOR", help='machines, as in "zone = east"')
    job.add_argument(
        "--machine", action="append", metavar="NAME", help="a machine or range; may be repeated"
    )
    job.add_argument(
        "-e",
        "--env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable that is set; NAME alone: as it is here; may be repeated",
    )
    job.add_argument(
        "--cwd",
        metavar="DIR",
        help="the folder that it runs in (default: this one, for a service on this machine)",
    )
    job.add_argument("--time-limit", metavar="TIME", help="how long a task may run, as in 2h")
    job.add_argument(
        "--duration", metavar="TIME", help="how long a task will run, for estimates of starts"
    )
    job.add_argument("--retries", metavar="N", help="how often a task is tried again")
    job.add_argument(
        "--once", action="store_true", help="never start a task again that may have started"
    )
    job.add_argument("--gang", metavar="N", help="so many tasks start together, or none")
    job.add_argument("--spread", action="store_true", help="at most one task on a machine")
    how = parser.add_argument_group("how it is submitted")
    how.add_argument(
        "--again", action="store_true", help="under names that are new: each gets an ending"
    )
    how.add_argument(
        "--key",
        metavar="KEY",
        help="submitting the same with the same key once more changes nothing",
    )
    how.add_argument(
        "--strict",
        action="store_true",
        help="submit nothing if a job can never run on the machines and limits that are there",
    )
    how.add_argument(
        "--wait", action="store_true", help="until all have ended; the exit code tells"
    )
    how.add_argument(
        "--follow", action="store_true", help="with --wait: show what the job's tasks write"
    )
    how.add_argument("--timeout", metavar="TIME", help="with --wait: no longer than this")
    add_service(how)


def run(args: argparse.Namespace) -> int:
    """Submits, says what was accepted, and waits if it is told to."""
    from fairlead.cli.common.durations import duration_of
    from fairlead.cli.common.submit_job import job_of_command, jobs_of_files, rename_jobs

    only_text(args)
    timeout = None
    if args.timeout is not None:
        if not args.wait:
            raise InputError("--timeout says how long to wait", "write --wait, too")
        timeout = float(duration_of("--timeout", args.timeout))
    if args.follow and not args.wait:
        raise InputError("--follow shows the output while it is waited for", "write --wait, too")
    if args.follow and args.json:
        raise InputError("--json prints one answer, and --follow what is written", "choose one")
    written = jobs_of_files(args) if args.command is None else job_of_command(args)
    warn_of_bytes(written.jobs)
    if args.follow:
        check_follow(written.jobs)
    if args.again:
        written = rename_jobs(written)
    if args.wait:
        # Now, since Ctrl-C while Python imports something ends in an error of Python's own.
        import tqdm  # noqa: F401  used in `wait_for_jobs`

        import fairlead.client.waiting  # noqa: F401  the same
    # A service that restarts while somebody waits for hours is no reason to give up.
    patience = 120.0 if args.wait else PATIENCE
    with service_of(args, patience, _remark if args.wait else None) as service:
        accepted, warnings = submit_jobs(service, written, args)
        for each in warnings:
            complain(f"warning: {escaped(each.job)}: {escaped(each.sentence)}")
        if not args.wait:
            if args.json:
                warned = [each.model_dump(mode="json") for each in warnings]
                _say_rows("fairlead.submitted/1", accepted, warnings=warned)
            else:
                say(f"{_called(row)}: submitted, {_tasks(row)}" for row in accepted)
            return 0
        try:
            if not args.json:
                for row in accepted:
                    complain(f"{_called(row)}: submitted, {_tasks(row)}")
            until = None if timeout is None else time.monotonic() + timeout
            if args.follow:
                follow(service, accepted[0].name, until)
            left = None if until is None else max(0.0, until - time.monotonic())
            rows = wait_for_jobs(service, [row.name for row in accepted], left)
        except KeyboardInterrupt:
            complain("no longer waiting: the jobs go on (`fairlead cancel` stops them)")
            raise
    ends = [f"{_called(row)}: {row.state.value}, {_ended(row)}" for row in rows]
    if args.json:
        _say_rows("fairlead.jobs/1", rows)
    elif args.follow:  # the output alone is what others read of this
        complain("\n".join(ends))
    else:
        say(ends)
    return code_of(rows)


def _remark(sentence: str) -> None:
    """As `complain`, above the bar of what is waited for."""
    from tqdm import tqdm

    tqdm.write(sentence, file=sys.stderr)


def warn_of_bytes(jobs: Sequence[Job]) -> None:
    """Says so where a task asks for so little memory that its unit was forgotten."""
    few = [job for job in jobs if 0 < job.demand.get("memory", 0) < LEAST_MEMORY]
    if few:
        asked = counted(int(few[0].demand["memory"]), "byte")
        more = f", and {counted(len(few) - 1, 'more job')} as few" if few[1:] else ""
        complain(
            f"warning: {escaped(few[0].name)}: each task asks for {asked} of memory, less than any"
            f" process takes{more}; with a unit it is more, as in 4GiB"
        )


def check_follow(jobs: Sequence[Job]) -> None:
    """Raises InputError where the outputs of what is submitted cannot be followed."""
    from fairlead.cli.commands.logs import MOST_FOLLOWED

    if len(jobs) != 1:
        raise InputError(
            f"--follow shows the output of one job, and there are {len(jobs)}",
            "submit them, and follow each with `fairlead logs -f`",
        )
    if jobs[0].tasks is not None and jobs[0].tasks > MOST_FOLLOWED:
        raise InputError(
            f"the job has {jobs[0].tasks} tasks, and at most {MOST_FOLLOWED} can be followed",
            "leave --follow out, and follow some with `fairlead logs -f --task N`",
        )


def follow(service: Client, job: str, until: float | None) -> None:
    """Copies what the tasks of the job write, as `fairlead logs -f` does, until all are over."""
    from fairlead.cli.commands.logs import copy_outputs

    how = argparse.Namespace(task=None, stream=None, tail=None, json=False, follow=True)
    copy_outputs(service, job, how, until)


def submit_jobs(
    service: Client, written: WrittenJobs, args: argparse.Namespace
) -> tuple[list[JobRow], list[SubmissionWarning]]:
    """Submits the jobs, and returns the rows of those accepted with the service's warnings. Raises
    ServiceError, and InputError for what the service finds wrong; where some of very many were
    accepted, a remark says how to go on."""
    from fairlead.client.client import BATCH, batches, checked_key
    from fairlead.client.errors import RefusedError, ServiceError
    from fairlead.model.plain import plain_job

    key, jobs = checked_key(args.key), written.jobs
    accepted: list[JobRow] = []
    warnings: list[SubmissionWarning] = []
    try:
        # Strictly, all of it is accepted or nothing, so it is one request however long it is.
        if args.strict or len(list(batches(map(plain_job, jobs), BATCH))) == 1:
            answer = service.submit(*jobs, key=key, strict=args.strict)
            if answer.repeated and args.key is not None:
                complain(f"this was submitted before with the key {key}: nothing new was")
            return answer.jobs, answer.warnings
        for answer in service.submit_all(jobs, key=key, size=BATCH):
            accepted += answer.jobs
            warnings += answer.warnings
    except ServiceError as error:
        if accepted:
            complain(
                f"{len(accepted)} of {len(jobs)} jobs were accepted; the same command with"
                f" --key {key} goes on there"
            )
        if isinstance(error, RefusedError):
            raise written.with_places(error.mistakes) from error
        raise
    return accepted, warnings


def wait_for_jobs(service: Client, names: Sequence[str], timeout: float | None) -> list[JobRow]:
    """The jobs once all are over, or the time is. A bar on a terminal shows how far they are."""
    from tqdm import tqdm

    from fairlead.client.waiting import wait_for

    rows: dict[str, JobRow] = {}
    with tqdm(
        unit="task", file=sys.stderr, disable=not sys.stderr.isatty(), dynamic_ncols=True
    ) as bar:
        for rows in wait_for(service, names, timeout):
            counts = [row.tasks for row in rows.values()]
            bar.total = sum(map(total, counts))
            over = sum(each.finished + each.failed + each.dropped for each in counts)
            running = sum(map(holding, counts))
            failed = sum(each.failed for each in counts)
            said = f"{running} running" + (f", {failed} failed" if failed else "")
            bar.set_postfix_str(said, refresh=False)
            bar.update(over - bar.n)
            bar.refresh()
    return [rows[name] for name in names]


def code_of(rows: Sequence[JobRow]) -> int:
    """The exit code that tells how the jobs ended: the worst of all."""
    from fairlead.client.waiting import OVER
    from fairlead.wire.kinds import JobState

    states = {row.state for row in rows}
    if JobState.FAILED in states:
        return Exit.REFUTED
    if JobState.CANCELLED in states:
        return Exit.CANCELLED
    return Exit.OK if states <= OVER else Exit.LATER


def _say_rows(schema: str, rows: Sequence[JobRow], **more: object) -> None:
    say_json({"schema": schema, "jobs": [row.model_dump(mode="json") for row in rows], **more})


def _called(row: JobRow) -> str:
    """The name to ask for it by. One that begins with a slash is said again in words."""
    bare = row.name.removeprefix("/")
    return escaped(row.name if bare == row.name else f"{row.name} ({bare} of no tenant)")


def _tasks(row: JobRow) -> str:
    return counted(total(row.tasks), "task")


def _ended(row: JobRow) -> str:
    """How many tasks are done, and why not all: what is said of one that failed, or of the job."""
    from fairlead.wire.jobs import JobDetail

    reason = row.reason if isinstance(row, JobDetail) else None  # a list has none
    said, _, of_task = escaped(reason or "").partition("; ")
    first = f"{row.tasks.failed} failed" if row.tasks.failed else said
    why = "; ".join(filter(None, (first, of_task)))
    return f"{done(row.tasks)} tasks done" + (f", {why}" if why else "")
