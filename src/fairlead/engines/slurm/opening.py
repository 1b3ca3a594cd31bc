"""Opens the engine of a cluster of Slurm, by what it is to be there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.engines.slurm.observer import Observer, cluster_name, setting
from fairlead.engines.slurm.reading.commands import ask
from fairlead.engines.slurm.viewing import SECOND
from fairlead.model.errors import InputError

if TYPE_CHECKING:
    from fairlead.engines.interface import Engine

MULTIFACTOR = "priority/multifactor"

RESERVE = 10
"""A part of the jobs that slurmctld may have stays free for others."""


def open_slurm(mode: str, every: int, state: Path, partition: str | None) -> Engine:
    """The engine of the cluster whose commands are here. Raises EngineError and InputError."""
    if mode == "observe":
        return Observer(every, ask, cluster_name)
    if mode == "place":
        return _placer(every, state, partition or "")
    kind = setting("PriorityType")
    if kind != MULTIFACTOR:
        raise InputError(
            f"the cluster has PriorityType={kind}, which knows no site factor",
            f"--mode order needs PriorityType={MULTIFACTOR} in slurm.conf",
        )
    from fairlead.engines.slurm.budget import budget_for
    from fairlead.engines.slurm.orderer import Orderer

    budget = budget_for(setting("SlurmctldParameters"))
    return Orderer(every, ask, cluster_name, budget=budget, partition=partition)


def _placer(every: int, state: Path, partition: str) -> Engine:
    from fairlead.engines.slurm.placing.controller import Commands
    from fairlead.engines.slurm.placing.placer import Placer

    most = int(setting("MaxJobCount"))
    # Ends are to be known soon: who waits for a place waits for them.
    return Placer(state, partition, min(every, SECOND), Commands(), most - most // RESERVE)
