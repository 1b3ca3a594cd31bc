"""A picture of the tasks that run, as plain values: a plan of stops and starts is made from it."""

from __future__ import annotations

from dataclasses import dataclass

from fairlead.scheduling.kernels.memory.state import State

Pieces = tuple[tuple[int, int], ...]
"""Devices that a task holds: pairs of resource and index of the piece."""

BOUNDLESS = 1 << 62


def pieces_of(state: State, bits: int) -> Pieces:
    """The devices whose bits are set."""
    if not bits:
        return ()
    return tuple(
        (r, piece)
        for r, (unit, first) in enumerate(
            zip(state.unit.tolist(), state.column.tolist(), strict=True)
        )
        if unit
        for piece in range(state.most_pieces)
        if bits >> (first + piece) & 1
    )


def free_pieces(state: State, m: int) -> tuple[tuple[int, ...], ...]:
    """The free units of each device of a machine, by resource."""
    return tuple(
        tuple(state.piece[m, first : first + (capacity // unit if unit else 0)].tolist())
        for unit, first, capacity in zip(
            state.unit.tolist(), state.column.tolist(), state.capacity[m].tolist(), strict=True
        )
    )


@dataclass(frozen=True, slots=True)
class HeldMachine:
    """A machine that is up. `pieces[r]` are the free units of each of its devices of a resource;
    `terms` has the bits of those that it satisfies. `open`: it is reserved for nobody."""

    seq: int
    free: tuple[int, ...]
    terms: int = 0
    pieces: tuple[tuple[int, ...], ...] = ()
    open: bool = True


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job with tasks that wait or run. `running` leaves out those that were told to stop;
    `stopping` counts them, if they are to wait again.

    `room`: how many more tasks the limits of its tenants allow; `each`: what one task adds to its
    level; `once`: its tasks must not start again, so that to stop one would end it for good.
    """

    seq: int
    demand: tuple[int, ...]
    running: int
    waiting: int
    stopping: int = 0
    needs: int = 0
    spread: bool = False
    gang: int = 1
    room: int = BOUNDLESS
    each: float = 1.0
    once: bool = False


@dataclass(frozen=True, slots=True)
class HeldTask:
    """A task on a machine, since `launched`. `stopping`: it was told to stop."""

    job: int
    number: int
    machine: int
    launched: int
    pieces: Pieces = ()
    stopping: bool = False


@dataclass(frozen=True, slots=True)
class Held:
    """Everything at one moment. `piece[r]` is the size of a device of a resource, 0 where it is
    none (or empty: there are no devices)."""

    machines: tuple[HeldMachine, ...]
    jobs: tuple[HeldJob, ...]
    tasks: tuple[HeldTask, ...]
    piece: tuple[int, ...] = ()


class Room:
    """The free resources of a machine, as tasks come and go."""

    def __init__(self, held: Held, machine: HeldMachine) -> None:
        self._unit = held.piece or (0,) * len(machine.free)
        self.free = list(machine.free)
        self.pieces = [list(units) for units in machine.pieces] or [[] for _ in machine.free]

    def copy(self) -> Room:
        """Another one that changes by itself."""
        twin = object.__new__(Room)
        twin._unit = self._unit
        twin.free = list(self.free)
        twin.pieces = [list(units) for units in self.pieces]
        return twin

    def fits(self, demand: tuple[int, ...]) -> bool:
        """Does a task fit? What it does not demand does not matter."""
        for r, amount in enumerate(demand):
            if amount == 0:
                continue
            unit = self._unit[r]
            if unit == 0:
                if self.free[r] < amount:
                    return False
            elif amount <= unit:
                if max(self.pieces[r], default=0) < amount:
                    return False
            elif sum(free == unit for free in self.pieces[r]) < amount // unit:
                return False
        return True

    def leave(self, demand: tuple[int, ...], pieces: Pieces) -> None:
        """A task with these pieces ends."""
        self._move(demand, pieces, 1)

    def enter(self, demand: tuple[int, ...]) -> Pieces:
        """A task that fits starts: the pieces that it takes, by the core's rule."""
        pieces: list[tuple[int, int]] = []
        for r, amount in enumerate(demand):
            unit = self._unit[r]
            if unit == 0 or amount == 0:
                continue
            units = self.pieces[r]
            if amount <= unit:
                _, index = min((free, i) for i, free in enumerate(units) if free >= amount)
                pieces.append((r, index))
            else:
                whole = [i for i, free in enumerate(units) if free == unit]
                pieces += [(r, i) for i in whole[: amount // unit]]
        chosen = tuple(pieces)
        self._move(demand, chosen, -1)
        return chosen

    def _move(self, demand: tuple[int, ...], pieces: Pieces, sign: int) -> None:
        for r, amount in enumerate(demand):
            self.free[r] += sign * amount
        for r, index in pieces:
            if index >= len(self.pieces[r]):  # the machine has lost that device meanwhile
                continue
            self.pieces[r][index] += sign * min(demand[r], self._unit[r])
