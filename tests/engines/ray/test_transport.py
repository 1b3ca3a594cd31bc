"""The driver's way to the launcher: a line of its own, and Ray's messages where there is none."""

from __future__ import annotations

import socket
import threading
from typing import Any, NoReturn

import numpy as np
import pytest

from fairlead.engines.interface import EngineError
from fairlead.engines.ray import transport
from fairlead.engines.ray.line import DRIVER, LONGEST, WORKER, FarEnd, Reader
from fairlead.engines.ray.transport import LineTransport, RayTransport
from tests.engines.contract import Bed, Doing, EngineContract, end_of, new_attempts
from tests.engines.ray.ground import RayBed
from tests.engines.ray.lines import LONG, SECRETS, line, soon_read
from tests.engines.ray.troubles import all_end_once

pytestmark = pytest.mark.usefixtures("patient")


@pytest.fixture
def no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher's port cannot be reached."""

    def refused(*_: Any) -> NoReturn:
        raise ConnectionRefusedError("nobody is let through")

    monkeypatch.setattr(transport, "FarEnd", refused)
    monkeypatch.setattr(transport, "LineTransport", None)


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[FarEnd]:
    """The driver's ends of all lines that are made; there is no other way."""
    made: list[FarEnd] = []

    def begun(*args: Any) -> FarEnd:
        made.append(FarEnd(*args))
        return made[-1]

    monkeypatch.setattr(transport, "FarEnd", begun)
    monkeypatch.setattr(transport, "RayTransport", None)
    return made


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.usefixtures("no_line")
class TestContractByRay(EngineContract):
    """The common suite, where a driver can have no line."""

    @pytest.fixture
    def bed(self, ray_bed: RayBed) -> Bed:
        return ray_bed

    @pytest.fixture
    def new_bed(self, new_ray_bed: RayBed) -> Bed:
        return new_ray_bed


@pytest.mark.slow
def test_a_driver_has_a_line_where_there_can_be_one(ray_bed: RayBed, ends: list[FarEnd]) -> None:
    engine = ray_bed.engine()
    attempt, _, _ = new_attempts()
    engine.reconcile([])
    engine.launch([ray_bed.assignment(attempt, Doing.WELL)])
    end_of(ray_bed, engine, attempt)
    assert len(ends) == 1
    engine.close()


@pytest.mark.deep
@pytest.mark.slow
def test_lines_that_are_cut_lose_nothing_and_double_nothing(
    ray_bed: RayBed, ends: list[FarEnd], cases: int
) -> None:
    def cut() -> bool:
        ends[-1].end()
        return True

    draw = np.random.Generator(np.random.PCG64(11))
    engine = ray_bed.engine()
    all_end_once(ray_bed, engine, draw, cut, 48 * cases)
    assert len(ends) > 1
    engine.close()


def test_what_workers_know_makes_nobody_a_driver() -> None:
    end, (refused,) = line(SECRETS[WORKER], DRIVER)
    assert isinstance(refused, OSError)
    end.socket.close()
    for side, secret in SECRETS.items():
        end, (far,) = line(secret, side)
        assert isinstance(far, FarEnd)
        assert end.side == side
        far.close()
        end.socket.close()


def test_what_is_posted_comes_whole_and_in_order_to_who_reads_late() -> None:
    end, (driver,) = line(SECRETS[DRIVER], DRIVER)
    assert isinstance(driver, FarEnd)
    messages = [(number, "x" * 100_000) for number in range(100)]
    assert [end.post(message) for message in messages].count(False)
    heard: list[Any] = []
    while len(heard) < len(messages):
        heard += driver.receive(0.01)
        end.flush()
    assert heard == messages
    assert end.flush()
    driver.close()
    with pytest.raises(ConnectionError):
        soon_read(end)
    end.socket.close()


def test_what_is_no_message_is_told_from_one() -> None:
    with pytest.raises(ValueError, match="no message"):
        Reader(LONGEST[WORKER]).add(b"\0\0\0\5hello")


class Listening:
    """Keeps what it hears."""

    closed = False

    def __init__(self) -> None:
        self.reports: list[Any] = []
        self.why: list[Any] = []
        self.heard = threading.Event()  # why it hears no more

    def take(self, reports: list[Any]) -> None:
        self.reports += reports

    def fail(self, why: Any) -> None:
        self.why.append(why)
        self.heard.set()


def test_who_waits_for_an_answer_hears_that_the_line_is_broken() -> None:
    end, (driver,) = line(SECRETS[DRIVER], DRIVER)
    assert isinstance(driver, FarEnd)
    by_line, listener = LineTransport(driver, 1, LONG), Listening()
    by_line.subscribe(1, 0, listener)
    assert soon_read(end) == [(None, "listen", (1, 1, 0))]
    end.post(("news", 0, ["of an earlier reconciliation"]))
    end.post(("news", 1, ["a", "b"]))
    end.end()
    with pytest.raises(EngineError, match="broken"):
        by_line.ask("nodes")
    assert listener.reports == ["a", "b"]
    with pytest.raises(EngineError, match="broken"):
        by_line.ask("nodes")
    assert listener.why == [transport.BROKEN]
    end.socket.close()


def test_a_launcher_that_says_nothing_is_not_waited_for_long() -> None:
    end, (driver,) = line(SECRETS[DRIVER], DRIVER)
    assert isinstance(driver, FarEnd)
    by_line = LineTransport(driver, 1, 0.05)
    with pytest.raises(EngineError, match="did not answer"):
        by_line.ask("nodes")
    by_line.close()
    assert soon_read(end) == [(1, "nodes", (1,))]
    with pytest.raises(ConnectionError):
        soon_read(end)
    end.socket.close()


def test_what_a_launcher_does_not_take_is_heard_of_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transport, "LOOK", 10 * LONG)
    end, (driver,) = line(SECRETS[DRIVER], DRIVER, 0.5)
    assert isinstance(driver, FarEnd)
    by_line, listener = LineTransport(driver, 1, LONG), Listening()
    by_line.subscribe(1, 0, listener)
    by_line.send(["x" * 50_000_000])  # nobody reads it
    assert listener.heard.wait(LONG)
    assert listener.why == [transport.BROKEN]
    end.socket.close()


def test_a_launcher_of_before_has_no_line() -> None:
    found = transport.open_transport(None, {"epoch": 1}, LONG)
    assert isinstance(found, RayTransport)
    with socket.socket() as taken:  # and nobody else may have its port meanwhile
        taken.bind(("127.0.0.1", 0))
        there = (*taken.getsockname(), SECRETS[DRIVER])
        found = transport.open_transport(None, {"epoch": 1, "line": there}, LONG)
    assert isinstance(found, RayTransport)  # nobody listens there any more
