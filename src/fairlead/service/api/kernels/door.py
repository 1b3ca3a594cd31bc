"""Accepts connections, looks at what they say, and puts those that can be answered into lines, by
whose they may be. It needs no interpreter, so nothing that goes on in the service makes who
connects wait, and who connects without end holds nobody else up
(docs/decisions/0308-the-door-needs-no-interpreter.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairlead.compiling import inner, long_kernel
from fairlead.service.api.kernels import system
from fairlead.service.api.kernels.heads import (
    HALF,
    NONE,
    WHOLE,
    add,
    begin_hash,
    end_hash,
    mark,
    standing,
)

KNOWN, UNHEARD, STRANGER = 0, 1, 2
"""Kinds of lines: of an owner; of an address, of those who show something that nobody looked at
yet; of an address, of those who show nothing, or what is known to be wrong."""

LINES = 2**16
"""Of each kind."""

WAYS = 4
"""Places one of which a mark can have in a table."""

PLACES = 2**16
"""Of a table."""

WAITING = 2**30
"""The name of the first one who waits, as what watches him has it; less is a descriptor."""

FULL = -1
"""Told instead of a descriptor: none is left."""

AT_ONCE = 64
"""Connections that are accepted between two looks at those who wait."""

REST = 2_000
"""Microseconds for which nobody is accepted where there is no descriptor at all, and after which
it is said again that they run out."""

FREELY = 2_000.0
"""Connections a second that are accepted as they come, AT_ONCE of them at once."""

PAUSE = 500
"""Microseconds for which it rests where more come, whenever the system's queue is empty: else each
of them would wake it and take the processor from who answers."""

TICK = 1.0
"""Seconds after which it is looked who is too slow."""


KEY_BYTES = 16
"""Of the secret with which marks are made."""

PEER_BYTES = 28
"""Of an address with its port, of IPv6."""

IPV4 = 2
"""The family of an address of that kind."""


class Limits(NamedTuple):
    """Whether TLS is spoken, how many bytes a connection may say before it can be answered in any
    case, and how many may be there: who wait, the same of one address, in the line of an owner, in
    that of an address, in all lines of addresses (as many more where theirs is empty).
    `descriptors`: below the first one that is for the service itself, and for owners that are
    known; `seconds` that one may wait."""

    tls: bool
    head_bytes: int
    waiting: int
    each: int
    owned: int
    strange: int
    together: int
    descriptors: int
    seconds: float


class Door(NamedTuple):
    """What the door works on: the listening socket, what watches it and those who wait, the pipe
    where it tells of who can be answered, its limits, and arrays: those who wait (`numbers`, -1:
    nobody; from where, since when), marks that are known to be somebody's (and whose), marks that
    are wrong, how many were put into each line ever and how many were taken out, how many found
    theirs full, room for what is read, and `left`: how many more may come freely, as of when. The
    marks, their owners, `taken` and `ended` are others' to write, all else its own."""

    listening: Any
    epoll: Any
    pipe: Any
    tls: Any
    head_bytes: Any
    waiting: Any
    each: Any
    owned: Any
    strange: Any
    together: Any
    descriptors: Any
    seconds: Any
    key: Any
    numbers: Any
    sources: Any
    times: Any
    known: Any
    owners: Any
    wrong: Any
    put: Any
    taken: Any
    refused: Any
    said: Any
    peer: Any
    events: Any
    time: Any
    scratch: Any
    asked: Any
    left: Any
    ended: Any


def make_door(listening: int, epoll: int, pipe: int, key: bytes, limits: Limits) -> Door:
    """A door at which nobody is."""
    lines = 3 * LINES + 1  # and of all whom nobody knows
    return Door(
        listening,
        epoll,
        pipe,
        *limits,
        key=np.frombuffer(bytearray(key), np.uint64),
        numbers=np.full(limits.waiting, -1, np.int32),
        sources=np.zeros(limits.waiting, np.uint64),
        times=np.zeros(limits.waiting),
        known=np.zeros(PLACES, np.uint64),
        owners=np.zeros(PLACES, np.uint64),
        wrong=np.zeros(PLACES, np.uint64),
        put=np.zeros(lines, np.int64),
        taken=np.zeros(lines, np.int64),
        refused=np.zeros(1, np.int64),
        said=np.zeros(limits.head_bytes, np.uint8),
        peer=np.zeros(PEER_BYTES, np.uint8),
        events=system.new_events(AT_ONCE),
        time=np.zeros(2, np.int64),
        scratch=np.zeros(system.SCRATCH, np.uint32),
        asked=np.full(1, -np.inf),
        left=np.zeros(2),
        ended=np.zeros(1, np.int64),
    )


@long_kernel
def attend(door: Any, now: Any) -> None:
    """Attends to who comes, until `ended`; where it is told what time it is, to who is there, and
    waits for nobody."""
    once = now >= 0.0
    ticked = -TICK
    while True:
        many = system.wait(door.epoll, door.events, 0 if once else 1000)
        if door.ended[0] != 0:
            return
        if not once:
            now = system.clock(door.time)
        comes, accepted = False, 0
        for at in range(many):
            name, what = system.event(door.events, at)
            if name >= WAITING:
                _look_again(door, name - WAITING, (what & system.OVER) != 0)
            else:
                comes = True
        if once or now >= ticked + TICK:
            ticked = now
            _end_slow(door, now)
        if comes:
            accepted = _accept(door, now, once)
        if once:
            return
        if comes and _are_many(door, now, accepted):
            system.rest(PAUSE)


@inner
def _are_many(door: Any, now: Any, many: Any) -> bool:
    """Whether so many are more than come `FREELY`, and no more of them are there."""
    left = min(AT_ONCE, door.left[0] + (now - door.left[1]) * FREELY) - many
    door.left[0], door.left[1] = max(left, -AT_ONCE), now
    return bool(left < 0 and many < AT_ONCE)


@inner
def _accept(door: Any, now: Any, all_of_them: Any) -> int:
    """Accepts those in the system's queue, or some of them; how many these were, about."""
    accepted = 0
    while all_of_them or accepted < AT_ONCE:
        accepted += 1
        if not all_of_them:
            now = system.clock(door.time)  # of two, one came first
        number, why = system.accept(door.listening, door.peer, door.scratch)
        if number < 0:
            if why == system.AGAIN or (
                why in system.FULL and not system.has_more(door.listening, door.scratch)
            ):
                return accepted
            if why in system.FULL and not _give_way(door):
                _ask_for_room(door, now)
                system.rest(REST)
                return accepted
            continue  # there is room now, or that one is gone
        # The lowest number that is free is given.
        if number >= door.descriptors and not _give_way(door):
            _ask_for_room(door, now)
        _meet(door, number, now)
    return accepted


@inner
def _ask_for_room(door: Any, now: Any) -> None:
    """Says that there is no descriptor left but those of the service itself, now and then."""
    if now >= door.asked[0] + REST / 1e6:
        door.asked[0] = now
        system.tell(door.pipe, FULL, 0, door.scratch)


@inner
def _meet(door: Any, number: Any, now: Any) -> None:
    """One more: it is told of, or waits, or is gone."""
    source = _source(door.peer, door.key)
    length = system.peek(number, door.said)
    far = _far(door, length)
    if far == WHOLE:
        _pass_on(door, number, source, length)
    elif far == HALF:
        _have_wait(door, number, source, now)
    else:
        system.close(number, door.scratch)


@inner
def _look_again(door: Any, name: Any, over: Any) -> None:
    """At one who waits, on whose connection more came."""
    number = np.int64(door.numbers[name])
    if number < 0:
        return
    length = system.peek(number, door.said)
    far = _far(door, length)
    if far == WHOLE:
        system.unwatch(door.epoll, number, door.scratch)
        door.numbers[name] = -1
        _pass_on(door, number, door.sources[name], length)
    elif far == NONE or over:
        _end(door, name)


@inner
def _far(door: Any, length: Any) -> int:
    """How far a client is of whom so much was read: nothing came, or he is gone."""
    if length <= 0:
        return HALF if length < 0 else NONE
    return standing(door.said, length, door.tls)


@inner
def _have_wait(door: Any, number: Any, source: Any, now: Any) -> None:
    """It waits, and for one more than may the oldest ends: of its address, else of all."""
    of_it, oldest, oldest_of_it, free = 0, -1, -1, -1
    for name in range(len(door.numbers)):
        if door.numbers[name] < 0:
            free = name if free < 0 else free
            continue
        if oldest < 0 or door.times[name] < door.times[oldest]:
            oldest = name
        if door.sources[name] == source:
            of_it += 1
            if oldest_of_it < 0 or door.times[name] < door.times[oldest_of_it]:
                oldest_of_it = name
    name = free
    if of_it >= door.each:
        name = oldest_of_it
    elif free < 0:
        name = oldest
    if door.numbers[name] >= 0:
        _end(door, name)
    door.numbers[name], door.sources[name], door.times[name] = number, source, now
    system.watch(door.epoll, number, WAITING + name, door.scratch)


@inner
def _end(door: Any, name: Any) -> None:
    """One who waits is closed."""
    system.unwatch(door.epoll, door.numbers[name], door.scratch)
    system.close(door.numbers[name], door.scratch)
    door.numbers[name] = -1


@inner
def _end_slow(door: Any, now: Any) -> None:
    """Who has waited for too long is closed."""
    for name in range(len(door.numbers)):
        if door.numbers[name] >= 0 and door.times[name] < now - door.seconds:
            _end(door, name)


@inner
def _give_way(door: Any) -> bool:
    """Who waits for longest gives its descriptor; whether somebody waits."""
    oldest = -1
    for name in range(len(door.numbers)):
        if door.numbers[name] >= 0 and (oldest < 0 or door.times[name] < door.times[oldest]):
            oldest = name
    if oldest >= 0:
        _end(door, oldest)
    return oldest >= 0


@inner
def _pass_on(door: Any, number: Any, source: Any, length: Any) -> None:
    """It is told of, in the line that it belongs to, or closed where that is full."""
    kind, whose, most = KNOWN, source, door.owned
    if not door.tls:
        shown = mark(door.said, length, door.key)
        place = find(door.known, shown)
        if place >= 0:
            whose = door.owners[place]
        else:
            unheard = shown != 0 and find(door.wrong, shown) < 0
            kind, most = UNHEARD if unheard else STRANGER, door.strange
    line = kind * LINES + np.int64(whose & np.uint64(LINES - 1))
    waiting = door.put[line] - door.taken[line]
    full = waiting >= most
    counts = kind != KNOWN or door.tls  # among those whom nobody knows
    if counts:
        in_all = door.put[-1] - door.taken[-1]
        full = full or in_all >= 2 * door.together or (waiting > 0 and in_all >= door.together)
        full = full or number >= door.descriptors
    if not full and system.tell(door.pipe, number, line, door.scratch):
        door.put[line] += 1
        door.put[-1] += counts
    else:
        door.refused[0] += 1
        system.close(number, door.scratch)


@inner
def find(table: Any, shown: Any) -> int:
    """Where this mark is in a table; less than 0 where it is not."""
    if shown == 0:
        return -1
    first = np.int64(shown & np.uint64(PLACES - WAYS))
    for place in range(first, first + WAYS):
        if table[place] == shown:
            return place
    return -1


@inner
def _source(peer: Any, key: Any) -> Any:
    """A number for the address, as limits count by it: of IPv6 a network of 64 bits."""
    first, end = 8, 16
    if peer[0] == IPV4:  # its address comes after the port
        first, end = 4, 8
    else:
        mapped = peer[18] == 0xFF and peer[19] == 0xFF
        for at in range(8, 18):
            mapped = mapped and peer[at] == 0
        if mapped:
            first, end = 20, 24
    hashed = begin_hash(key)
    for at in range(first, end):
        hashed = add(hashed, np.uint64(peer[at]))
    return end_hash(hashed)
