"""The checks by name, in the order in which they are told."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.cli.doctor.finding import Check, Finding, Subject, fails
from fairlead.cli.doctor.machine import clock, control_groups, disk, memory, open_files, processes
from fairlead.cli.doctor.service import service, sign_in
from fairlead.cli.doctor.state import (
    compiler_cache,
    engine,
    journal,
    state_folder,
    takeover,
    tokens,
    users,
)
from fairlead.model.errors import FairleadError

CHECKS: dict[str, Check] = {
    "service": service,
    "sign in": sign_in,
    "state folder": state_folder,
    "journal": journal,
    "tokens": tokens,
    "engine": engine,
    "takeover": takeover,
    "users": users,
    "control groups": control_groups,
    "memory": memory,
    "processes": processes,
    "open files": open_files,
    "disk": disk,
    "clock": clock,
    "compiler cache": compiler_cache,
}
"""Each has a row in docs/reference/cli.md; a test says so."""


def examine(subject: Subject) -> Iterator[tuple[str, Finding]]:
    """The findings of the checks. One that cannot look says so, and the others go on."""
    for name, check in CHECKS.items():
        try:
            yield name, check(subject)
        except (FairleadError, OSError) as error:
            yield name, fails(f"this cannot be looked at: {error}", "mend that first")
