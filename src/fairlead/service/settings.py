"""The service's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from fairlead.engines.interface import MOST_OUTPUT
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.scheduling.options import MICROSECONDS, Options
from fairlead.scheduling.placement.registry import DEFAULT, ELSEWHERE

DAY = 86_400 * MICROSECONDS


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits on what is taken in. More is refused until something ends, or is forgotten."""

    jobs_per_tenant: int = 100_000  # that are not over
    tasks_per_tenant: int = 1_000_000  # of these
    tasks_per_job: int = 1_000_000
    terms_per_tenant: int = 10_000  # of the constraints of these jobs, each that differs
    bytes_per_tenant: int = 512 * 2**20  # of what is written of these jobs (`job_bytes`)
    output_per_tenant: int = 16 * 2**30  # bytes that are kept of what these jobs wrote
    jobs_per_request: int = 10_000
    jobs: int = 1_000_000  # that are known, those that are over too
    tasks: int = 10_000_000  # of these
    keys_per_tenant: int = 250_000  # that are known
    key_bytes_per_tenant: int = 256 * 2**20  # of these, and of the names of their jobs


@dataclass(frozen=True, slots=True)
class Retention:
    """The time for which jobs that are over are known: until one of these limits is reached. Of
    too many jobs, tasks or bytes those go first that are of the tenant with most of them."""

    time: int = 7 * DAY  # microseconds
    jobs: int = 100_000
    tasks: int = 2_000_000  # up to the last one of each job that was ever launched
    bytes: int = 2**30  # of what was written of these jobs
    output: int = 64 * 2**30  # bytes that are kept of what these jobs wrote
    keys: int = DAY  # at least so long a key is known, whatever becomes of its jobs


@dataclass(frozen=True, slots=True)
class Settings:
    """Times are in microseconds.

    `tenants`: those of the cluster file; told to the core where they are new or differ. A tenant
    that is gone from the file stays. `devices`: resources that come in pieces. `units`: what other
    resources are counted in, where that is not to be chosen."""

    policy: str = "tsf"
    placement: str = DEFAULT
    options: Options = field(default_factory=Options)
    tenants: tuple[Tenant, ...] = ()
    resources: tuple[str, ...] = ("cpu", "memory", "gpu")
    devices: tuple[str, ...] = ("gpu",)
    units: Mapping[str, Fraction] = field(default_factory=FrozenMap)
    limits: Limits = Limits()
    retention: Retention = Retention()
    node_interval: int = MICROSECONDS  # between two looks at the engine's machines
    read_every: int = 10 * MICROSECONDS  # a cluster that another scheduler runs
    lost_after: int = 60 * MICROSECONDS  # a machine in trouble for so long is given up
    quarantine: int = 10 * MICROSECONDS  # the first one; each next is twice as long
    quarantine_most: int = 600 * MICROSECONDS
    given_up_for: int = DAY  # so long what may still run on a machine that is away is remembered
    kept_output: int = MOST_OUTPUT  # bytes of what an attempt at a task writes
    requests_per_step: int = 1000
    snapshot_every: int = 15_000  # entries; 0: never
    journal_keep: int | None = None  # older entries are removed once snapshots cover them
    advise_every: int = MICROSECONDS  # between two questions to the adviser


def where_others_place(settings: Settings) -> Settings:
    """The settings for a cluster that another scheduler runs: nothing is placed, kept free or
    stopped here."""
    options = replace(settings.options, reserve_after=None, preempt_after=None)
    return replace(without_devices(settings), placement=ELSEWHERE, options=options)


def without_devices(settings: Settings) -> Settings:
    """The settings where another one hands out devices, and which a task has is not known."""
    return replace(settings, devices=())
