"""Parts that several commands share: the input files, the policy, the printing of results."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from fairlead.cli.common.right_to_left import apart
from fairlead.cli.common.screen import Screen, screen_of
from fairlead.model.errors import InputError, OutputError

if TYPE_CHECKING:  # the model is imported when a command runs, not to print its help
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster


def add_action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str
) -> argparse.ArgumentParser:
    """One of the actions of a command that has several. `--debug` may stand before or after it;
    `main` reads it."""
    action = actions.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}.",
        allow_abbrev=False,
    )
    action.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
    return action


def add_files(parser: argparse.ArgumentParser, least: int = 1) -> None:
    """The input: files or directories, one or more (or none where `least` is 0)."""
    parser.add_argument(
        "files",
        nargs="+" if least else "*",
        metavar="FILE",
        help="a YAML or JSON file, or a directory of them; `-` is the standard input",
    )


def add_live(parser: argparse.ArgumentParser, what: str, *options: str) -> None:
    """A running service instead of files; of what it is asked, so many of the command's other
    options have a part."""
    parser.add_argument("--live", action="store_true", help=f"no file: {what}")
    parser.add_argument("--url", metavar="URL", help="with --live: the service's address")
    part = {"--live", "--url", "--json", "--debug", *options}
    parser.set_defaults(check_live=partial(_check_live, parser, part))


def is_live(args: argparse.Namespace) -> bool:
    """Whether a running service is asked. Raises InputError where one is named and is not asked."""
    if args.url is not None and not args.live:
        raise InputError("--url names a service, and without --live none is asked", "add --live")
    return bool(args.live)


def _check_live(
    parser: argparse.ArgumentParser, part: Collection[str], args: argparse.Namespace
) -> None:
    """Raises InputError where files are given, or an option that has no part in what is live."""
    if args.files:
        raise InputError(
            "--live takes no file", "leave the file out: the answer is of what is present"
        )
    for action in parser._actions:  # noqa: SLF001  (there is no public list)
        name = action.option_strings[-1] if action.option_strings else None
        if (
            name
            and name not in part
            and getattr(args, action.dest, action.default) != action.default
        ):
            raise InputError(
                f"{name} has no effect with --live",
                "leave it out: the answer is of what is present, by the service's own policy",
            )


def add_policy(parser: argparse.ArgumentParser) -> None:
    """The policy, as in `kdf(k=3, gpu=2)`."""
    parser.add_argument(
        "--policy",
        default="tsf",
        metavar="POLICY",
        help="what to share by (default: tsf); `fairlead policies` lists them",
    )


_READ: list[tuple[Cluster, list[tuple[str, str]]]] = []
"""The inputs that this command read, with their texts."""

_WRITTEN = ("device", "devices", "job", "machine", "tenant")
"""What has a place in them; other subjects of mistakes are options, and what is in other files."""


def read(files: Sequence[str]) -> tuple[Cluster, tuple[Job, ...]]:
    from fairlead.model.reading import read as read_texts

    found = texts_of(files)
    cluster, jobs = read_texts(found)
    note_read(cluster, found)
    return cluster, jobs


def note_read(cluster: Cluster, texts: list[tuple[str, str]]) -> None:
    """What is found wrong with the cluster later on has its place in these texts."""
    _READ.append((cluster, texts))


def texts_of(files: Sequence[str]) -> list[tuple[str, str]]:
    """The texts of files, with their names. Raises InputError."""
    from fairlead.files import texts

    return texts(files, complain)


def forget_read() -> None:
    """A command begins, which has read nothing."""
    _READ.clear()


def with_places(error: InputError, of: Cluster | None = None) -> InputError:
    """Mistakes that were found when what was read was shared, with their places in it. Where a
    command read two inputs, it says `of` which one they are."""
    found = [texts for cluster, texts in _READ if of is None or cluster is of]
    if len(found) != 1 or not any(each.about and not each.place for each in error.mistakes):
        return error
    from fairlead.model.reading import places

    place = places(found[0])
    return InputError(
        replace(each, place=place(each.about))
        if each.about and not each.place and each.about[0] in _WRITTEN
        else each
        for each in error.mistakes
    )


def read_jobs(files: Sequence[str]) -> tuple[Cluster, tuple[Job, ...]]:
    """As `read`, for what says nothing without jobs. Raises InputError where there are none."""
    cluster, jobs = read(files)
    if not jobs:
        one = f"{files[0]} describes" if len(files) == 1 else "the files describe"
        raise InputError(f"{one} no jobs", "give the file of the jobs, too")
    return cluster, jobs


def say(lines: Iterable[str], *, exact: bool = False) -> None:
    """Prints a finished result at once, so that a failure leaves nothing on stdout. `exact`: for
    programs, which are given nothing that only eyes need."""
    with printing():
        out = sys.stdout
        out.write("".join(f"{line if exact else apart(line, out)}\n" for line in lines))
        sys.stdout.flush()


@contextmanager
def printing() -> Iterator[None]:
    """Raises OutputError where what is printed cannot be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        forget_stdout()
        raise OutputError(f"the result cannot be written: {error.strerror}") from error


def say_result(
    json: bool, tree: Callable[[], Mapping[str, object]], lines: Callable[[Screen], Iterable[str]]
) -> None:
    """Prints a result as JSON for programs, or in lines that fit the screen for people. Only what
    is printed is computed: a tree of a large input takes seconds."""
    if json:
        from fairlead.model.report import json_text

        say([json_text(tree())], exact=True)
    else:
        say(lines(screen_of(sys.stdout)))


def complain(sentence: str) -> None:
    """A remark that is no part of the answer."""
    sys.stdout.flush()
    print(apart(sentence, sys.stderr), file=sys.stderr)


def forget_stdout() -> None:
    """Keeps Python from complaining at its end about what could not be written to stdout."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())


def as_csv(rows: Iterable[Mapping[str, object]], names: Sequence[str]) -> list[str]:
    """The rows as CSV (RFC 4180 quoting, one line feed a row) under a header."""
    import csv
    import io

    text = io.StringIO()
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().splitlines()


def close_option(word: str, known: Mapping[str, Sequence[str]]) -> str:
    """`did you mean --x?` of a word that is no option: the option that takes the word as a value,
    one that the word begins, or one that is spelled nearly so. Dashes do not count, since they
    make any two options alike."""
    bare = word.lstrip("-")
    for option, values in known.items():
        if bare and bare in values:
            return f"did you mean '{option} {bare}'?"
    begun = [option for option in known if bare and option.lstrip("-").startswith(bare)]
    if len(begun) == 1:
        return f"did you mean {begun[0]!r}?"
    import difflib

    names = {option.lstrip("-"): option for option in known}
    found = difflib.get_close_matches(bare, list(names), n=1, cutoff=0.6)
    return f"did you mean {names[found[0]]!r}?" if found else ""


def close_match(word: str, known: Sequence[str]) -> str:
    """`did you mean X?` where one of the known words is close, else nothing."""
    import difflib

    found = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"did you mean {found[0]!r}?" if found else ""
