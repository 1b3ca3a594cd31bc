"""Accepts connections, looks at what they say, and puts those that can be answered into lines, by
whose they may be. It needs no interpreter, so nothing that goes on in the service makes who
connects wait, and who connects without end holds nobody else up
(docs/decisions/0308-the-door-needs-no-interpreter.md).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fairlead.scheduling.kernels.memory.compiling import inner, long_kernel
from fairlead.service.kernels import system
from fairlead.service.kernels.heads import (
    HALF,
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

REST = 10
"""Milliseconds for which nobody is accepted where descriptors run out."""

TICK = 1.0
"""Seconds after which it is looked who is too slow."""



class Door(NamedTuple):
    """What the door works on. Its numbers: the listening socket, what watches it and those who
    wait, and the pipe where who can be answered is told of; whether TLS is spoken; how many may
    wait of one address, how many may be in a line (of an owner, of an address) and in all together,
    the first descriptor that is for the service itself, and for how many seconds one may wait.

    Its arrays: those who wait (`numbers`, -1: nobody; from where, since when), marks that are known
    to be somebody's (and whose), marks that are wrong, how many were put into each line ever and
    how many were taken out of it, and room for what is read. Of each but `taken` and the marks the
    door alone writes."""

    listening: Any
    epoll: Any
    pipe: Any
    tls: Any
    each: Any
    owned: Any
    strange: Any
    together: Any
    limit: Any
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
    said: Any
    peer: Any
    events: Any
    ended: Any


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
            now = system.clock()
        comes = False
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
            _accept(door, now, once)
        if once:
            return


@inner
def _accept(door: Any, now: Any, all_of_them: Any) -> None:
    """Accepts those in the system's queue, or some of them."""
    accepted = 0
    while all_of_them or accepted < AT_ONCE:
        accepted += 1
        number, why = system.accept(door.listening, door.peer)
        if number < 0:
            if why in (system.INTERRUPTED, system.ABORTED):
                continue
            if why != system.AGAIN and not _give_way(door):
                _tell(door, FULL, 0)
                system.rest(REST)
            elif why != system.AGAIN:
                continue
            return
        _meet(door, number, now)
        # The lowest number that is free is given.
        if number >= door.limit and not _give_way(door):
            system.rest(REST)
            return


@inner
def _meet(door: Any, number: Any, now: Any) -> None:
    """One more: it is told of, or waits, or is gone."""
    source = _source(door.peer, door.key)
    length = system.peek(number, door.said)
    if length == 0:
        system.close(number)
        return
    length = max(length, 0)
    far = standing(door.said, length, door.tls)
    if far == WHOLE:
        _pass_on(door, number, source, length)
    elif far == HALF:
        _have_wait(door, number, source, now)
    else:
        system.close(number)


@inner
def _look_again(door: Any, name: Any, over: Any) -> None:
    """At one who waits, on whose connection more came."""
    number = np.int64(door.numbers[name])
    if number < 0:
        return
    length = system.peek(number, door.said)
    far = HALF if length < 0 else standing(door.said, length, door.tls)
    if length == 0 or far not in (HALF, WHOLE) or (far == HALF and over):
        _end(door, name)
    elif far == WHOLE:
        system.unwatch(door.epoll, number)
        door.numbers[name] = -1
        _pass_on(door, number, door.sources[name], length)


@inner
def _have_wait(door: Any, number: Any, source: Any, now: Any) -> None:
    """It waits, and for one more than may the oldest ends: of its address, else of all."""
    of_it, oldest, oldest_of_it, free = 0, -1, -1, -1
    for name in range(len(door.numbers)):
        if door.numbers[name] < 0:
            free = name
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
    system.watch(door.epoll, number, WAITING + name)


@inner
def _end(door: Any, name: Any) -> None:
    """One who waits is closed."""
    system.unwatch(door.epoll, door.numbers[name])
    system.close(door.numbers[name])
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
    if waiting >= most or (waiting > 0 and door.put[-1] - door.taken[-1] >= door.together):
        system.close(number)
        return
    door.put[line] += 1
    door.put[-1] += 1
    if not _tell(door, number, line):
        door.put[line] -= 1
        door.put[-1] -= 1
        system.close(number)


@inner
def _tell(door: Any, number: Any, line: Any) -> bool:
    words = np.empty(2, np.int32)
    words[0], words[1] = number, line
    return bool(system.tell(door.pipe, words))


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
    if peer[0] == 2:  # the family of IPv4, whose address comes after the port
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
