"""An event loop for asyncio on the simulated clock: nothing waits, nothing comes from outside."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple

from tests.vopr.faults import SECOND, Trace

T = TypeVar("T")

Ts = TypeVarTuple("Ts")

MOST = 100_000
"""Callbacks in one go: more, and something goes round in circles."""


class SimLoop(asyncio.AbstractEventLoop):
    """Runs callbacks in the order in which they came, timers when the trace's clock says so.
    `errors`: what no task of the simulation waits for."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.errors: list[dict[str, Any]] = []
        self.tasks: dict[asyncio.Task[Any], None] = {}
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[int, int, asyncio.TimerHandle]] = []
        self._number = 0
        self._dead = False

    # For the simulation

    def go_on(self, halted: Callable[[], bool] = lambda: False) -> None:
        """Runs everything that can run now, or until it is halted."""
        asyncio._set_running_loop(self)  # noqa: SLF001 - every event loop has to
        try:
            for _ in range(MOST):
                if halted():
                    return
                now = self.trace.now
                while self._timers and (
                    self._timers[0][0] <= now or self._timers[0][2].cancelled()
                ):
                    self._ready.append(heapq.heappop(self._timers)[2])
                if not self._ready:
                    return
                handle = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()  # noqa: SLF001 - every event loop has to
            raise AssertionError("the tasks never come to rest")
        finally:
            asyncio._set_running_loop(None)  # noqa: SLF001 - every event loop has to

    def next(self) -> int | None:
        """When a timer is due, in microseconds."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def kill(self) -> None:
        """Its process is gone: nothing that a task still does is seen by anybody."""
        self._dead = True
        while self.tasks:
            for task in list(self.tasks):
                task.cancel()
            self.go_on()
        self._timers.clear()

    # For tasks

    def time(self) -> float:
        """Seconds, as everywhere in asyncio."""
        return (self.trace.now - self.trace.start) / SECOND

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._number += 1
        due = self.trace.start + round(when * SECOND)
        heapq.heappush(self._timers, (due, self._number, handle))
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]  # no eager tasks
        self,
        coro: Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self.tasks[task] = None
        task.add_done_callback(self._done)
        return task

    def get_task_factory(self) -> None:
        return None

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if not self._dead:
            self.errors.append(context)

    def _done(self, task: asyncio.Task[Any]) -> None:
        del self.tasks[task]
        if not task.cancelled() and task.exception() is not None:
            self.call_exception_handler({"message": "a task failed", "exception": task.exception()})

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Asked of every event loop; cancelled timers are left out when their turn comes."""
