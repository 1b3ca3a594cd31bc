"""Workers of Ray that are kept for the next call like the one that they had."""

from __future__ import annotations

import base64
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import ray
from ray import cloudpickle

from fairlead.engines.interface import Attempt, Cause, Ended, Lost, Report, Stream
from fairlead.engines.ray.line import LONGEST, PROOF, WORKER, FarEnd, Reader, to_frame
from tests.engines.contract import end_of, new_attempts, wait
from tests.engines.ray.ground import RayBed, assign
from tests.engines.ray.lines import SECRETS, line, soon_read

pytestmark = pytest.mark.usefixtures("patient")


MIB = 1 << 20

MACHINE = "n0"
"""It has one CPU."""


class Caller:
    """Calls functions by an engine, one after the other, on a machine of one CPU, and says what
    came of them."""

    def __init__(self, bed: RayBed) -> None:
        self.bed, self.engine = bed, bed.engine()
        self.engine.reconcile([])

    def job(
        self, function: Callable[..., Any], calls: int = 1, *, tenant: str = "ana", cpu: str = "1"
    ) -> Iterator[Attempt]:
        """A job whose calls get their numbers: each next one is launched when it is asked for."""
        first, text = new_attempts()[0], call_of(function, calls)
        for task in range(calls):
            attempt = replace(first, task=task)
            told = assign(attempt, MACHINE, call=text, cpu=cpu)
            self.engine.launch([replace(told, tenant=tenant)])
            yield attempt

    def command(self, *words: str, cpu: str = "1") -> Attempt:
        """A command that is launched."""
        attempt, _, _ = new_attempts()
        self.engine.launch([assign(attempt, MACHINE, words, cpu=cpu)])
        return attempt

    def end(self, attempt: Attempt) -> Report:
        """How it ended."""
        end = end_of(self.bed, self.engine, attempt)
        self.engine.acknowledge([end])
        return end

    def value(self, attempt: Attempt) -> Any:
        """What it returned; it is over."""
        data = b"".join(self._parts(attempt))
        assert data[:1] == b"v", data[:100]
        return cloudpickle.loads(data[1:])

    def values(self, attempts: Iterator[Attempt]) -> list[Any]:
        """What each returned, once it is over, before the next one is launched."""
        found = []
        for attempt in attempts:
            assert well(self.end(attempt))
            found.append(self.value(attempt))
        return found

    def _parts(self, attempt: Attempt) -> Iterator[bytes]:
        at, size = 0, 1
        while at < size:
            part = self.engine.output(attempt, Stream.RESULT, at, 1_000_000)
            at, size = at + len(part.data), part.size
            yield part.data


def call_of(function: Callable[..., Any], calls: int) -> str:
    """As `fairlead.ray` writes it."""
    items = [text(((number,), {})) for number in range(calls)]
    tree = {"fairlead.ray": 1, "name": "f", "function": text(function), "items": items}
    return json.dumps(tree)


def text(value: Any) -> str:
    return base64.b64encode(cloudpickle.dumps(value)).decode("ascii")


def well(end: Report) -> bool:
    return isinstance(end, Ended) and (end.cause, end.code) == (Cause.EXITED, 0)


@pytest.fixture
def caller(ray_bed: RayBed) -> Iterator[Caller]:
    """Of whom workers are kept, and wait, for long: how busy the machine is makes no difference."""
    made = Caller(ray_bed)
    yield made
    made.end(made.command("true"))  # for which a worker that still waits makes room
    made.engine.close()


def which() -> Callable[[int], str]:
    """A function that says of which task of Ray it is a part."""
    return lambda _: str(ray.get_runtime_context().get_task_id())


@pytest.mark.slow
def test_calls_of_a_job_are_one_task_of_ray(caller: Caller) -> None:
    assert len(set(caller.values(caller.job(which(), 6)))) == 1


@pytest.mark.deep
@pytest.mark.slow
def test_so_are_calls_of_one_function_for_one_tenant(caller: Caller) -> None:
    function = which()
    first, second = (caller.values(caller.job(function)) for _ in range(2))
    assert first == second
    (others,) = caller.values(caller.job(function, tenant="bob"))
    assert others not in first
    (bigger,) = caller.values(caller.job(function, cpu="0.5"))
    assert bigger not in (*first, others)


@pytest.mark.deep
@pytest.mark.slow
def test_a_worker_that_waits_is_in_nobodys_way(caller: Caller) -> None:
    caller.values(caller.job(which()))
    assert well(caller.end(caller.command("true")))  # it has the one CPU that there is


@pytest.mark.deep
@pytest.mark.slow
def test_nor_in_that_of_calls_that_ray_has_and_cannot_begin(caller: Caller) -> None:
    calls = list(caller.job(lambda number: number, 10))  # on one CPU
    assert caller.values(iter(calls)) == list(range(10))


@pytest.mark.deep
@pytest.mark.slow
def test_a_call_that_ends_its_worker_takes_only_itself(caller: Caller) -> None:
    def crashes(number: int) -> int:
        if number == 2:
            os._exit(3)
        return number

    ends = [caller.end(attempt) for attempt in caller.job(crashes, 5)]
    assert [number for number, end in enumerate(ends) if not well(end)] == [2]
    lost = ends[2]
    assert isinstance(lost, Lost)
    assert (lost.started, lost.machine_at_fault) == (True, False)


@pytest.mark.deep
@pytest.mark.slow
def test_a_worker_whose_call_was_cancelled_gets_no_other(caller: Caller) -> None:
    def naps(number: int) -> str:
        import time

        while number == 1:
            time.sleep(0.05)
        return str(ray.get_runtime_context().get_task_id())

    calls = caller.job(naps, 3)
    (first,) = caller.values(iter([next(calls)]))
    second = next(calls)
    wait(caller.bed, lambda: any(r.attempt == second for r in caller.engine.poll()))
    caller.engine.cancel([second])
    end = caller.end(second)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    assert caller.values(calls) != [first]


@pytest.mark.deep
@pytest.mark.slow
def test_long_results_come_as_well_as_short_ones(caller: Caller) -> None:
    def long(number: int) -> bytes:
        return bytes([number]) * (1_500_000 if number % 2 else 10)

    found = caller.values(caller.job(long, 4))
    assert found == [long(number) for number in range(4)]


@pytest.mark.deep
@pytest.mark.slow
def test_a_call_that_is_lost_on_its_way_is_made_all_the_same(caller: Caller) -> None:
    def deafens(number: int) -> tuple[int, str]:
        import gc

        ends = [each for each in gc.get_objects() if type(each).__name__ == "FarEnd"]
        for end in ends if number == 1 else ():
            hear = end.receive

            def cut(patience: float, hear: Callable[[float], list[Any]] = hear) -> list[Any]:
                if hear(patience):
                    raise OSError("the line is cut")
                return []

            end.receive = cut
        return number, str(ray.get_runtime_context().get_task_id())

    found = caller.values(caller.job(deafens, 3))
    assert [number for number, _ in found] == [0, 1, 2]
    first, second, third = (task for _, task in found)
    assert first == second != third


@pytest.mark.deep
@pytest.mark.slow
def test_an_end_that_does_not_get_through_comes_by_ray(caller: Caller) -> None:
    def hangs_up(number: int) -> int:
        import gc

        for each in gc.get_objects() if number == 1 else ():
            if type(each).__name__ == "FarEnd":
                each.close()
        return number

    assert caller.values(caller.job(hangs_up, 3)) == [0, 1, 2]


@pytest.mark.deep
@pytest.mark.slow
def test_where_no_worker_is_kept_each_call_is_a_task_of_ray(new_ray_bed: RayBed) -> None:
    service = replace(new_ray_bed.service, kept=0.0)
    caller = Caller(RayBed(new_ray_bed.folder, service))
    assert len(set(caller.values(caller.job(which(), 3)))) == 3
    caller.engine.close()


def test_a_line_carries_messages_both_ways() -> None:
    end, (worker,) = line(SECRETS[WORKER])
    assert isinstance(worker, FarEnd)
    assert worker.send((1, (2, 0, 1), {"code": 0}))
    assert soon_read(end) == [(1, (2, 0, 1), {"code": 0})]
    assert end.send(("key", "x" * 60_000))
    heard: list[Any] = []
    while not heard:
        heard = worker.receive(1.0)
    assert heard == [("key", "x" * 60_000)]
    worker.close()
    with pytest.raises(ConnectionError):
        soon_read(end)
    end.socket.close()


def test_who_does_not_know_the_secret_is_heard_by_nobody() -> None:
    end, (refused,) = line(b"another secret")
    assert isinstance(refused, OSError)
    end.socket.close()


def test_a_worker_tells_nothing_to_somebody_else_at_the_launchers_place() -> None:
    def impostor() -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"a" * PROOF)
            connection.recv(2 * PROOF, socket.MSG_WAITALL)
            connection.sendall(b"b" * PROOF)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=impostor)
        thread.start()
        with pytest.raises(ConnectionError, match="somebody else"):
            FarEnd(WORKER, "127.0.0.1", server.getsockname()[1], SECRETS[WORKER])
        thread.join()


def test_a_message_is_read_once_it_is_whole() -> None:
    reader, data = Reader(LONGEST[WORKER]), to_frame("one") + to_frame("two")
    found = [message for byte in data for message in reader.add(bytes([byte]))]
    assert found == ["one", "two"]
    with pytest.raises(ValueError, match="too long"):
        reader.add(b"\xff\xff\xff\xff")


def end_heard(worker: FarEnd) -> None:
    while not worker.receive(1.0):
        pass


def test_what_the_other_side_does_not_take_ends_the_line() -> None:
    end, (worker,) = line(SECRETS[WORKER])
    assert isinstance(worker, FarEnd)
    sent = 0
    while end.send("x" * 60_000):  # nobody reads
        sent += 1
        assert sent < 10_000
    heard: list[Any] = []
    while len(heard) < sent:
        heard += worker.receive(1.0)
    with pytest.raises(ConnectionError, match="closed"):
        end_heard(worker)
    worker.close()
    end.socket.close()


@pytest.mark.deep
@pytest.mark.slow
def test_what_a_call_and_a_command_write_is_cut_together(caller: Caller) -> None:
    def prints(_: int) -> None:
        while True:
            sys.stdout.write("x" * (MIB // 16))
            time.sleep(0.01)

    (call,) = caller.job(prints, tenant="tenant", cpu="0.5")
    flood = f"while sleep 0.01; do head -c {MIB // 16} /dev/zero; done"
    engine, command = caller.engine, caller.command("sh", "-c", flood, cpu="0.5")
    both = [call, command]

    def sizes() -> list[int]:
        return [engine.output(each, Stream.OUT, 0, 1).size for each in both]

    def cut(each: Attempt) -> bool:
        return b"is left out]" in engine.output(each, Stream.OUT, -100, 100).data

    wait(caller.bed, lambda: min(sizes()) > 2 * MIB)
    engine.limit_outputs({"tenant": 1000 * MIB, "another": 0})
    wait(caller.bed, lambda: min(sizes()) > 4 * MIB)
    assert not any(map(cut, both))
    engine.limit_outputs({"tenant": 4 * MIB})
    wait(caller.bed, lambda: all(map(cut, both)))
    kept = sizes()
    engine.cancel(both)
    for each in both:
        end = caller.end(each)
        assert isinstance(end, Ended)
        assert "what its tenant had room for" in end.message
    assert sizes() == kept
