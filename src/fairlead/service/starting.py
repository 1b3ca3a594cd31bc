"""What the core of the service is made of: chosen at the first start, kept in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from fairlead.engines.interface import Node
from fairlead.model.errors import InputError, Mistake
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.events import TenantChanged
from fairlead.scheduling.ids import Unit
from fairlead.scheduling.options import Options
from fairlead.scheduling.placement.registry import find
from fairlead.service.draft import Draft
from fairlead.service.fair.watch import FairSettings
from fairlead.service.records.people import Start
from fairlead.service.settings import Settings
from fairlead.version import __version__

SCHEMA = 1
"""Of the entries' kinds and bodies."""

THOUSANDTH = Fraction(1, 1000)

LARGE = 1 << 20
"""Whole amounts of so much are counted one by one, as bytes are."""


def units_of(nodes: Sequence[Node], settings: Settings) -> tuple[Unit, ...]:
    """How each resource is counted: memory and what is as large one by one, devices in thousandths
    of a piece, all else in thousandths."""
    names = dict.fromkeys(settings.resources)
    large = {"memory": True}
    for node in nodes:
        for name, amount in node.machine.capacity.items():
            names[name] = None
            whole = amount == 0 or (amount.denominator == 1 and amount >= LARGE)
            large[name] = large.get(name, True) and whole
    for name in settings.resources:
        large.setdefault(name, False)
    units = []
    for name in names:
        if name in settings.devices:
            units.append(Unit(name, THOUSANDTH, 1000))
        else:
            units.append(Unit(name, Fraction(1) if large[name] else THOUSANDTH))
    return tuple(units)


def start_body(units: Sequence[Unit], settings: Settings) -> dict[str, Any]:
    """The body of the entry `service_started`."""
    options = settings.options
    return {
        "version": __version__,
        "schema": SCHEMA,
        "policy": str(settings.policy),
        "placement": settings.placement,
        "options": {
            "reserve_after": options.reserve_after,
            "preempt_after": options.preempt_after,
            "whole": options.whole,
        },
        "units": [
            {"name": unit.name, "unit": str(unit.unit), "piece": unit.piece} for unit in units
        ],
    }


def core_of(body: dict[str, Any]) -> Core:
    """The core that such a body means, before it was told anything."""
    units = [Unit(each["name"], Fraction(each["unit"]), each["piece"]) for each in body["units"]]
    return Core(units, body["policy"], body["placement"], Options(**body["options"]))


def core_like(start: Start) -> Core:
    """A new core, made as the service's was when it was started."""
    body = {name: getattr(start, name) for name in ("units", "policy", "placement", "options")}
    return core_of(body)


def check_start(start: Start, settings: Settings) -> None:
    """Refuses to go on with a journal under another policy, placement rule or option than it was
    written under."""
    wanted = start_body((), settings)
    for what, was in (
        ("policy", start.policy),
        ("placement", start.placement),
        ("options", start.options),
    ):
        if wanted[what] != was:
            raise InputError(
                Mistake(
                    f"the journal was written with {what} {was}, and {wanted[what]} is wanted now",
                    f"start with {what} {was}, or with a new state folder",
                )
            )


def first_core(nodes: Sequence[Node], settings: Settings) -> Core:
    """The core of a new journal. Raises InputError where the settings cannot be."""
    return core_of(start_body(units_of(nodes, settings), settings))


def begin(draft: Draft, settings: Settings) -> None:
    """The first entries of a service that starts."""
    draft.note("service_started", **start_body(draft.core.ids.units, settings))
    _tell_tenants(draft, settings.tenants)


def fair_settings(settings: Settings) -> FairSettings:
    """What the core wants to be told of exact allocations."""
    return FairSettings(
        every=settings.advise_every,
        guarantees=settings.options.preempt_after is not None,
        advice=find(settings.placement).guided,
    )


def _tell_tenants(draft: Draft, tenants: Sequence[Tenant]) -> None:
    """Tells the core of tenants that are new or differ, parents first."""
    waiting = list(tenants)
    told: set[str] = set()
    names = {tenant.name for tenant in tenants}
    while waiting:
        ready = [each for each in waiting if each.parent not in names or each.parent in told]
        if not ready:
            raise InputError(Mistake("tenants are below one another in a circle", "break it"))
        for tenant in ready:
            told.add(tenant.name)
            if draft.records.tenants.get(tenant.name) != tenant:
                draft.tell(TenantChanged(draft.time, tenant))
        waiting = [each for each in waiting if each.name not in told]
