"""`fairlead stop`: stop the service that runs on this machine."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from fairlead.cli.common.inputs import say

EPILOG = """\
examples:
  fairlead stop
  fairlead stop --state /srv/fairlead

Nothing is drained and nothing is lost: tasks go on running, and the service finds them again when
it is started with the same state.
"""

PATIENCE = 60.0
"""Seconds within which a service that was told to stop has stopped."""

PAUSE = 0.05

PROCESS = "process"
"""The file in the state folder that says which process the service is."""


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument(
        "--state",
        metavar="DIR",
        help="the service's state folder (default: FAIRLEAD_STATE, or this user's own)",
    )


def run(args: argparse.Namespace) -> int:
    """Tells the service to stop, and waits until it has."""
    from fairlead.client.places import state_folder
    from fairlead.model.errors import InputError, Mistake

    folder = Path(args.state) if args.state else state_folder(os.environ)
    process = running(folder)
    if process is None:
        raise InputError(
            Mistake(f"no service runs here with its state in {folder}", "name it with --state")
        )
    stop(process, folder)
    say([f"the service with its state in {folder} has stopped; its tasks go on"])
    return 0


def stop(process: int, folder: Path) -> None:
    """Tells a service to stop and returns when it has. Raises BusyError where it takes too long."""
    import signal
    import time

    from fairlead.client.errors import BusyError, NotAllowedError

    until = time.monotonic() + PATIENCE
    try:
        os.kill(process, signal.SIGTERM)
    except ProcessLookupError:
        return  # it was about to
    except PermissionError as error:
        raise NotAllowedError(f"the service (process {process}) is another user's") from error
    while running(folder) == process:
        if time.monotonic() > until:
            raise BusyError(f"the service (process {process}) has not stopped in {PATIENCE:g} s")
        time.sleep(PAUSE)


def running(folder: Path) -> int | None:
    """The process of the service with this state folder; None if none runs."""
    import psutil

    try:
        process, started = (folder / PROCESS).read_text(encoding="ascii").split()
        found = psutil.Process(int(process))
        if found.status() == psutil.STATUS_ZOMBIE or f"{found.create_time():.2f}" != started:
            return None
    except (FileNotFoundError, NotADirectoryError, ValueError, psutil.NoSuchProcess):
        return None
    return int(process)


def forget_process(folder: Path) -> None:
    """This process is no service any more."""
    (folder / PROCESS).unlink(missing_ok=True)


def note_process(folder: Path) -> None:
    """Writes down that this process is the service: its number and when it started, so that
    another process that gets the number later is not taken for it."""
    import psutil

    from fairlead.whole_file import write_whole

    own = psutil.Process()
    write_whole(folder / PROCESS, f"{own.pid} {own.create_time():.2f}\n")
