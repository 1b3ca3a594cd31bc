"""Processes that end with the one that started them, however that one ends.

A child hears of its parent's end by a pipe that the parent alone holds open: the system closes it
at every end, also at SIGKILL, and does so everywhere (docs/decisions/0199-no-process-is-left.md).
Tasks of the service are none of these: they survive it, as is meant.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # most commands start no process, and load nothing for it
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing.context import SpawnContext


class Terminated(KeyboardInterrupt):
    """The process was told to end by this signal: what runs cleans up, as after Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def unwinding() -> Iterator[None]:
    """Within, SIGTERM and SIGHUP (a closed terminal) raise Terminated, and no signal is lost in a
    finalizer; while a module of C is loaded they wait for its end. A signal that is ignored, as
    under nohup, stays ignored; in a thread that hears no signals nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def unwind(number: int, frame: FrameType | None) -> None:
        if _loads_c(frame):
            lost.send_again(number)
        else:
            raise Terminated(number)

    heard = [
        each
        for each in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(each) is not signal.SIG_IGN
    ]
    lost = _Lost()
    before = {each: signal.signal(each, unwind) for each in heard}
    otherwise, sys.unraisablehook = sys.unraisablehook, lost.hear
    try:
        yield
    except Exception as error:
        number = lost.take()
        if number is None:
            raise
        # What the signal broke off, as a call of the compiler's, fails where it is missed.
        raise Terminated(number) from error
    finally:
        sys.unraisablehook = otherwise
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def holding() -> Iterator[None]:
    """Within, Ctrl-C and the like wait till the end: a process that is started within is known to
    who started it before anything is raised. In a thread that hears no signals nothing changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        each: signal.signal(each, lambda number, _frame: came.append(number))
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        if callable(signal.getsignal(each))  # the system's own way of it, or none, stays
    }
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        for number in came:
            signal.raise_signal(number)


def _loads_c(frame: FrameType | None) -> bool:
    """Whether a module of C is being loaded. It may import others, and go on without a word where
    that fails, whatever was raised: PyYAML's does."""
    while frame is not None:
        if frame.f_code.co_name in ("create_module", "exec_module") and isinstance(
            frame.f_locals.get("self"), ExtensionFileLoader
        ):
            return True
        frame = frame.f_back
    return False


class _Lost:
    """Signals that came while an object was finalized, or C called Python: what is raised there
    Python drops."""

    def __init__(self) -> None:
        self._again: tuple[int, threading.Thread] | None = None
        self._hearing = False
        self._taken = threading.Event()

    def hear(self, lost: sys.UnraisableHookArgs) -> None:
        """Sends the signal again, when that has ended."""
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
            return
        number = lost.exc_value.number if isinstance(lost.exc_value, Terminated) else signal.SIGINT
        self.send_again(number)

    def send_again(self, number: int) -> None:
        """Sends it in a moment, once this has returned."""
        self._hearing = True
        again = threading.Thread(target=self._send, args=(number,), daemon=True)
        self._again = number, again
        again.start()
        self._hearing = False  # at last: Python looks for signals nowhere from here to the end

    def _send(self, number: int) -> None:
        while self._hearing:  # what is raised there is lost, too
            time.sleep(0.001)
        if not self._taken.wait(0.01):
            os.kill(os.getpid(), number)

    def take(self) -> int | None:
        """The signal that is still to be sent again; it is not, then."""
        if self._again is None or not self._again[1].is_alive():
            return None
        self._taken.set()
        return self._again[0]


def spawning() -> SpawnContext:
    """The way in which processes are started: spawned, for a forked child inherits the locks of
    threads that it has not; and with -P, for what lies in the folder where one is, in which Python
    looks first until it knows its parent's path, is none of our modules."""
    import multiprocessing
    import subprocess
    from multiprocessing import util

    def words() -> list[str]:
        asked: list[str] = vars(subprocess)["_args_from_interpreter_flags"]()
        return asked if "-P" in asked or "-I" in asked else [*asked, "-P"]

    # Also of what watches over what processes share. No public name is for it
    # (docs/decisions/0321-the-folder-means-nothing.md).
    vars(util)["_args_from_interpreter_flags"] = words
    return multiprocessing.get_context("spawn")


def pool(workers: int) -> ProcessPoolExecutor:
    """So many processes that wait for work and end with this one."""
    from concurrent.futures import ProcessPoolExecutor

    return ProcessPoolExecutor(workers, mp_context=spawning(), initializer=end_with_parent)


def end(pool: ProcessPoolExecutor, *, wait: bool = True) -> None:
    """Ends the pool's processes, whatever they do; those that are within `unwinding` clean up."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    if not wait:
        pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()
    if wait:
        pool.shutdown(wait=True, cancel_futures=True)


def end_with_parent(then: Callable[[], object] | None = None) -> None:
    """In a child, first of all: it ends as soon as its parent has ended, after `then` where there
    is something left to do. Ctrl-C on the terminal is for the parent, which ends its child."""
    import multiprocessing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None  # only a child calls this

    def wait() -> None:
        parent.join()
        try:
            if then is not None:
                then()
        finally:
            os._exit(0)

    threading.Thread(target=wait, name="end with parent", daemon=True).start()
