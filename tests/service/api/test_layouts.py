"""What compiled functions hand to Linux has the layout that its headers give, on each machine."""

from __future__ import annotations

import ctypes
import os
import platform
import select
import socket
from typing import Any

import numpy as np
import pytest
from numba import njit

from fairlead.service.api.kernels import door, system

WORD = 4


class EpollEvent(ctypes.Structure):
    """`struct epoll_event` as C lays it out: of arm64 and all others."""

    _fields_ = (("events", ctypes.c_uint32), ("data", ctypes.c_uint64))


class PackedEpollEvent(ctypes.Structure):
    """The same with `EPOLL_PACKED`, which `linux/eventpoll.h` defines for x86_64 alone."""

    _pack_ = 1
    _fields_ = EpollEvent._fields_


class PollFd(ctypes.Structure):
    """`struct pollfd`."""

    _fields_ = (("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short))


class SocketAddress(ctypes.Structure):
    """`struct sockaddr_in6`."""

    _fields_ = (
        ("family", ctypes.c_uint16),
        ("port", ctypes.c_uint16),
        ("flow", ctypes.c_uint32),
        ("address", ctypes.c_uint8 * 16),
        ("scope", ctypes.c_uint32),
    )


class Linger(ctypes.Structure):
    """`struct linger`."""

    _fields_ = (("on", ctypes.c_int), ("seconds", ctypes.c_int))


def _close(number: Any, scratch: Any) -> None:
    system.close(number, scratch)


close: Any = njit(_close)
"""The door's own, as others may call it."""


@pytest.mark.parametrize(
    ("machine", "event"), [("x86_64", PackedEpollEvent), ("aarch64", EpollEvent)]
)
def test_an_event_is_as_long_as_linux_has_it_and_its_data_are_its_last_two_words(
    machine: str, event: type[ctypes.Structure]
) -> None:
    words = system.event_words(machine)
    assert words * WORD == ctypes.sizeof(event)
    assert (words - 2) * WORD == event.data.offset


def test_what_this_machines_linux_tells_is_read_by_that_layout() -> None:
    """Of several events each has its name: with a wrong length the second would be garbage."""
    words = system.event_words(platform.machine())
    libc = ctypes.CDLL(None, use_errno=True)
    with select.epoll() as epoll:
        numbers = [os.eventfd(1, os.EFD_NONBLOCK) for _ in range(3)]
        for number in numbers:
            epoll.register(number, select.EPOLLIN)
        events = system.new_events(3)
        assert events.nbytes == 3 * words * WORD
        assert libc.epoll_wait(epoll.fileno(), events.ctypes.data_as(ctypes.c_void_p), 3, 0) == 3
        assert sorted(events[words - 2 :: words]) == numbers
    for number in numbers:
        os.close(number)


def test_an_address_and_what_is_polled_are_as_long_as_linux_has_them() -> None:
    assert ctypes.sizeof(SocketAddress) == door.PEER_BYTES
    assert SocketAddress.address.offset == 8  # as the door reads it
    assert ctypes.sizeof(PollFd) == 2 * WORD
    assert PollFd.events.offset == WORD
    assert int(socket.AF_INET) == door.IPV4


def test_whom_the_door_closes_lingers_for_no_time() -> None:
    """What `close` hands over is read back by C's own layout, from another descriptor."""
    assert ctypes.sizeof(Linger) == 2 * WORD
    assert Linger.seconds.offset == WORD
    mine, far = socket.socketpair()
    with far, mine.dup() as other:
        close(mine.detach(), np.zeros(system.SCRATCH, np.uint32))
        told = other.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ctypes.sizeof(Linger))
    kept = Linger.from_buffer_copy(told)
    assert (kept.on, kept.seconds) == (1, 0)
