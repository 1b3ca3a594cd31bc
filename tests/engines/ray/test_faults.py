"""What the engine on Ray does when nodes, drivers, workers and its launcher fail."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import ray

from fairlead.engines.interface import (
    Attempt,
    Cause,
    Ended,
    EngineError,
    Lost,
    Report,
    Started,
    Stream,
)
from fairlead.engines.ray.engine import RayEngine
from fairlead.engines.ray.launcher.node_names import NodeNames
from fairlead.engines.registry import ENGINES
from fairlead.engines.supervised.remote import RemoteEngine
from tests.engines.contract import Doing, begun, end_of, new_attempts, reconciled, started, wait
from tests.engines.ray.ground import SECRET, Ground, RayBed, RayService, assign, frozen, thawed
from tests.engines.ray.troubles import all_end_once

pytestmark = pytest.mark.slow


@pytest.fixture
def driven(ground: Ground, ray_bed: RayBed) -> Iterator[RemoteEngine]:
    """The engine behind a driver."""
    service = ray_bed.service
    settings = {"state": str(service.state), "address": ground.address}
    engine = RemoteEngine(ENGINES["ray"].opener, {**settings, "namespace": service.namespace})
    yield engine
    engine.close()


def fresh(bed: RayBed) -> RayEngine:
    engine = bed.engine()
    engine.reconcile([])
    return engine


def names(engine: RayEngine) -> list[str]:
    return [node.machine.name for node in engine.nodes()]


def test_machines_are_as_ray_says(ray_bed: RayBed) -> None:
    machines = {node.machine.name: node.machine for node in ray_bed.engine().nodes()}
    assert sorted(machines) == ["head", "n0"]
    assert machines["n0"].capacity["cpu"] == 1
    assert machines["n0"].capacity["only-n0"] == 1000
    assert machines["n0"].capacity["memory"] > 2**20
    assert dict(machines["n0"].labels) == {"called": "n0"}
    assert machines["head"].labels["ray-head"] == "true"


def test_nodes_are_told_by_their_names_whatever_their_ids() -> None:
    seen = NodeNames()
    there = {"Alive": True, "Resources": {"CPU": 1}, "NodeManagerAddress": "127.0.0.1"}
    found = [there | {"NodeID": key, "NodeName": name} for key, name in ("3a", "1c", "2b")]
    assert seen.look(found) == []
    assert [row["name"] for row in seen.rows()] == ["a", "b", "c"]
    assert seen.look(found[1:]) == ["3"]
    assert [row["name"] for row in seen.rows()] == ["b", "c"]


@pytest.mark.deep
def test_tasks_run_where_they_are_told_to(ground: Ground, ray_bed: RayBed) -> None:
    engine = fresh(ray_bed)
    script = "cut -d' ' -f4 /proc/$PPID/stat"  # who started the worker that started this
    there = dict(zip(new_attempts()[:2], ("head", "n0"), strict=True))
    for attempt, name in there.items():
        engine.launch([assign(attempt, name, script)])
    for attempt, name in there.items():
        end_of(ray_bed, engine, attempt)
        said = engine.output(attempt, Stream.OUT, 0, 1000).data.decode()
        assert int(said) == ground.raylet(name)


def test_a_task_sees_nothing_of_the_clusters_secret(ray_bed: RayBed) -> None:
    a, _, _ = new_attempts()
    engine = fresh(ray_bed)
    engine.launch([assign(a, "n0", "env", {"MINE": "1"})])
    end_of(ray_bed, engine, a)
    lines = engine.output(a, Stream.OUT, 0, 100_000).data.decode().splitlines()
    assert "MINE=1" in lines
    assert "FAIRLEAD_MACHINE=n0" in lines
    assert [line for line in lines if line.startswith("RAY_")] == []


def test_a_function_of_a_tenant_with_a_user_does_not_run_as_rays(ray_bed: RayBed) -> None:
    a, _, _ = new_attempts()
    call = {"fairlead.ray": 1, "function": "", "name": "f", "items": [""]}
    engine = fresh(ray_bed)
    engine.launch([replace(assign(a, "n0", call=json.dumps(call)), user="ana")])
    end = end_of(ray_bed, engine, a)
    assert isinstance(end, Ended)
    assert end.cause is Cause.NOT_STARTED
    assert "are to run as ana" in end.message


@pytest.mark.deep
def test_the_cluster_wants_its_secret(ground: Ground) -> None:
    """So what the other tests do, they do with token authentication on."""
    program = f"import ray; ray.init({ground.address!r}, configure_logging=False)"
    env = {**os.environ, "RAY_AUTH_TOKEN": "another-" + "y" * 32}
    wrong = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False
    )
    assert wrong.returncode != 0
    assert "token" in wrong.stderr
    assert SECRET["RAY_AUTH_TOKEN"] not in wrong.stderr


def test_a_killed_node_loses_its_tasks_and_comes_back(ground: Ground, ray_bed: RayBed) -> None:
    a, b, c = new_attempts()
    engine = fresh(ray_bed)
    tasks = [
        ray_bed.assignment(a, Doing.LASTING, "n0"),
        ray_bed.assignment(b, Doing.LASTING, "head"),
    ]
    engine.launch(tasks)
    started(ray_bed, engine, a, b)
    ground.kill("n0")
    end = end_of(ray_bed, engine, a)
    assert isinstance(end, Lost)
    assert end.started
    assert end.machine_at_fault
    wait(ray_bed, lambda: "n0" not in names(engine))
    wait(ray_bed, lambda: not ray_bed.runs(a))  # its worker is gone, and its guardian has seen it
    assert ray_bed.runs(b)
    assert b not in {each.attempt for each in engine.poll() if isinstance(each, Lost)}
    engine.launch([ray_bed.assignment(c, Doing.WELL, "n0")])
    gone = end_of(ray_bed, engine, c)
    assert isinstance(gone, Lost)
    assert not gone.started
    ground.join("n0")
    wait(ray_bed, lambda: "n0" in names(engine))
    again = replace(a, number=2)
    engine.launch([ray_bed.assignment(again, Doing.WELL, "n0")])
    assert isinstance(end_of(ray_bed, engine, again), Ended)


@pytest.mark.deep
def test_a_frozen_node_loses_its_tasks(ground: Ground, ray_bed: RayBed) -> None:
    """Ray leaves the reference of such a task pending for ever."""
    a, _, _ = new_attempts()
    engine = fresh(ray_bed)
    engine.launch([ray_bed.assignment(a, Doing.LASTING, "n0")])
    started(ray_bed, engine, a)
    pid = ground.raylet("n0")
    frozen(pid)
    try:
        end = end_of(ray_bed, engine, a)
        assert isinstance(end, Lost)
        assert end.started
        wait(ray_bed, lambda: "n0" not in names(engine))
        engine.acknowledge(engine.poll())
    finally:
        thawed(pid)
    wait(ray_bed, lambda: not ray_bed.runs(a))  # it sees that it is dead, and ends
    assert not engine.poll()
    ground.kill("n0")
    ground.join("n0")
    wait(ray_bed, lambda: "n0" in names(engine))


def test_a_killed_driver_loses_nothing(ray_bed: RayBed, driven: RemoteEngine) -> None:
    a, _, _ = new_attempts()
    driven.reconcile([])
    assignment = ray_bed.assignment(a, Doing.LASTING, "n0")
    driven.launch([assignment])
    begun(ray_bed, driven, a)
    assert driven.pid is not None
    os.kill(driven.pid, signal.SIGKILL)
    assert reconciled(driven, [assignment]) == []
    assert ray_bed.runs(a)
    driven.launch([assignment])
    started(ray_bed, driven, a)
    driven.cancel([a])
    end = end_of(ray_bed, driven, a)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    assert ray_bed.starts(a) == 1


def test_a_killed_launcher_loses_its_tasks_and_only_them(ray_bed: RayBed) -> None:
    """A new launcher goes on for the service, as those after it do here."""
    a, b, c = new_attempts()
    engine = fresh(ray_bed)
    running, never = (ray_bed.assignment(one, Doing.LASTING, "n0") for one in (a, b))
    engine.launch([running])
    started(ray_bed, engine, a)
    ray.kill(ray_bed.service.launcher())
    wait(ray_bed, lambda: _fails(engine))
    second = ray_bed.engine()
    # The new launcher cannot know whether the one before it had started them.
    assert list(second.reconcile([running, never])) == []
    for attempt in (a, b):
        end = end_of(ray_bed, second, attempt)
        assert isinstance(end, Lost)
        assert end.started
    wait(ray_bed, lambda: not ray_bed.runs(a))
    second.acknowledge(second.poll())
    after = ray_bed.assignment(c, Doing.WELL, "n0")
    third = ray_bed.engine()
    assert list(third.reconcile([after])) == [c]  # this one has known all from its beginning
    third.launch([after])
    assert isinstance(end_of(ray_bed, third, c), Ended)


def test_what_a_killed_worker_ran_ends_with_it(ray_bed: RayBed) -> None:
    a, _, _ = new_attempts()
    engine = fresh(ray_bed)
    worker = ray_bed.folder / "worker"
    like = ray_bed.assignment(a, Doing.LASTING, "n0")
    assert isinstance(like.command, str)
    command = f'echo $PPID > "$W"; {like.command}'
    engine.launch([assign(a, "n0", command, {**dict(like.env), "W": str(worker)})])
    begun(ray_bed, engine, a)  # what it wrote before that is there
    os.kill(int(worker.read_text()), signal.SIGKILL)
    end = end_of(ray_bed, engine, a)
    assert isinstance(end, Lost)
    assert not end.machine_at_fault
    assert not ray_bed.runs(a)


def test_an_older_driver_is_refused(ray_bed: RayBed) -> None:
    a, b, _ = new_attempts()
    first = fresh(ray_bed)
    second = fresh(ray_bed)
    with pytest.raises(EngineError, match="taken over"):
        launched_and_heard(ray_bed, first, a)
    second.launch([ray_bed.assignment(b, Doing.WELL, "n0")])
    assert isinstance(end_of(ray_bed, second, b), Ended)
    assert ray_bed.starts(a) == 0


def launched_and_heard(bed: RayBed, engine: RayEngine, attempt: Attempt) -> None:
    """Launches an attempt and waits for news: the engine tells without waiting for the answer, so
    it may hear only then that it was refused."""
    engine.launch([bed.assignment(attempt, Doing.WELL)])
    wait(bed, lambda: bool(engine.poll()))


def test_another_service_is_refused(ray_bed: RayBed) -> None:
    fresh(ray_bed)
    other = RayBed(ray_bed.folder, RayService(ray_bed.folder, ray_bed.service.namespace))
    with pytest.raises(EngineError, match="another Fairlead service"):
        other.engine()


@pytest.mark.deep
def test_a_stubborn_command_is_forced(ray_bed: RayBed) -> None:
    a, _, _ = new_attempts()
    engine = fresh(ray_bed)
    like = ray_bed.assignment(a, Doing.LASTING, "n0")
    assert isinstance(like.command, str)
    stubborn = f"trap '' TERM; {like.command.replace('; wait', '')}; sleep 1000"
    engine.launch([assign(a, "n0", stubborn, dict(like.env))])
    begun(ray_bed, engine, a)  # and deaf by then
    engine.cancel([a])
    end = end_of(ray_bed, engine, a)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    assert not ray_bed.runs(a)


@pytest.mark.deep
def test_the_end_of_an_output_outlives_its_node(ground: Ground, ray_bed: RayBed) -> None:
    a, _, _ = new_attempts()
    engine = fresh(ray_bed)
    engine.launch([assign(a, "n0", "seq 100000")])
    end_of(ray_bed, engine, a)
    whole = engine.output(a, Stream.OUT, 0, 1_000_000)
    assert whole.data == "".join(f"{n}\n" for n in range(1, 100_001)).encode()
    ground.kill("n0")
    wait(ray_bed, lambda: "n0" not in names(engine))
    tail = engine.output(a, Stream.OUT, -4096, 4096)
    assert (tail.data, tail.size) == (whole.data[-4096:], whole.size)
    ground.join("n0")
    wait(ray_bed, lambda: "n0" in names(engine))


@pytest.mark.deep
def test_a_time_limit_is_told_even_if_the_command_hides_it(ray_bed: RayBed) -> None:
    a, _, _ = new_attempts()
    engine = fresh(ray_bed)
    engine.launch([assign(a, "n0", "trap 'exit 0' TERM; sleep 1000 & wait", limit=Fraction(3))])
    end = end_of(ray_bed, engine, a)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.TIME_LIMIT, 0)


@pytest.mark.deep
def test_a_thousand_tasks(ray_bed: RayBed) -> None:
    engine = fresh(ray_bed)
    a, _, _ = new_attempts()
    attempts = [replace(a, task=task) for task in range(1000)]
    places = ("head", "n0")
    engine.launch([assign(one, places[one.task % 2], "true", cpu="0.5") for one in attempts])
    ended: dict[Attempt, Report] = {}

    def over() -> bool:
        reports = engine.poll()
        ended.update((one.attempt, one) for one in reports if not isinstance(one, Started))
        engine.acknowledge(reports)
        return len(ended) == len(attempts)

    wait(ray_bed, over)
    assert all(isinstance(one, Ended) and one.code == 0 for one in ended.values())
    assert not engine.poll()


@pytest.mark.deep
def test_kills_of_the_driver_at_random_moments(
    ray_bed: RayBed, driven: RemoteEngine, cases: int
) -> None:
    killed: set[int] = set()

    def kill() -> bool:
        pid = driven.pid
        # One that was killed is the engine's until its end is heard of.
        if pid is None or pid in killed:
            return False
        os.kill(pid, signal.SIGKILL)
        killed.add(pid)
        return True

    draw = np.random.Generator(np.random.PCG64(7))
    all_end_once(ray_bed, driven, draw, kill, 24 * cases)


def _fails(engine: RayEngine) -> bool:
    try:
        engine.poll()
    except EngineError:
        return True
    return False
