"""`fairlead.ray` against a real service on a real Ray cluster: functions in the fair queue.

By its name the last file of the folder that uses the one cluster: it leaves it, which
ends workers that any later file would have to start again.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import ray

import fairlead.ray as fair
from fairlead.client import Client
from fairlead.engines.ray.engine import LAUNCHER, NAMESPACE
from fairlead.model.errors import InputError
from fairlead.wire.kinds import JobState
from tests.engines.ray.ground import Ground
from tests.ports import kept_port
from tests.zygote.forked import Forked

pytestmark = pytest.mark.slow

PATIENCE = 300.0

TENANTS = "tenants:\n- name: ana\n- name: bob\n"


@dataclass
class Running:
    """A service and how to start it again."""

    command: list[str]
    state: Path
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return (self.state / "address").read_text(encoding="utf-8").strip()

    @property
    def token(self) -> str:
        return (self.state / "admin-token").read_text(encoding="utf-8").strip()


def begin(command: list[str]) -> subprocess.Popen[str]:
    process = Forked(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "serving 2 machines (ray)" in line
    return process


@pytest.fixture(scope="module")
def running(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("service")
    (folder / "tenants.yaml").write_text(TENANTS, encoding="utf-8")
    command = ["fairlead", "serve", "--engine", "ray"]
    command += ["--address", ground.address, "--state", str(folder / "state")]
    command += ["--cluster", str(folder / "tenants.yaml")]
    with kept_port() as port:
        command += ["--listen", f"127.0.0.1:{port}"]  # it is killed, and comes back there
        made = Running(command, folder / "state", begin(command))
        yield made
        made.process.terminate()
        assert made.process.wait(PATIENCE) == 0
    assert made.process.stdout is not None
    made.process.stdout.close()
    ray.kill(ray.get_actor(LAUNCHER, namespace=NAMESPACE))


JOINED, ALONE = "joined", "by the service alone"


@pytest.fixture(scope="module", params=[JOINED, ALONE])
def way(request: pytest.FixtureRequest, ground: Ground) -> Iterator[str]:
    """A script that is joined to the Ray cluster, and one that has a token and nothing else."""
    if request.param == ALONE:
        ray.shutdown()
    yield str(request.param)
    if request.param == ALONE:
        ray.init(address=ground.address, log_to_driver=False, configure_logging=False)


@pytest.fixture
def connected(way: str, running: Running) -> Iterator[str]:
    """Such a script, which knows the service."""
    fair.init(running.url, running.token)
    yield way
    fair.shutdown()


def joined(test: Callable[..., None]) -> Callable[..., None]:
    """A test of scripts that are joined to the cluster."""
    marked: Callable[..., None] = pytest.mark.usefixtures("connected")(only(JOINED)(test))
    return marked


def only(way: str) -> pytest.MarkDecorator:
    """Marks a test of scripts of one of the two kinds."""
    return pytest.mark.parametrize("way", [way], indirect=True)


@fair.remote(num_cpus=1, tenant="ana")
def square(x: int) -> int:
    """x²"""
    return x * x


@fair.remote(num_cpus=1, tenant="bob")
def fails(x: object) -> None:
    raise KeyError(x)


def test_a_call_returns_what_the_function_does(connected: str) -> None:
    assert connected
    assert square.submit(7).result(PATIENCE) == 49
    assert fair.get([square.remote(x) for x in range(5)], PATIENCE) == [0, 1, 4, 9, 16]


def test_an_error_is_its_own_and_rays(connected: str) -> None:
    assert connected
    future = fails.submit("k")
    with pytest.raises(KeyError) as caught:
        future.result(PATIENCE)
    assert isinstance(caught.value, ray.exceptions.RayTaskError)
    assert "raise KeyError(x)" in str(caught.value)
    assert isinstance(future.exception(), KeyError)


def test_a_map_is_one_job(connected: str, running: Running) -> None:
    assert connected
    batch = square.map(range(30), together=1)
    assert batch.results(PATIENCE) == [x * x for x in range(30)]
    jobs = {future.job for future in batch.futures}
    assert len(jobs) == 1
    with Client(running.url, running.token) as client:
        job = client.job(str(jobs.pop()))
        assert (job.tasks.finished, job.state) == (30, JobState.FINISHED)


def test_several_calls_are_one_task(connected: str, running: Running) -> None:
    assert connected

    def inverse(x: int) -> float:
        return 1 / x

    far = fair.remote(num_cpus=1, tenant="ana")(inverse)
    batch = far.map([4, 2, 0, 1, 8], together=2)
    with pytest.raises(ZeroDivisionError):
        batch.futures[2].result(PATIENCE)
    rest = [batch.futures[k].result(PATIENCE) for k in (0, 1, 3, 4)]
    assert rest == [0.25, 0.5, 1.0, 0.125]
    with Client(running.url, running.token) as client:
        counts = client.job(str(batch.futures[0].job)).tasks
    assert (counts.finished, counts.failed) == (2, 1)
    with pytest.raises(InputError, match="together=100"):
        far.map([1], together=0)


@pytest.mark.deep
def test_a_map_of_short_calls_makes_several_of_them_a_task(
    connected: str, running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert connected
    # They are short, however long a busy machine takes for them.
    monkeypatch.setattr("fairlead.ray.portions.LONG", PATIENCE)
    monkeypatch.setattr("fairlead.ray.portions.Portions.mark_started", lambda _: None)
    batch = square.map(range(400))
    assert batch.results(PATIENCE) == [x * x for x in range(400)]
    jobs = sorted({str(future.job) for future in batch.futures})
    with Client(running.url, running.token) as client:
        told = [client.job(job) for job in jobs]
    assert {each.state for each in told} == {JobState.FINISHED}
    assert len(told) == 2
    assert sum(each.tasks.finished for each in told) < 100


@pytest.mark.usefixtures("way")
@only(JOINED)
def test_who_lets_go_of_the_service_has_submitted_all_calls(running: Running) -> None:
    fair.init(running.url, running.token)
    batch = square.map(range(100))
    fair.shutdown()
    assert all(future.job for future in batch.futures)


LEAVING = """
import fairlead.ray as fair
fair.remote(num_cpus=1, tenant="ana", name="left")(lambda x: x).map(range(100))
"""


@pytest.mark.deep
def test_a_script_that_ends_has_submitted_all_calls(running: Running) -> None:
    where = {"FAIRLEAD_URL": running.url, "FAIRLEAD_TOKEN": running.token}
    subprocess.run([sys.executable, "-c", LEAVING], env={**os.environ, **where}, check=True)
    with Client(running.url, running.token) as client:
        jobs = [row.name for row in client.jobs(all=True, prefix="left-")]
    assert len(jobs) == 2  # those that are measured, and all others


@pytest.mark.deep
@joined
def test_a_call_that_ends_its_worker_takes_no_other_of_its_task_with_it() -> None:
    def crashes(x: int) -> int:
        if x == 150:
            os._exit(3)
        return x

    futures = fair.remote(num_cpus=1, tenant="ana")(crashes).map(range(200)).futures
    with pytest.raises(fair.TaskFailedError, match="was lost"):
        futures[150].result(3 * PATIENCE)  # it ends eight workers, and as many are started
    assert fair.get(futures[:150] + futures[151:], PATIENCE) == [*range(150), *range(151, 200)]


@joined
def test_large_arguments_and_results() -> None:
    data = bytes(range(256)) * 40_000  # 10 MB: no request to the service may be so long
    turned = fair.remote(num_cpus=1, tenant="ana")(lambda text: text[::-1])
    assert turned.submit(data).result(PATIENCE) == data[::-1]


def test_a_large_result_comes_through_the_service_too(connected: str) -> None:
    assert connected
    long = fair.remote(num_cpus=1, tenant="ana")(lambda n: b"x" * n)
    assert long.submit(3_000_000).result(PATIENCE) == b"x" * 3_000_000


@pytest.mark.usefixtures("connected")
@only(ALONE)
def test_arguments_that_are_too_long_for_the_service_are_refused() -> None:
    with pytest.raises(fair.CallError, match="join the cluster"):
        square.submit(b"x" * 10_000_000)


@joined
def test_a_call_that_is_cancelled() -> None:
    """It hears of it; one that does not is ended with its worker, as by the time limit below."""

    def naps() -> None:
        while True:
            time.sleep(0.05)

    future = fair.remote(num_cpus=1, tenant="ana")(naps).submit()
    with pytest.raises(ray.exceptions.GetTimeoutError):
        future.result(0.5)
    assert future.cancel()
    with pytest.raises(ray.exceptions.TaskCancelledError):
        future.result(PATIENCE)
    assert not future.cancel()


@joined
def test_a_time_limit_of_a_function() -> None:
    sleeps = fair.remote(num_cpus=1, tenant="ana", time_limit=1)(lambda: time.sleep(1000))
    with pytest.raises(fair.TaskFailedError, match="time limit"):
        sleeps.submit().result(PATIENCE)


@joined
def test_a_function_that_ends_its_worker_is_lost() -> None:
    crashes = fair.remote(num_cpus=1, tenant="ana", retries=0)(lambda: os._exit(3))
    with pytest.raises(fair.TaskFailedError, match="was lost"):
        crashes.submit().result(PATIENCE)


@joined
def test_a_function_that_exits() -> None:
    exits = fair.remote(num_cpus=1, tenant="ana", retries=0)(lambda: sys.exit(4))
    with pytest.raises(fair.TaskFailedError, match=r"exit\(4\)"):
        exits.submit().result(PATIENCE)


@joined
def test_a_function_is_tried_again(tmp_path: Path) -> None:
    mark = tmp_path / "tried"

    def second_time() -> str:
        if mark.exists():
            return "well"
        mark.touch()
        raise OSError("not yet")

    assert fair.remote(num_cpus=1, tenant="ana", retries=1)(second_time).submit().result(
        PATIENCE
    ) == "well"  # fmt: skip


@joined
def test_a_constraint_is_kept() -> None:
    where = fair.remote(num_cpus=0.25, tenant="ana")(
        lambda: ray.get_runtime_context().get_node_id()
    )
    nodes = {node["NodeName"]: node["NodeID"] for node in ray.nodes() if node["Alive"]}
    there = [where.options(where=f"called = {name}").submit() for name in ("head", "n0")]
    assert fair.get(there, PATIENCE) == [nodes["head"], nodes["n0"]]


@joined
def test_what_a_function_prints_is_its_output(running: Running) -> None:
    says = fair.remote(num_cpus=1, tenant="ana")(lambda: sys.stdout.write("here I am\n"))
    future = says.submit()
    future.result(PATIENCE)
    with Client(running.url, running.token) as client:
        assert client.output(str(future.job)).data == b"here I am\n"


@joined
def test_wait_and_as_completed(tmp_path: Path) -> None:
    def until(path: Path) -> None:
        while not path.exists():
            time.sleep(0.05)

    waits, go = fair.remote(num_cpus=1, tenant="ana")(until), tmp_path / "go"
    short, long = waits.submit(tmp_path), waits.submit(go)
    done, rest = fair.wait([long, short], timeout=PATIENCE)
    assert (done, rest) == ([short], [long])
    found = fair.as_completed([long, short], PATIENCE)
    assert next(found) is short
    go.touch()
    assert list(found) == [long]


def test_a_mistake_is_told_where_it_is_written() -> None:
    with pytest.raises(InputError, match="write retries"):
        fair.remote(max_retries=3)
    with pytest.raises(InputError, match="constraint"):
        fair.remote(where="zone = ")
    with pytest.raises(InputError, match="not actors"):
        fair.remote(Running)
    with pytest.raises(TypeError, match=r"submit\("):
        square(3)


@joined
def test_an_unknown_tenant_is_refused_and_takes_no_other_with_it() -> None:
    good, bad = square.submit(2), square.options(tenant="eve").submit(3)
    assert good.result(PATIENCE) == 4
    with pytest.raises(fair.CallError, match="eve"):
        bad.result(PATIENCE)


@pytest.mark.deep
@joined
def test_calls_survive_a_kill_of_the_service_and_of_its_driver(
    running: Running, tmp_path: Path
) -> None:
    """The service is killed while calls run and wait; each still runs once."""

    def once(task: int) -> int:
        with (tmp_path / str(task)).open("a") as file:
            file.write("x")
        time.sleep(0.5)
        return task

    batch = fair.remote(num_cpus=0.5, tenant="ana")(once).map(range(24))
    batch.futures[0].wait(PATIENCE)
    os.kill(running.process.pid, signal.SIGKILL)
    running.process.wait()
    assert running.process.stdout is not None
    running.process.stdout.close()
    running.process = begin(running.command)
    assert batch.results(PATIENCE) == list(range(24))
    starts = [(tmp_path / str(task)).read_text() for task in range(24)]
    assert starts == ["x"] * 24
