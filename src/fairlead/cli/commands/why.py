"""`fairlead why`: why a job waits, and what would start it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from fairlead.cli.common.remote import add_service, say_answer, service_of
from fairlead.cli.common.screen import Screen, fold
from fairlead.model.words import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.wire.fairness import WhyAnswer

EPILOG = """\
examples:
  fairlead why train
  fairlead why 4711_3 --priority    of a job of Slurm: also the parts of its priority, by sprio
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help="the job's name")
    parser.add_argument(
        "--priority",
        action="store_true",
        help="also what its priority is made of by Slurm's sprio, where Slurm places it",
    )
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    with service_of(args) as service:
        answer = service.why(args.job, priority=args.priority)
    say_answer(args, answer, lambda screen: lines(answer, screen))
    return 0


def lines(answer: WhyAnswer, screen: Screen) -> Iterator[str]:
    """The sentences, in the order in which a reader wants them."""
    width = min(100, screen.width or 100)
    for sentence in answer.sentences:
        first, *more = fold(escaped(sentence), width - 2)
        yield f"- {first}"
        yield from (f"  {line}" for line in more)
