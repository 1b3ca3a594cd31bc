"""`fairlead stop`: stop the service that runs on this machine."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from fairlead.cli.common.inputs import say
from fairlead.model.errors import InputError

EPILOG = """\
examples:
  fairlead stop
  fairlead stop --state /srv/fairlead

Nothing is drained and nothing is lost: tasks go on running, and the service finds them again when
it is started with the same state.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--state",
        metavar="DIR",
        help="the service's state folder (default: FAIRLEAD_STATE, or this user's own)",
    )


def run(args: argparse.Namespace) -> int:
    """Tells the service to stop, and waits until it has."""
    from fairlead.cli.serving.process import STANDBY, running, stop
    from fairlead.client.places import state_folder

    folder = Path(args.state) if args.state else state_folder(os.environ)
    process = running(folder)
    if process is None:
        raise InputError(f"no service runs here with its state in {folder}", "name it with --state")
    stop(process)
    say([f"the service with its state in {folder} has stopped; its tasks go on"])
    waiting = running(folder, STANDBY)
    if waiting is not None:
        say([f"the one that waited beside it (process {waiting}) leads from now on"])
    return 0
