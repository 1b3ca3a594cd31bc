"""Calls of Linux, as compiled functions make them: for none of them the interpreter is needed."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from numba import types

from fairlead.compiling import inner, small

_int, _long, _size, _any = types.int32, types.int64, types.uint64, types.voidptr

_accept4 = types.ExternalFunction("accept4", _int(_int, _any, _any, _int))
_recv = types.ExternalFunction("recv", _long(_int, _any, _size, _int))
_write = types.ExternalFunction("write", _long(_int, _any, _size))
_close = types.ExternalFunction("close", _int(_int))
_setsockopt = types.ExternalFunction("setsockopt", _int(_int, _int, _int, _any, types.uint32))
_epoll_ctl = types.ExternalFunction("epoll_ctl", _int(_int, _int, _int, _any))
_epoll_wait = types.ExternalFunction("epoll_wait", _int(_int, _any, _int, _int))
_poll = types.ExternalFunction("poll", _int(_any, _size, _int))
_usleep = types.ExternalFunction("usleep", _int(types.uint32))
_clock_gettime = types.ExternalFunction("clock_gettime", _int(_int, _any))
_errno_location = types.ExternalFunction("__errno_location", types.CPointer(_int)())

AGAIN = 11
"""Why a call did nothing: there is nothing yet."""

FULL = (23, 24, 105, 12)
"""The same: there is no descriptor left, or no memory."""

_MONOTONIC = 1
_NEW = 0o4000 | 0o2000000  # does not block, and no child has it
_LOOK = 0x2 | 0x40  # takes nothing, and does not wait
_SOCKET, _LINGER = 1, 13
_ADD, _REMOVE = 1, 2
IN, OVER = 0x1, 0x2000 | 0x10 | 0x8
"""Events: something came; the other end says no more."""
_MORE = IN | 0x2000 | (1 << 31)  # each once


def event_words(machine: str) -> int:
    """Words of 32 bits of a `struct epoll_event` on such a machine; its `data` are the last two.
    Linux packs it where 32 bits were before 64, and nowhere else."""
    return 3 if machine in ("x86_64", "AMD64") else 4


_WORDS = event_words(platform.machine())
_DATA = _WORDS - 2

SCRATCH = 8
"""Words of 32 bits that a call may need. They are handed to it: what asks for memory may fail."""


@inner
def accept(listening: Any, peer: Any, scratch: Any) -> Any:
    """The descriptor of the next one in the queue, whose address is put into `peer`; less than 0,
    and why, where there is none."""
    scratch[0] = len(peer)
    number = _accept4(np.int32(listening), peer.ctypes, scratch.ctypes, np.int32(_NEW))
    return np.int64(number), np.int64(0 if number >= 0 else _errno_location()[0])


@inner
def has_more(listening: Any, scratch: Any) -> bool:
    """Whether there is somebody in the queue. Where no descriptor is left, `accept` finds none for
    nobody either."""
    scratch[0], scratch[1] = listening, IN
    return bool(_poll(scratch.ctypes, np.uint64(1), np.int32(0)) > 0)


@inner
def peek(number: Any, said: Any) -> Any:
    """How many bytes came, which are put into `said` and stay; 0 where the other end is gone, and
    less than 0 where nothing came."""
    length = _recv(np.int32(number), said.ctypes, np.uint64(len(said)), np.int32(_LOOK))
    if length < 0 and _errno_location()[0] != AGAIN:
        return 0
    return length


@inner
def close(number: Any, scratch: Any) -> None:
    """The descriptor is free, and neither end remembers the connection: else who opened it and
    went first does for a minute, and every other program at his address has to look for a port
    among those."""
    scratch[0], scratch[1] = 1, 0  # what was not sent is waited for, for no time
    _setsockopt(
        np.int32(number), np.int32(_SOCKET), np.int32(_LINGER), scratch.ctypes, np.uint32(8)
    )
    _close(np.int32(number))


@inner
def tell(pipe: Any, first: Any, second: Any, scratch: Any) -> bool:
    """Writes two numbers; whether there was room."""
    scratch[0], scratch[1] = first, second
    return bool(_write(np.int32(pipe), scratch.ctypes, np.uint64(8)) == 8)


@inner
def watch(epoll: Any, number: Any, name: Any, scratch: Any) -> None:
    """From now on, it is told once each time that more came on the descriptor, by that name."""
    scratch[0], scratch[_DATA] = _MORE, name
    _epoll_ctl(np.int32(epoll), np.int32(_ADD), np.int32(number), scratch.ctypes)


@inner
def unwatch(epoll: Any, number: Any, scratch: Any) -> None:
    """Nothing is told of the descriptor any more, though another process have it."""
    _epoll_ctl(np.int32(epoll), np.int32(_REMOVE), np.int32(number), scratch.ctypes)


@inner
def wait(epoll: Any, events: Any, milliseconds: Any) -> Any:
    """Waits for events, for so long at most; how many there are."""
    most = len(events) // _WORDS
    found = _epoll_wait(np.int32(epoll), events.ctypes, np.int32(most), np.int32(milliseconds))
    return np.int64(found) if found > 0 else 0


@small
def event(events: Any, at: Any) -> Any:
    """The name of who it is of, and what it is."""
    return np.int64(events[at * _WORDS + _DATA]), np.int64(events[at * _WORDS])


@inner
def rest(microseconds: Any) -> None:
    """Does nothing for so long."""
    _usleep(np.uint32(microseconds))


@inner
def clock(told: Any) -> float:
    """Seconds that only grow, as `time.monotonic` has them. `told`: room for two numbers."""
    _clock_gettime(np.int32(_MONOTONIC), told.ctypes)
    return float(told[0] + told[1] * 1e-9)


def new_events(many: int) -> Any:
    """Room for so many events."""
    return np.zeros(many * _WORDS, np.uint32)
