"""Checks of the machine: its control groups, its limits, its disk, its clock."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import sys
import time
from pathlib import Path

import psutil

from fairlead.cli.doctor.finding import Finding, Subject, fails, warn, well
from fairlead.engines.local.groups import (
    ADVICE,
    CONTROLLERS,
    PROCESSES,
    NoGroups,
    confinement,
    find,
    of_service,
)
from fairlead.engines.local.hardware import limit
from fairlead.model.errors import InputError
from fairlead.model.words import amounts
from fairlead.service.journal.entry import JournalError

GB = 2**30

LITTLE_DISK, NO_DISK = 5 * GB, GB // 4
"""Bytes: outputs of tasks are not limited, and a journal that cannot be written takes no work."""

LITTLE_MEMORY, NO_MEMORY = 2 * GB, GB // 2
"""Bytes that are free for the service: with the adviser it takes 0.4 GB, and a snapshot is made
beside what is there."""

FEW_FILES, TOO_FEW_FILES = 4096, 512
"""Open files: each connection is one, and each task that runs takes a pair."""

UNSYNCHRONISED = 0x40
"""The kernel's bit STA_UNSYNC."""


def control_groups(subject: Subject) -> Finding:
    """Whether each task has a group that holds it."""
    if subject.plan.engine != "local":
        return well("of the nodes' own: the engine is not the local one")
    name = _engine(subject)
    if subject.process is not None and name:
        had = of_service(subject.process, name)
    else:
        had = find(f"doctor-{os.getpid()}")
        if not isinstance(had, NoGroups):
            had.close()
    text = "; ".join(confinement(had, memory=True))
    if isinstance(had, NoGroups):
        return warn(text, "see docs/howto/run-under-systemd.md")
    lacks = [each for each in CONTROLLERS if each not in had.controllers]
    return warn(text, ADVICE) if lacks else well(text)


def _engine(subject: Subject) -> str:
    """The local engine's name; empty where there was none yet."""
    file = subject.folder / "local" / "engine"
    try:
        return file.read_text(encoding="ascii").partition(" ")[0]
    except (OSError, UnicodeError):
        return ""


def memory(_: Subject) -> Finding:
    """Whether the service itself has memory."""
    free = psutil.virtual_memory().available
    allowed = limit("memory.max")
    if allowed is not None:
        free = min(free, int(allowed))
    text = f"{amounts([free], 3)[0]} of memory are free"
    if free < NO_MEMORY:
        return fails(text, "a service takes about half a gigabyte: free some, or raise its limit")
    if free < LITTLE_MEMORY:
        return warn(text, "with ten thousand jobs that wait it may need two gigabytes")
    return well(text)


def processes(subject: Subject) -> Finding:
    """Whether tasks find numbers for their processes, and the service for its own."""
    most = {
        "the kernel's pid_max": _number(Path("/proc/sys/kernel/pid_max")),
        "pids.max of this control group": limit("pids.max"),
        "ulimit -u": _ulimit(subject, "RLIMIT_NPROC"),
    }
    known = {name: value for name, value in most.items() if value is not None}
    name, least = min(known.items(), key=lambda each: each[1], default=("nothing", sys.maxsize))
    text = f"up to {least:,} processes, by {name}" if known else "processes have no limit"
    if least < PROCESSES // 16:
        return fails(text, f"raise {name}: the service, its spawner and each task have some")
    if least <= PROCESSES:
        return warn(text, f"raise {name}: one task may have {PROCESSES:,} of them")
    return well(text)


def open_files(subject: Subject) -> Finding:
    """Whether connections and tasks find files to be opened."""
    most = _ulimit(subject, "RLIMIT_NOFILE")
    if most is None:
        return well("open files have no limit")
    text = f"up to {most:,} open files"
    if most < TOO_FEW_FILES:
        return fails(text, "LimitNOFILE=65536 in the unit, or `ulimit -n 65536` before it starts")
    if most < FEW_FILES:
        return warn(
            text, "for some hundred clients: LimitNOFILE=65536 in the unit, or `ulimit -n 65536`"
        )
    return well(text)


def disk(subject: Subject) -> Finding:
    """Whether the journal and outputs find room."""
    place = subject.nearest(subject.folder)
    usage, settings = shutil.disk_usage(place), subject.plan.configured.settings
    free = usage.free
    text = f"{amounts([free], 3)[0]} are free at {place}"
    if free < NO_DISK:
        return fails(text, "make room: a journal that cannot be written takes no work")
    if free < LITTLE_DISK:
        return warn(text, "make room, and forget jobs sooner (`retention`, `journal_keep`)")
    names = os.statvfs(place)
    if names.f_files and names.f_favail < names.f_files // 100:
        return warn(
            f"of {names.f_files:,} files that the disk can have, {names.f_favail:,} are left",
            "remove files: each task has two of its own",
        )
    of_one, of_over = settings.limits.output_per_tenant, settings.retention.output
    outputs, whole = amounts([of_one + of_over, usage.total], 3)
    if subject.plan.engine == "local" and of_one + of_over > usage.total:
        return warn(
            f"outputs of one tenant, and of finished jobs, may take {outputs}, and the disk of"
            f" {place} has {whole}",
            "lower `output_per_tenant` (`limits`) and `output` (`retention`)",
        )
    return well(text)


def clock(subject: Subject) -> Finding:
    """Whether the clock is believed, and whether somebody sets it right."""
    from fairlead.cli.doctor.state import reader_of
    from fairlead.service.process.clock import check_clock
    from fairlead.service.recovery.recover import last_time

    try:
        reader = reader_of(subject)
        check_clock(time.time_ns() // 1000, last_time(reader) if reader else 0)
    except JournalError:
        pass  # which is the check of the journal's to say
    except InputError as error:
        mistake = error.mistakes[0]
        return fails(mistake.what, mistake.right)
    status = kernel_clock()
    if status is None:
        return warn("whether anybody sets the clock cannot be told here", "see that NTP does")
    if status & UNSYNCHRONISED:
        return warn(
            "nobody sets the clock, says the kernel", "have NTP do it: `timedatectl set-ntp true`"
        )
    return well("NTP sets the clock")


class _Timex(ctypes.Structure):
    """The kernel's `struct timex`, as far as its status."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_long * 64),
    )


def kernel_clock() -> int | None:
    """The status of the kernel's clock (adjtimex(2)); None where it does not tell."""
    if not sys.platform.startswith("linux"):
        return None
    asked = _Timex()
    if ctypes.CDLL(None).adjtimex(ctypes.byref(asked)) < 0:
        return None
    return int(asked.status)


def _ulimit(subject: Subject, name: str) -> int | None:
    """The limit of the service, or of what is started here; None: there is none."""
    number = getattr(resource, name)
    try:
        soft, _ = resource.prlimit(subject.process or 0, number)
    except PermissionError:
        soft, _ = resource.getrlimit(number)
    return None if soft == resource.RLIM_INFINITY else soft


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
