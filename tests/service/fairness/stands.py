"""Cores to look at: small ones by hand, and random ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import JobSubmitted, MachineJoined, TenantChanged
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.ids import Unit
from tests.scheduling.draw import MEASURES, draw

SECOND = 10**6


FIRST = 4_000
"""The first seed of `random_cores` for tests that need no others: what is drawn is drawn once in a
process, and these cores hold what each of the tests has to meet."""


def core_of(
    machines: dict[str, dict[str, int]],
    tenants: tuple[Tenant, ...] = (),
    *,
    policy: str = "tsf",
    placement: str = "best-fit",
    preempt_after: int | None = None,
    labels: dict[str, dict[str, str]] | None = None,
) -> Core:
    """A core with these machines and tenants, which counts whole cpus, GiB and GPUs."""
    units = [Unit("cpu"), Unit("memory"), Unit("gpu", piece=1)]
    core = Core(units, policy, placement, Options(preempt_after=preempt_after))
    for name, capacity in machines.items():
        core.apply(MachineJoined(0, Machine(name, capacity, (labels or {}).get(name, {}))))
    for tenant in tenants:
        core.apply(TenantChanged(0, tenant))
    core.decide()
    return core


def submit(core: Core, *jobs: Job, time: int = 0) -> None:
    """These jobs come, one after the other, and what fits is launched."""
    for job in jobs:
        core.apply(JobSubmitted(time, job))
        core.decide()


def random_cores(first: int, count: int, length: int = 25) -> Iterator[Core]:
    """Cores to which something random has happened."""
    for seed in range(first, first + count):
        case = draw(seed, length)
        units = [Unit(m.name, m.unit, m.piece) for m in MEASURES]
        core = Core(units, case.policy, case.placement, Options(reserve_after=case.reserve_after))
        for instant in case.instants:
            for event in instant:
                with suppress(InputError):
                    core.apply(event)
            core.decide()
        yield core
