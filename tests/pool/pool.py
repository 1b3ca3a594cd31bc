"""A pool of processes for the tests: one collects them, and forks those that run them.

Each process has a *row* of its own, of what waits or takes long, and takes what is short when that
is done; then what is left of others' rows. Rows are pipes with the tests' numbers in them, so that
each test is taken once, by whichever process comes first, and what one held that was killed is seen
to be missing.
"""

from __future__ import annotations

import os
import struct
import sys
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
from selectors import EVENT_READ, DefaultSelector
from typing import Any

import pytest
from _pytest.capture import CaptureManager

NUMBER = struct.Struct("i")

Told = tuple[list[Any], int | None]
"""What a process tells each time: the reports of the test that is over, and which one is next."""


class Row:
    """Tests that are to be run, by their numbers, of which some are taken together."""

    def __init__(self, groups: Sequence[Sequence[int]]) -> None:
        self._reading, writing = os.pipe()
        self._sizes = {group[0]: len(group) for group in groups}
        with os.fdopen(writing, "wb") as file:  # what does not fit would wait for ever
            assert NUMBER.size * len(groups) <= 65_536, "a pipe is too small for so many tests"
            file.write(b"".join(NUMBER.pack(group[0]) for group in groups))

    def take(self) -> range | None:
        """The next ones; None if there are no more. From any process."""
        said = os.read(self._reading, NUMBER.size)
        if not said:
            return None
        (first,) = NUMBER.unpack(said)
        return range(first, first + self._sizes[first])


class Pool:
    """Runs a session's tests in so many processes."""

    def __init__(self, rows: Sequence[Sequence[int]], others: Sequence[Sequence[int]]) -> None:
        self._rows = [Row([(number,) for number in row]) for row in rows]
        self._others = Row(others)
        self._children: dict[Connection, int] = {}
        self._running: dict[Connection, int] = {}
        self._left: set[int] = set()

    def run(self, session: pytest.Session) -> None:
        """Forks the processes, and tells pytest what they tell."""
        self._left = set(range(len(session.items)))
        with DefaultSelector() as selector:
            for number in range(len(self._rows)):
                selector.register(self._fork(session, number), EVENT_READ)
            try:
                while self._children:
                    for key, _ in selector.select():
                        connection = key.fileobj
                        assert isinstance(connection, Connection)
                        try:
                            told: Told = connection.recv()
                        except EOFError:
                            selector.unregister(connection)
                            self._bury(session, connection)
                        else:
                            self._hear(session, connection, told)
                    if session.shouldfail or session.shouldstop:
                        self._drain()
            finally:
                self._drain()
                for connection in list(self._children):
                    self._join(connection)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
        for number in sorted(self._left):
            fail(session, number, "not run: the process that took it ended before")

    def _fork(self, session: pytest.Session, number: int) -> Connection:
        ours, theirs = Pipe(duplex=False)
        sys.stdout.flush()
        sys.stderr.flush()
        process = os.fork()
        if process:
            theirs.close()
            self._children[ours] = process
            return ours
        status = 1
        try:
            for each in (ours, *self._children):
                each.close()
            run_taken(session, theirs, self._taken(number))
            status = 0
        except KeyboardInterrupt:
            pass
        except BaseException:  # noqa: BLE001 - whoever hears of the tests misses the rest
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)  # what ends a session is for the process that began it

    def _taken(self, number: int) -> Iterator[range]:
        """What one process takes, in its order."""
        rows = self._rows[number:] + self._rows[:number]
        for row in (rows[0], self._others, *rows[1:]):
            while (taken := row.take()) is not None:
                yield taken

    def _hear(self, session: pytest.Session, connection: Connection, told: Told) -> None:
        hook, (reports, following) = session.config.hook, told
        if connection in self._running:
            number = self._running.pop(connection)
            self._left.discard(number)
            for each in reports:
                report = hook.pytest_report_from_serializable(config=session.config, data=each)
                hook.pytest_runtest_logreport(report=report)
            over = session.items[number]
            hook.pytest_runtest_logfinish(nodeid=over.nodeid, location=over.location)
        if following is not None:
            self._running[connection] = following
            begun = session.items[following]
            hook.pytest_runtest_logstart(nodeid=begun.nodeid, location=begun.location)

    def _bury(self, session: pytest.Session, connection: Connection) -> None:
        """Hears the end of a process, in the midst of a test or after all."""
        status = self._join(connection)
        if connection in self._running:
            number = self._running.pop(connection)
            self._left.discard(number)
            fail(session, number, f"the process that ran it ended with {status}")

    def _join(self, connection: Connection) -> int:
        connection.close()
        _, status = os.waitpid(self._children.pop(connection), 0)
        return os.waitstatus_to_exitcode(status)

    def _drain(self) -> None:
        """Leaves nothing to take: each process ends after what it has."""
        for row in (*self._rows, self._others):
            while row.take() is not None:
                pass


def fail(session: pytest.Session, number: int, why: str) -> None:
    """A test failed that cannot say so itself."""
    test = session.items[number]
    report = pytest.TestReport(test.nodeid, test.location, {}, "failed", why, "call")
    session.config.hook.pytest_runtest_logreport(report=report)


def run_taken(session: pytest.Session, connection: Connection, taken: Iterator[range]) -> None:
    """Runs tests in a process of the pool, and tells of each when it is over."""
    manager = session.config.pluginmanager
    manager.unregister(name="terminalreporter")
    capture = manager.getplugin("capturemanager")
    assert isinstance(capture, CaptureManager)
    capture.stop_global_capturing()  # into files of which each process would move the others' end
    capture.start_global_capturing()
    reports = Reports(session.config)
    manager.register(reports)
    numbers = (number for group in taken for number in group)
    number = next(numbers, None)
    try:
        while number is not None:
            connection.send((reports.take(), number))
            following = next(numbers, None)
            after = None if following is None else session.items[following]
            session.config.hook.pytest_runtest_protocol(item=session.items[number], nextitem=after)
            number = following
        connection.send((reports.take(), None))
    finally:
        session._setupstate.teardown_exact(None)  # noqa: SLF001 - where Ctrl-C broke it off


class Reports:
    """What is to be told of a test, to the process that collected."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._reports: list[Any] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Notes it as it may be sent."""
        hook = self._config.hook
        data = hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append(data)

    def take(self) -> list[Any]:
        """The reports since the last time."""
        taken, self._reports = self._reports, []
        return taken
