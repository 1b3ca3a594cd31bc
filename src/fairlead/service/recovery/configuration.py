"""The parts of the service's core: chosen at the first start, kept in the journal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NoReturn

from fairlead.engines.interface import Node
from fairlead.model.errors import InputError
from fairlead.scheduling.core import Core
from fairlead.scheduling.options import Options
from fairlead.scheduling.placement.registry import find
from fairlead.scheduling.reconfigure import reconfigure
from fairlead.scheduling.state.ids import Unit
from fairlead.service.fairness.monitor import FairSettings
from fairlead.service.journal.entry import Body
from fairlead.service.records.book import Records
from fairlead.service.records.people import Start
from fairlead.service.settings import Settings
from fairlead.version import __version__

SCHEMA = 6
"""Of the entries' kinds and bodies. 2: there is `core_changed`. 3: `engine_changed` and
`engine_gone`. 4: `task_placed`. 5: `options` say whether tenants are filled. 6: and
for how long machines are reserved."""

SERVICE_STARTED = "service_started"
"""The kind of the entry that says what the core is made of."""

ENGINE_CHANGED = "engine_changed"
"""The kind of the entry that says to which engine launches go from now on."""

ENGINE_GONE = "engine_gone"
"""The kind of the entry that says that the engine which launches went to is gone."""

CORE_CHANGED = "core_changed"
"""The kind of the entry after which the core decides by something else than before."""

CHOSEN = ("policy", "placement", "options")
"""The fields of such an entry; all of them, also those that stay."""

THOUSANDTH = Fraction(1, 1000)

LARGE = 1 << 20
"""Whole amounts of so much are counted one by one, as bytes are."""


def units_of(nodes: Sequence[Node], settings: Settings) -> tuple[Unit, ...]:
    """Chooses each resource's unit: the one that the settings say, else memory and what is as large
    one by one, devices in thousandths of a piece, all else in thousandths. Raises InputError where
    they say one of a device, or of what is not counted."""
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
            chosen = Fraction(1) if large[name] else THOUSANDTH
            units.append(Unit(name, settings.units.get(name, chosen)))
    for name in settings.units:
        if name in settings.devices or name not in names:
            counted = f"it is not counted; what is: {', '.join(names)}"
            raise InputError(
                "this is a device" if name in settings.devices else counted,
                "leave its unit out",
                about=("setting", "units", name),
            )
    return tuple(units)


def start_body(units: Sequence[Unit], settings: Settings) -> dict[str, Any]:
    """The body of the entry `service_started`."""
    return {
        "version": __version__,
        "schema": SCHEMA,
        "policy": str(settings.policy),
        "placement": settings.placement,
        "options": settings.options.plain(),
        "units": [
            {"name": unit.name, "unit": str(unit.unit), "piece": unit.piece} for unit in units
        ],
    }


def core_of(body: dict[str, Any]) -> Core:
    """The core that such a body means, before it was told anything."""
    units = [Unit(each["name"], Fraction(each["unit"]), each["piece"]) for each in body["units"]]
    return Core(units, body["policy"], body["placement"], Options.of(body["options"]))


def core_like(start: Start) -> Core:
    """A new core, made as the service's was when it was started."""
    body = {name: getattr(start, name) for name in ("units", "policy", "placement", "options")}
    return core_of(body)


def change_of(start: Start, settings: Settings) -> Body | None:
    """Compares the settings with the core: the body of an entry `core_changed`; None
    where nothing. Raises InputError where that cannot change any more."""
    names = [unit["name"] for unit in start.units]
    pieces = [unit["name"] for unit in start.units if unit["piece"]]
    for name in settings.resources:
        if name not in names:
            _refuse_change("resources", f"it counts {', '.join(names)}, and not {name}")
    for name in names:
        if (name in settings.devices) is not (name in pieces):
            kept = "devices" if name in pieces else "no devices"
            _refuse_change("devices", f"its resource {name} comes in {kept}, and that stays so")
    for unit in start.units:
        said = settings.units.get(unit["name"])
        if said is not None and str(said) != unit["unit"]:
            _refuse_change(
                "units", f"it counts {unit['name']} in units of {unit['unit']}, and not of {said}"
            )
    wanted = start_body((), settings)
    body = {name: wanted[name] for name in CHOSEN}
    return None if body == {name: getattr(start, name) for name in CHOSEN} else body


def _refuse_change(setting: str, what: str) -> NoReturn:
    raise InputError(
        f"what the journal counts was chosen when it was begun: {what}",
        "leave it as it was, or begin with a new state folder",
        about=("setting", setting),
    )


def check_settings(core: Core, records: Records, settings: Settings) -> None:
    """Raises InputError where the core cannot go on under these settings; changes nothing."""
    change = None if records.start is None else change_of(records.start, settings)
    if change is not None:
        reconfigure_core(core, records.time, change)


def reconfigure_core(core: Core, time: int, body: Body) -> Core:
    """A core of its own that goes on from this one under what such a body says. Raises InputError
    where it cannot be."""
    options = Options.of(body["options"])
    return reconfigure(core, time, body["policy"], body["placement"], options)


def first_core(nodes: Sequence[Node], settings: Settings) -> Core:
    """The core of a new journal. Raises InputError where the settings cannot be."""
    return core_of(start_body(units_of(nodes, settings), settings))


def fair_settings(settings: Settings) -> FairSettings:
    """The settings of the monitor, by what the core follows."""
    return FairSettings(
        every=settings.advise_every,
        guarantees=settings.options.preempt_after is not None,
        advice=find(settings.placement).guided,
    )
