"""`fairlead why`: why a job waits, and what would start it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import say
from fairlead.cli.common.remote import add_service, service_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairlead.cli.common.screen import Screen
    from fairlead.wire.fairness import WhyAnswer

EPILOG = """\
examples:
  fairlead why train
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("job", metavar="JOB", help="the job's name")
    add_service(parser)


def run(args: argparse.Namespace) -> int:
    """Asks for the reasons and prints them."""
    from fairlead.cli.common.remote import say_json
    from fairlead.cli.common.screen import screen_of

    with service_of(args) as service:
        answer = service.why(args.job)
    if args.json:
        say_json(answer)
    else:
        say(lines(answer, screen_of(sys.stdout)))
    return 0


def lines(answer: WhyAnswer, screen: Screen) -> Iterator[str]:
    """The sentences, in the order in which a reader wants them."""
    from fairlead.cli.common.screen import escaped, folded

    width = min(100, screen.width or 100)
    for sentence in answer.sentences:
        first, *more = folded(escaped(sentence), width - 2)
        yield f"- {first}"
        yield from (f"  {line}" for line in more)
