"""From what stands on the command line of `fairlead submit` to jobs."""

from __future__ import annotations

import argparse
import os
import re
import secrets
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from fairlead.cli.common.inputs import complain, texts_of
from fairlead.model.errors import About, InputError, Mistake, Mistakes, Place
from fairlead.model.job import Job
from fairlead.model.words import escaped
from fairlead.wire.trace import TRACEPARENT, parent_of

_ENDING = "bcdfghjkmnpqrstvwxz23456789"
"""Signs of made-up endings: without vowels no words come out, without look-alikes they can be
read aloud."""

TASKS = "write a positive whole number, or leave it out for one"

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_FOR_COMMANDS = {
    "name": "--name",
    "tenant": "--tenant",
    "tasks": "--tasks",
    "cpu": "--cpu",
    "memory": "--memory",
    "gpu": "--gpu",
    "resource": "--resource",
    "where": "--where",
    "machine": "--machine",
    "env": "--env",
    "cwd": "--cwd",
    "time_limit": "--time-limit",
    "duration": "--duration",
    "retries": "--retries",
    "once": "--once",
    "gang": "--gang",
    "spread": "--spread",
}


@dataclass(frozen=True)
class WrittenJobs:
    """Jobs that are to be submitted, and where that stands which something is said about."""

    jobs: tuple[Job, ...]
    place: Callable[[About], Place | None]

    def with_places(self, mistakes: Iterable[Mistake]) -> InputError:
        """The service's remarks on them, with its places, in their order."""
        found = [
            replace(each, place=each.place or (self.place(each.about) if each.about else None))
            for each in mistakes
        ]
        names = {job.name: number for number, job in enumerate(self.jobs)}

        def order(mistake: Mistake) -> int:
            return names.get(str(mistake.about[1]) if mistake.about[1:] else "", -1)

        return InputError(sorted(found, key=order))


def jobs_of_files(args: argparse.Namespace) -> WrittenJobs:
    """The jobs of the files, and where they stand in them. Raises InputError."""
    from fairlead.model.reading import read_submission

    if not args.files:
        raise InputError(
            "fairlead submit: there is nothing to submit",
            "name files of jobs, or write a command after --",
        )
    _check_command(args.files)
    said = [option for name, option in _FOR_COMMANDS.items() if getattr(args, name)]
    if said:
        raise InputError(
            f"{said[0]} is about the job of a command, and files are given",
            "write it into the file; or, if this is a command, put -- before it",
        )
    return WrittenJobs(*read_submission(texts_of(args.files)))


def _check_command(words: Sequence[str]) -> None:
    """Refuses words of which the first is no file and does not look like one: a command."""
    from fairlead.files import ENDINGS, STANDARD_INPUT

    first = words[0]
    named = first in ("", STANDARD_INPUT) or first.endswith(ENDINGS)
    if not named and not os.path.lexists(first):
        raise InputError(
            f"no such file: {first}", f"put -- before the command: -- {shlex.join(words)}"
        )


def job_of_command(args: argparse.Namespace) -> WrittenJobs:
    """The job of a command, which stands in no file. Raises InputError with all mistakes."""
    command: Sequence[str] = args.command
    if args.files:
        raise InputError(
            f"{args.files[0]!r} stands before -- where options stand",
            "submit files or a command, not both",
        )
    if not command:
        raise InputError("nothing stands after --", "write a command")
    mistakes = Mistakes()
    demand = _demand(args, mistakes)
    env = mistakes.attempt((), variables, args.env) or {}
    parent = os.environ.get(TRACEPARENT)
    if parent_of(parent) is not None:
        env.setdefault(TRACEPARENT, str(parent))
    mistakes.report()
    try:
        job = Job(
            make_up_name(command[0]) if args.name is None else args.name,
            demand,
            tenant=args.tenant,
            tasks="1" if args.tasks is None else args.tasks,
            where=args.where or "",
            machines=args.machine,
            spread=args.spread,
            gang=1 if args.gang is None else args.gang,
            duration=args.duration,
            command=command[0] if len(command) == 1 else list(command),
            env=env,
            cwd=_folder(args),
            time_limit=args.time_limit,
            retries=args.retries,
            rerunnable=not args.once,
        )
    except InputError as error:  # in a file there may be no limit
        raise InputError(
            replace(each, right=TASKS) if each.about[2:3] == ("tasks",) else each
            for each in error.mistakes
        ) from error
    return WrittenJobs((job,), lambda _about: None)


def _demand(args: argparse.Namespace, mistakes: Mistakes) -> dict[str, str]:
    """The demand of a task, each resource said once; a CPU where nothing is said of it."""
    demand: dict[str, str] = {}
    options: dict[str, str] = {}

    def need(name: str, amount: str, option: str) -> None:
        if name in demand:
            mistakes.add(
                (), f"{options[name]} and {option} are two amounts of {name}", "write one of them"
            )
        demand.setdefault(name, amount)
        options.setdefault(name, option)

    for name in ("cpu", "memory", "gpu"):
        if getattr(args, name) is not None:
            need(name, getattr(args, name), f"--{name} {getattr(args, name)}")
    for word in args.resource:
        name, equals, amount = word.partition("=")
        if not (name and equals and amount):
            mistakes.add((), f"--resource {word} is no amount of a resource", "write NAME=N")
        else:
            need(name, amount, f"--resource {word}")
    return {"cpu": "1"} | demand


def variables(words: Sequence[str]) -> dict[str, str]:
    """The environment that words mean. Raises InputError."""
    mistakes = Mistakes()
    env: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not _VARIABLE.fullmatch(name):
            mistakes.add(
                (),
                f"--env {word}: no shell has a variable {name[:80]!r}",
                "write letters, digits and _, and no digit first",
            )
        elif name in env:
            mistakes.add((), f"--env {name} is given twice", "give it once")
        elif equals:
            env[name] = value
        elif name in os.environ:
            env[name] = os.environ[name]
        else:
            mistakes.add((), f"--env {name}: no such variable is set here", f"write {name}=VALUE")
    mistakes.report()
    return env


def rename_jobs(written: WrittenJobs) -> WrittenJobs:
    """The jobs under names that nobody has used."""
    ending = f"-{_make_up_ending()}"

    def place(about: About) -> Place | None:
        kind, name, *rest = about if len(about) > 1 else (*about, "")
        return written.place((kind, str(name).removesuffix(ending), *rest))

    jobs = tuple(replace(job, name=f"{job.name}{ending}") for job in written.jobs)
    return replace(written, jobs=jobs, place=place)


def make_up_name(command: str) -> str:
    words = command.split()
    word = re.sub(r"[^\w.-]+", "-", Path(words[0]).name if words else "").strip("-.")
    return f"{word[:40] or 'job'}-{_make_up_ending()}"


def _make_up_ending() -> str:
    return "".join(secrets.choice(_ENDING) for _ in range(5))


def _folder(args: argparse.Namespace) -> str | None:
    """The folder it runs in, as an absolute path, since the service stands elsewhere."""
    from fairlead.client.loopback import loopback
    from fairlead.client.places import find_place

    if args.cwd is not None:
        named = Path(args.cwd).absolute()
        if loopback(find_place(args.url).url) and not named.is_dir():
            complain(f"warning: there is no folder {escaped(str(named))} on this machine")
        return str(named)
    return str(Path.cwd()) if loopback(find_place(args.url).url) else None
