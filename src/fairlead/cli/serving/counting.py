"""Whether machines that a file describes can be counted by what decides: one that cannot would
never join."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fairlead.engines.interface import Node
from fairlead.model.errors import InputError, Mistake
from fairlead.model.machine import Cluster, Machine
from fairlead.model.reading import in_order, places
from fairlead.model.words import number
from fairlead.scheduling.state.ids import LARGEST, Unit, most_pieces
from fairlead.service.recovery.configuration import units_of
from fairlead.service.settings import Settings


def check_counted(cluster: Cluster, settings: Settings, texts: Sequence[tuple[str, str]]) -> None:
    """Raises InputError with the places of all amounts that are too large, each told once."""
    units = units_of([Node(machine) for machine in cluster.machines], settings)
    found = [each for machine in cluster.machines for each in _too_much(machine, units)]
    if found:
        place = places(texts)
        placed = [replace(each, place=place(each.about)) for each in found]
        once = {(each.place, each.what): each for each in reversed(placed)}  # of a range, the first
        raise InputError(in_order(once.values(), texts))


def _too_much(machine: Machine, units: Sequence[Unit]) -> Iterator[Mistake]:
    devices = most_pieces(units)
    for unit in units:
        amount = machine.capacity.get(unit.name, 0)
        most = devices if unit.piece else number(float((LARGEST - 1) * unit.unit), 2)
        if unit.piece and amount >= devices + 1:
            right = f"write at most {most}, or two machines"
        elif not unit.piece and amount // unit.unit >= LARGEST:
            right = f"write less than {most}"
        else:
            continue
        about = ("machine", machine.name, "capacity", unit.name)
        yield Mistake("this is more than can be counted of one machine", right, about=about)
