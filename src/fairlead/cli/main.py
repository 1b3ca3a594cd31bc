"""The `fairlead` command: finds the command's file, runs it, turns errors into exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from types import ModuleType

from fairlead.children import Terminated, unwinding
from fairlead.cli.common.inputs import (
    close_match,
    close_option,
    forget_read,
    forget_stdout,
    printing,
    say,
    with_places,
)
from fairlead.cli.common.other_words import COMMANDS_ELSEWHERE
from fairlead.cli.common.parsing import Parser
from fairlead.cli.common.right_to_left import apart
from fairlead.client.errors import (
    AnswerError,
    BusyError,
    FailedError,
    NotAllowedError,
    RefusedError,
    ServiceError,
    UnreachableError,
)
from fairlead.model.errors import FairleadError, InputError, OutputError


class Exit(IntEnum):
    """Exit codes, so that scripts can tell a refusal from a failure."""

    OK = 0
    REFUTED = 1  # a proof or a promise does not hold; a job that was waited for failed
    BAD_INPUT = 2
    CANCELLED = 3  # a job that was waited for was cancelled
    UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h: no service answers
    INTERNAL = 70  # EX_SOFTWARE of sysexits.h
    OUTPUT = 74  # EX_IOERR of sysexits.h
    LATER = 75  # EX_TEMPFAIL of sysexits.h: not now; a time to wait is over
    NOT_ALLOWED = 77  # EX_NOPERM of sysexits.h: the token is wrong, or may not do this
    INTERRUPTED = 130  # 128 + SIGINT, as shells say it
    PIPE_CLOSED = 141  # 128 + SIGPIPE


SHARING = {
    "allocate": "share a cluster: who gets what, and what stops them",
    "explain": "why a job gets what it gets, in sentences",
    "compare": "who gains and who loses under other policies",
    "whatif": "who gains and loses if machines, weights or jobs change",
    "audit": "check the fairness properties on an input, with witnesses",
    "verify": "check the proof of an allocation from the input alone",
    "trace": "describe a trace, or convert it to Fairlead's own format",
    "report": "the results of a study: a page with plots, and a table",
    "study": "figures and tables of the papers, made again",
    "simulate": "replay a trace or a drawn workload under policies",
    "import": "files of another scheduler's cluster, live or saved",
    "policies": "list the policies and their parameters",
    "demo": "a cluster of three GPU generations, shared and explained",
}

SERVICE = {
    "serve": "run the service, which shares machines among tenants",
    "start": "an example service with tenants at work, shown live",
    "doctor": "what holds on this machine for a service, and what to do",
    "stop": "stop the service on this machine; tasks keep running",
    "submit": "submit jobs from files, or one command",
    "jobs": "list the jobs of the service",
    "job": "one job with its tasks",
    "why": "why a job waits, and what would start it",
    "logs": "what the tasks of a job wrote",
    "cancel": "cancel jobs: drop waiting tasks, stop running ones",
    "forget": "forget finished jobs, so that their names are free again",
    "top": "shares, machines and who waits, live in the terminal",
    "dashboard": "the service's page in the browser",
    "shares": "each tenant's share now, and its fair share",
    "machines": "list the machines with their use and state",
    "drain": "start nothing new on machines",
    "undrain": "let drained machines take tasks again",
    "tenants": "list or change the tenants",
    "journal": "check, export, replay or prune the service's journal",
    "token": "create, list or revoke access tokens",
    "login": "sign in as a person, where the service takes sign-ins",
    "logout": "forget that sign-in",
    "completion": "shell completion for bash, zsh and fish",
}

COMMANDS = {**SHARING, **SERVICE}
"""Summary of each command. Its file in `commands` has its name, or the one that `FILES` says."""

FILES = {"undrain": "drain", "import": "import_cluster"}
"""The files of commands that have not their own names."""

EPILOG = """\
examples:
  fairlead demo                                   see what it does, in seconds
  fairlead allocate cluster.yaml jobs.yaml        the fair shares
  fairlead explain train cluster.yaml jobs.yaml   why is `train` waiting?
  fairlead compare cluster.yaml --policies tsf,drf
  fairlead serve                                  share this machine; then, elsewhere:
  fairlead submit --wait -- python train.py       run this as soon as it is its turn

`fairlead COMMAND --help` describes one command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit code. All mistakes go to stderr, in sentences."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    forget_read()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a job's name in an ASCII terminal
    try:
        with unwinding():
            code = _run_with_extras(words)
        with printing():
            sys.stdout.flush()
        return code
    except InputError as error:
        _say(*(f"error: {mistake}" for mistake in with_places(error).mistakes))
        return Exit.BAD_INPUT
    except KeyboardInterrupt as error:
        return _interrupted(error)
    except BrokenPipeError:
        forget_stdout()
        return Exit.PIPE_CLOSED
    except OutputError as error:
        _say(f"error: {error}")
        return Exit.OUTPUT
    except ServiceError as error:
        # What a mistake shows below itself, with a caret, is no sentence.
        said = str(error).splitlines()
        _say(*(each if each.startswith("    ") else f"error: {each}" for each in said))
        return _meaning(error)
    except Exception as error:  # whatever it is, it ends in a sentence
        interrupt = _interrupt_behind(error)
        if interrupt is not None:
            return _interrupted(interrupt)
        if isinstance(error, FileNotFoundError) and _folder_is_gone():
            _say("error: the working folder was removed; change to one that is there")
            return Exit.BAD_INPUT
        if debug:
            raise
        _say(
            f"internal error: {_one_line(error)}",
            "This is a mistake of Fairlead's, not yours, so no result is shown. Please report it"
            " with the input and what the same command prints with --debug.",
        )
        return Exit.INTERNAL


def _run_with_extras(words: list[str]) -> int:
    """As `run`. Raises InputError where the command needs an extra that is not installed, and where
    what names a file is longer than a path may be."""
    try:
        return run(words)
    except ModuleNotFoundError as error:
        from fairlead.extras import missing

        raise missing(error) or error from error
    except (OSError, FairleadError) as error:
        from fairlead.cli.common.too_long import too_long

        mistake = too_long(error, words, os.environ)
        if mistake is None:
            raise
        raise mistake from error


def run(words: list[str]) -> int:
    while words and words[0] == "--debug":
        words = words[1:]
    if not words or words[0] in ("-h", "--help", "help"):
        if len(words) > 1 and words[0] == "help":
            return run([words[1], "--help"])
        say(usage().splitlines())
        return Exit.OK
    if words[0] in ("-V", "--version", "version"):
        from fairlead.version import __version__

        say([f"fairlead {__version__}"])
        return Exit.OK
    name, rest = words[0], words[1:]
    if name not in COMMANDS:
        kind = "option" if name.startswith("-") else "command"
        top: dict[str, Sequence[str]] = {"--help": (), "--version": ()}
        if kind == "option":
            hint = close_option(name, top)
        else:
            hint = COMMANDS_ELSEWHERE.get(name) or close_match(name, [*COMMANDS])
        hint = hint or f"the commands are {', '.join(COMMANDS)}"
        if kind == "command" and Path(name).exists():
            hint = f"to share what it describes, write `fairlead allocate {name}`"
        raise InputError(f"fairlead has no {kind} {name!r}", hint)
    parser, command = parser_of(name)
    after = None
    if parser.runs_command and "--" in rest:
        at = rest.index("--")
        parser.has_dashes = True
        rest, after = rest[:at], rest[at + 1 :]
    try:
        apart = getattr(command, "OPTIONS_BETWEEN", False)
        args = parser.parse_intermixed_args(rest) if apart else parser.parse_args(rest)
    except SystemExit as end:  # --help has printed what it had to say
        return int(end.code or 0)
    args.command = after
    return int(command.run(args))


def parser_of(name: str) -> tuple[Parser, ModuleType]:
    summary = COMMANDS[name]
    command = import_module(f"fairlead.cli.commands.{FILES.get(name, name)}")
    parser = Parser(
        prog=f"fairlead {name}",
        description=f"{summary[:1].upper()}{summary[1:]}.",
        epilog=command.EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.runs_command = getattr(command, "COMMAND_AFTER_DASHES", False)
    parser.elsewhere = getattr(command, "ELSEWHERE", {})
    command.configure(parser)
    parser.add_argument("--debug", action="store_true", help="show where an internal error arose")
    return parser, command


def usage() -> str:
    """The help that `fairlead` alone prints."""
    lines = [
        "usage: fairlead COMMAND ...",
        "",
        "Shares a cluster fairly among people whose jobs need several resources and can run only",
        "on some of the machines; proves the shares and explains them.",
        "",
        "fair shares of what files describe:",
        *(f"  {name:<12}{summary}" for name, summary in SHARING.items()),
        "",
        "the service that runs jobs:",
        *(f"  {name:<12}{summary}" for name, summary in SERVICE.items()),
        "",
        "options:",
        "  --version   the version",
        "  --help      this text",
        "",
    ]
    return "\n".join(lines) + "\n" + EPILOG


def _say(*lines: str) -> None:
    sys.stdout.flush() if not sys.stdout.closed else None
    for line in lines:
        print(apart(line, sys.stderr), file=sys.stderr)


def _meaning(error: ServiceError) -> Exit:
    """The exit code for an error of the service, so that the caller knows whether to try again.
    Where something else answers, there is no service."""
    if isinstance(error, FailedError):
        return Exit.INTERNAL
    if isinstance(error, UnreachableError | AnswerError):
        return Exit.UNAVAILABLE
    if isinstance(error, NotAllowedError):
        return Exit.NOT_ALLOWED
    if isinstance(error, BusyError):
        return Exit.LATER
    return Exit.BAD_INPUT if isinstance(error, RefusedError) else Exit.INTERNAL


def _interrupted(interrupt: KeyboardInterrupt) -> int:
    """The exit code after Ctrl-C or another signal, as shells say it."""
    with suppress(OSError):  # the terminal may be closed
        _say("interrupted")
    return 128 + interrupt.number if isinstance(interrupt, Terminated) else Exit.INTERRUPTED


def _folder_is_gone() -> bool:
    """Whether this program is in a folder that is no more: paths lead nowhere from there."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def _interrupt_behind(error: BaseException | None) -> KeyboardInterrupt | None:
    """The signal that caused the error: Python 3.11 makes a RuntimeError of one that comes while a
    class is made, which is most of what an import does."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return error
        error = error.__cause__
    return None


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, FairleadError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
