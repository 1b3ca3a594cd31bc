"""Opens the engine of a cluster of Slurm, by what it is to be there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.engines.slurm.observer import Observer, cluster_name
from fairlead.engines.slurm.reading.commands import COMMANDS, ask, setting
from fairlead.engines.slurm.viewing import SECOND
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.engines.interface import Engine
    from fairlead.engines.slurm.budget import Budget
    from fairlead.engines.slurm.placing.rounds import Allowance

MULTIFACTOR = "priority/multifactor"

RESERVE = 10
"""A part of the jobs that slurmctld may have stays free for others."""


def open_slurm(
    mode: str, every: int, state: Path, partition: str | None, identity: str | None = None
) -> Engine:
    """The engine of the cluster whose commands are here. `identity`: of the cluster that the
    journal is of. Where slurmctld is away, it is opened, and waits for it. Raises EngineError and
    InputError."""
    _check_commands()
    if mode == "observe":
        return Observer(every, ask, cluster_name, identity)
    if mode == "place":
        from fairlead.engines.slurm.placing.controller import Commands
        from fairlead.engines.slurm.placing.placer import Placer

        # Ends are to be known soon: who waits for a place waits for them.
        return Placer(state, partition or "", min(every, SECOND), Commands(), allowance)
    from fairlead.engines.slurm.orderer import Orderer

    return Orderer(
        every, ask, cluster_name, budget=_granted, partition=partition, identity=identity
    )


def allowance() -> Allowance:
    """The jobs and requests that placing may have there. Raises EngineError and InputError."""
    from fairlead.engines.slurm.budget import Unlimited, budget_for, is_limited
    from fairlead.engines.slurm.placing.rounds import Allowance

    most, parameters = int(setting("MaxJobCount")), setting("SlurmctldParameters")
    limited = is_limited(parameters) and os.geteuid() != 0
    return Allowance(most - most // RESERVE, budget_for(parameters) if limited else Unlimited())


def _check_commands() -> None:
    """Raises InputError where commands are not here: to wait for them would be in vain."""
    for program, *_ in COMMANDS.values():
        if program != "sacctmgr" and shutil.which(program) is None:
            raise InputError(
                f"there is no {program} on this machine",
                "start the service where Slurm's commands are on the path",
            )


def _granted() -> Budget:
    """Requests for an order. Raises EngineError, and InputError where the queue has none."""
    from fairlead.engines.slurm.budget import budget_for

    kind = setting("PriorityType")
    if kind != MULTIFACTOR:
        raise InputError(
            f"the cluster has PriorityType={kind}, which knows no site factor",
            f"--mode order needs PriorityType={MULTIFACTOR} in slurm.conf",
        )
    return budget_for(setting("SlurmctldParameters"))
