"""`fairlead policies`: what to share by, and how it is written."""

from __future__ import annotations

import argparse
import sys

from fairlead.cli.common.inputs import say
from fairlead.cli.common.screen import screen_of, table

EPILOG = """\
A policy says what one unit of share is, and shares are made equal as far as they can be. A
mechanism divides the cluster in another way. Parameters are written in brackets, as in
`--policy "kdf(k=3, gpu=2)"`; one without a default must be given.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""


def run(args: argparse.Namespace) -> int:  # noqa: ARG001  (every command takes its arguments)
    from fairlead.sharing.rules.registry import describe, mechanism_names, policy_names
    from fairlead.sharing.whole_tasks.registry import describe_whole, whole_names

    screen = screen_of(sys.stdout)
    for index, (title, what, names, says) in enumerate(
        (
            ("policy", "the tasks that make one unit of share", policy_names(), describe),
            ("mechanism", "what it is", mechanism_names(), describe),
            ("for whole tasks", "what it is", whole_names(), describe_whole),
        )
    ):
        rows = [list(says(name)) for name in names]
        say([""] * bool(index) + table([title, what], rows, "<<", screen))
    return 0
