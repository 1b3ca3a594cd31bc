"""Opens the engine of a cluster of Slurm, by what it is to be there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.engines.interface import EngineError
from fairlead.engines.slurm.observer import Observer, cluster_name
from fairlead.engines.slurm.reading.commands import ACCOUNTS, COMMANDS, ask, setting, settings
from fairlead.engines.slurm.reading.parse import parse
from fairlead.engines.slurm.viewing import SECOND
from fairlead.model.errors import InputError
from fairlead.model.words import tally

if TYPE_CHECKING:
    from fairlead.engines.interface import Engine
    from fairlead.engines.slurm.budget import Budget
    from fairlead.engines.slurm.placing.placer import Placer
    from fairlead.engines.slurm.placing.rounds import Allowance

MULTIFACTOR = "priority/multifactor"

TOP = "enable_user_top"
KEPT_TURNS = (
    "by `scontrol top` a job keeps the turns of its owner's other jobs, also once these are gone"
)

RESERVE = 10
"""A part of the jobs that slurmctld may have stays free for others."""


def open_slurm(
    mode: str, every: int, state: Path, partition: str | None, identity: str | None = None
) -> tuple[Engine, list[str]]:
    """The engine of the cluster whose commands are here, and what to warn of. `identity`: of the
    cluster that the journal is of. Where slurmctld is away, it is opened, and waits for it. Raises
    EngineError and InputError."""
    check_commands()
    if mode == "observe":
        return Observer(every, ask, cluster_name, identity), []
    if mode == "place":
        from fairlead.engines.slurm.placing.controller import Commands
        from fairlead.engines.slurm.placing.placer import Placer

        # Ends are to be known soon: who waits for a place waits for them.
        placer = Placer(state, partition or "", min(every, SECOND), Commands(), allowance)
        return placer, _warnings_of(placer, mode, partition)
    from fairlead.engines.slurm.orderer import Orderer

    orderer = Orderer(
        every, ask, cluster_name, budget=_build_budget, partition=partition, identity=identity
    )
    return orderer, _warnings_of(orderer, mode, partition)


def look_at_slurm(mode: str | None, partition: str | None) -> tuple[str, list[str]]:
    """The cluster whose commands are here, in a sentence, without opening it, and what to warn of
    where it is served so. Raises EngineError and InputError."""
    check_commands()
    picture = parse(ask({ACCOUNTS: ""}))
    said = f"slurm {picture.version}: cluster {cluster_name()}, {tally(len(picture.nodes), 'node')}"
    if mode == "order":
        _build_budget()
    if partition is not None:
        from fairlead.engines.slurm.placing.nodes import check_partition

        check_partition(picture, partition)
    return said, _warnings(mode, partition)


def allowance() -> Allowance:
    """The jobs and requests that placing may have there. Raises EngineError and InputError."""
    from fairlead.engines.slurm.budget import Unlimited, budget_for
    from fairlead.engines.slurm.placing.rounds import Allowance

    jobs, parameters = settings("MaxJobCount", "SlurmctldParameters")
    requests = budget_for(parameters) if _limits_us(parameters) else Unlimited()
    return Allowance(int(jobs) - int(jobs) // RESERVE, requests)


def check_commands() -> None:
    """Raises InputError where commands are not here: to wait for them would be in vain."""
    for program, *_ in COMMANDS.values():
        if program != "sacctmgr" and shutil.which(program) is None:
            raise InputError(
                f"there is no {program} on this machine",
                "start the service where Slurm's commands are on the path",
            )


def _warnings(mode: str | None, partition: str | None) -> list[str]:
    """By which settings users get past the order of turns. Raises EngineError and InputError."""
    from fairlead.engines.slurm.placing.others import NOTHING_HOLDS

    if mode == "place" and setting("JobSubmitPlugins") == "(null)":
        return [f"nothing holds jobs that come into partition {partition}: {NOTHING_HOLDS}"]
    if mode == "order" and TOP in setting("SchedulerParameters").split(","):
        return [f"slurm.conf has {TOP}: {KEPT_TURNS}"]
    return []


def _warnings_of(engine: Observer | Placer, mode: str, partition: str | None) -> list[str]:
    """The same, where Slurm answers: else it would be waited for once more."""
    try:
        engine.nodes()
        return _warnings(mode, partition)
    except EngineError:
        return []


def _build_budget() -> Budget:
    """Requests for an order. Raises EngineError, and InputError where the queue has none."""
    from fairlead.engines.slurm.budget import Budget, budget_for

    kind, parameters = settings("PriorityType", "SlurmctldParameters")
    if kind != MULTIFACTOR:
        raise InputError(
            f"the cluster has PriorityType={kind}, which knows no site factor",
            f"--mode order needs PriorityType={MULTIFACTOR} in slurm.conf",
        )
    return budget_for(parameters) if _limits_us(parameters) else Budget()


def _limits_us(parameters: str) -> bool:
    from fairlead.engines.slurm.budget import is_limited

    return is_limited(parameters) and os.geteuid() != 0
