"""The process of the service that runs on this machine: written down, found, and stopped."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.client.places import ORIGINAL
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    import psutil

PATIENCE = 60.0
"""Seconds within which a service that was told to stop has stopped."""

PAUSE = 0.05

PROCESS = "process"
"""The file in the state folder that says which process the service is."""

STANDBY = "standby-process"
"""The same of one that waits beside the service for its state folder."""

WARNING = "warning: "
"""So begin the lines of a service that is about to serve which whoever starts it must read; from a
service in the background they come through its log."""


def make_state_folder(folder: Path) -> None:
    """Makes the state folder, for its owner alone. Raises InputError where it cannot be one."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(0o700)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be the state folder: {error.strerror}",
            "name another one with --state",
        ) from error


def forget_unused(folders: Iterable[Path], journal: str | None) -> None:
    """Takes away state folders in which nothing was ever written down: a service was to begin
    there, and could not. `journal`: where that is kept, if it is elsewhere."""
    from fairlead.service.journal.entry import JournalError
    from fairlead.service.journal.places import FILE, open_store

    for folder in folders:
        try:
            if (folder / FILE).exists():
                store = open_store(folder)  # refused where another service has it
                entries = store.last()
                store.close()
                if entries:
                    continue
            elif journal is not None and any(each.name != ORIGINAL for each in folder.iterdir()):
                continue
            shutil.rmtree(folder)
        except (JournalError, OSError):
            continue  # it stays: another service has it, it is no folder, or was never made


def stop(process: int) -> None:
    """Tells a service to stop and returns when it has. Raises BusyError where it takes too long."""
    import signal
    import time

    import psutil

    from fairlead.client.errors import BusyError, NotAllowedError

    until = time.monotonic() + PATIENCE
    try:
        served = psutil.Process(process)
        os.kill(process, signal.SIGTERM)
    except (ProcessLookupError, psutil.NoSuchProcess):
        return  # it was about to
    except PermissionError as error:
        raise NotAllowedError(f"the service (process {process}) is another user's") from error
    # It removes its file a moment before it is gone, and its address and lock with it.
    while _there(served):
        if time.monotonic() > until:
            raise BusyError(f"the service (process {process}) has not stopped in {PATIENCE:g} s")
        time.sleep(PAUSE)


def _there(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def running(folder: Path, file: str = PROCESS) -> int | None:
    """The process of the service with this state folder; None if none runs."""
    import psutil

    try:
        process, started = (folder / file).read_text(encoding="ascii").split()
        found = psutil.Process(int(process))
        if found.status() == psutil.STATUS_ZOMBIE or f"{found.create_time():.2f}" != started:
            return None
    except (FileNotFoundError, NotADirectoryError, ValueError, psutil.NoSuchProcess):
        return None
    return int(process)


def forget_process(folder: Path, *files: str) -> None:
    """Takes away that this process is the service, where the files say so. Who leads does it before
    another one can: that one may write its own between the look and the removal."""
    for file in files:
        if running(folder, file) == os.getpid():
            (folder / file).unlink(missing_ok=True)


def note_process(folder: Path, file: str = PROCESS) -> None:
    """Writes down that this process is the service: its number and when it started, so that
    another process that gets the number later is not taken for it."""
    import psutil

    from fairlead.whole_file import write_whole

    own = psutil.Process()
    write_whole(folder / file, f"{own.pid} {own.create_time():.2f}\n")
