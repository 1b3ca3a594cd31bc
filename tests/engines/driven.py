"""Engines that a driver opens in the tests: module:function, with plain settings."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fairlead.engines.interface import Assignment, EngineError, Node
from fairlead.engines.local.engine import LocalEngine
from fairlead.model.errors import InputError
from fairlead.model.machine import Cluster, Machine
from tests.engines.fake import FakeEngine
from tests.engines.world import Fate, World

MACHINES = (Machine("b", {"cpu": 64}), Machine("a", {"cpu": 2}))

PRINTED = "this goes nowhere near the frames"
"""What an engine prints."""


def clock() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


class Odd(FakeEngine):
    """An engine in memory that does what it is told to when it is asked for its machines, or when
    it is to launch something."""

    def __init__(self, doing: str, sign: str | None) -> None:
        super().__init__(World(MACHINES, clock, lambda _: Fate(0, out=b"out")))
        self.doing = doing
        self.sign = sign

    def nodes(self) -> Sequence[Node]:
        if self.doing == "fail":
            raise EngineError("the cluster is away")
        sys.stdout.write(f"{PRINTED}\n")
        sys.stdout.flush()
        return super().nodes()

    def launch(self, batch: Sequence[Assignment]) -> None:
        if self.sign is not None:
            Path(self.sign).touch()
        if self.doing == "hang":
            time.sleep(3600)
        if self.doing == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.doing == "die":
            os._exit(9)
        if self.doing == "break":
            raise ZeroDivisionError("a mistake in the engine")
        super().launch(batch)


class Dead(FakeEngine):
    """An engine that takes its process down as soon as it is asked anything."""

    def nodes(self) -> Sequence[Node]:
        os._exit(9)


def dead() -> Dead:
    """Such an engine."""
    return Dead(World(MACHINES, clock, lambda _: Fate(0)))


def odd(doing: str = "well", sign: str | None = None) -> Odd:
    """An engine in memory; it makes the file `sign` when it is to launch something."""
    return Odd(doing, sign)


def killed(sign: str) -> Odd:
    """An engine whose process is killed while it opens, as long as there is no file `sign`."""
    if not Path(sign).exists():
        Path(sign).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Odd("well", None)


def refused() -> Odd:
    """Settings that make no sense."""
    raise InputError("there is no such cluster", "write its address")


def absent() -> Odd:
    """A cluster that is away."""
    raise EngineError("nobody answers there")


def local(state: str) -> LocalEngine:
    """Processes of this machine."""
    return LocalEngine(Path(state), Cluster(MACHINES), grace=1.0)
