"""Control groups: nothing leaves them, and their limits hold at once. What this machine does not
have is left out, and named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended, Stream
from fairlead.engines.local import groups as module
from fairlead.engines.local.engine import LocalEngine
from fairlead.engines.local.groups import PROCESSES, Groups, NoGroups, find
from fairlead.engines.local.processes import process
from tests.engines.contract import collect, end_of, started, wait
from tests.engines.local.bed import LocalBed, assign, fixture_bed, fixture_root

__all__ = ["fixture_bed", "fixture_root"]

ROOT = Path(__file__).resolve().parents[3]

A, B = Attempt(1, 0, 1), Attempt(1, 1, 1)

NONE = NoGroups("none here")


def need(bed: LocalBed, controller: str = "") -> Groups:
    """The control groups of the bed's engine."""
    engine = bed.engines[-1] if bed.engines else bed.ready()
    found = engine._groups  # noqa: SLF001 (what the engine uses)
    if found is None:
        pytest.skip("no control groups of version 2 can be had here")
    if controller and controller not in found.controllers:
        pytest.skip(f"control groups have no controller {controller} here")
    return found


FLIGHT = """
import os, sys, time
if os.fork(): os.wait(); sys.exit(0)
os.setsid()
if os.fork(): os._exit(0)
for descriptor in range(3): os.close(descriptor)
open({sign!r}, "w").write(str(os.getpid()))
os.execve("/bin/sleep", ["sleep", "1000"], {{}})
"""


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("user", [None, "nobody"])
def test_what_hides_from_everything_else_is_gone_when_the_end_is_told(
    root: LocalBed, user: str | None, restarted: bool
) -> None:
    """A process that left its session, its parents and its environment."""
    sign, go = root.starting / "pid", root.starting / "go"
    program = FLIGHT.format(sign=str(sign))
    script = f'python3 -S -c "$FLIGHT"; until [ -e {go} ]; do sleep 0.01; done; exit 4'
    engine = root.ready()
    need(root)
    one = assign(A, script, env={"FLIGHT": program}, user=user)
    root.start(engine, one, sign)
    wait(root, lambda: bool(sign.read_text()))
    fled = process(int(sign.read_text()))
    assert fled is not None
    if restarted:
        engine = root.ready(one)
    go.touch()
    end = end_of(root, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, 4)
    left = process(fled.pid)
    assert left is None or left.zombie or left.start != fled.start
    assert not need(root).has(A)


def test_what_nobody_expects_is_stopped_with_its_group(bed: LocalBed) -> None:
    engine = bed.ready()
    groups = need(bed)
    bed.start(engine, assign(A, "setsid sleep 1000 & exec sleep 1000"))
    wait(bed, lambda: groups.members(A) != [])  # it is claimed before it is in its group
    pids = groups.members(A)
    engine = bed.ready()
    wait(bed, lambda: not engine.poll() and not groups.has(A))
    assert not [pid for pid in pids if (one := process(pid)) is not None and not one.zombie]


def test_a_group_that_nobody_claims_is_cleared(bed: LocalBed) -> None:
    bed.ready()
    groups = need(bed)
    bed.close()
    Path(groups.path(B)).parent.mkdir(exist_ok=True)
    Path(groups.path(B)).mkdir()
    stranger = subprocess.Popen(["sleep", "1000"])
    try:
        Path(groups.path(B), "cgroup.procs").write_text(str(stranger.pid))
        engine = bed.ready()
        wait(bed, lambda: not engine.poll() and not groups.has(B))
        assert stranger.wait() == -9
    finally:
        stranger.kill()
        stranger.wait()


def test_without_groups_tasks_run_as_before(bed: LocalBed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.engines.local.engine.find_groups", lambda _: NONE)
    engine = bed.ready()
    assert "none here" in engine.notes
    assert any("memory is checked every" in note for note in engine.notes)
    engine.launch([assign(A, "setsid sleep 1000 & exit 3")])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.code == 3


def test_an_engine_with_groups_follows_what_one_without_started(
    bed: LocalBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.engines.local.engine.find_groups", lambda _: NONE)
    one = assign(A, "exec sleep 1000")
    engine = bed.ready()
    bed.start(engine, one)
    monkeypatch.undo()
    engine = bed.ready(one)
    started(bed, engine, A)
    engine.cancel([A])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED


HOG = "import sys; block = bytearray({} << 20); print('had it')"


@pytest.mark.parametrize("restarted", [False, True])
def test_memory_is_limited_at_once(bed: LocalBed, restarted: bool) -> None:
    """A task that takes too much for a moment is stopped in that moment, and all of it with it."""
    engine = bed.ready()
    need(bed, "memory")
    go = bed.folder / "go"
    script = f"sleep 1000 & until [ -e {go} ]; do sleep 0.01; done; python3 -c '{HOG.format(64)}'"
    one = assign(A, f"{script}; echo survived", demand={"cpu": 1, "memory": 40 << 20})
    bed.start(engine, one)
    if restarted:
        bed.close()
    go.touch()
    if restarted:
        groups = find((bed.state / "local" / "engine").read_text().split()[0])
        assert isinstance(groups, Groups)
        wait(bed, lambda: not groups.members(A))
        engine = bed.ready(one)
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.MEMORY
    assert end.message == "it took more than the 40Mi of memory that it asked for"
    assert engine.output(A, Stream.OUT, 0, 100).data == b""
    end, text = bed.run(assign(B, f"python3 -c '{HOG.format(64)}'", demand={"memory": 1 << 30}))
    assert text == "had it\n"


def test_processes_are_limited_at_once(bed: LocalBed) -> None:
    """A task that starts itself again and again stops nobody else."""
    engine = bed.ready()
    need(bed, "pids")
    bomb = "import os, time\nwhile True:\n  try: os.fork()\n  except OSError: time.sleep(1)"
    engine.launch([assign(A, ("python3", "-S", "-c", bomb))])
    started(bed, engine, A)
    groups = need(bed)
    most = Path(groups.path(A), "pids.current")
    collect(bed, engine, lambda _: int(most.read_text()) > PROCESSES // 2)
    other, text = bed_run(bed, engine, B, "echo fine")
    assert (other.code, text) == (0, "fine\n")
    assert int(most.read_text()) <= PROCESSES
    engine.cancel([A])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    assert not groups.has(A)


def bed_run(bed: LocalBed, engine: LocalEngine, attempt: Attempt, script: str) -> tuple[Ended, str]:
    """The end of a task beside others, and what it wrote."""
    engine.launch([assign(attempt, script)])
    end = end_of(bed, engine, attempt)
    assert isinstance(end, Ended)
    return end, engine.output(attempt, Stream.OUT, 0, 1000).data.decode()


def test_processors_are_shared_by_demand(bed: LocalBed) -> None:
    """Two tasks on one processor, one of which asked for three times as much."""
    engine = bed.ready()
    groups = need(bed, "cpu")
    processor = min(os.sched_getaffinity(0))
    spin = f"exec taskset -c {processor} python3 -S -c 'while True: pass'"
    engine.launch([assign(A, spin, demand={"cpu": 3}), assign(B, spin, demand={"cpu": 1})])
    started(bed, engine, A, B)

    def used(attempt: Attempt) -> int:
        text = Path(groups.path(attempt), "cpu.stat").read_text()
        found = re.search(r"^usage_usec ([0-9]+)$", text, re.MULTILINE)
        assert found is not None
        return int(found[1])

    collect(bed, engine, lambda _: min(used(A), used(B)) > 100_000)
    before = used(A), used(B)
    collect(bed, engine, lambda _: used(B) - before[1] > 1_000_000)
    assert 2 < (used(A) - before[0]) / (used(B) - before[1]) < 4.5


def test_what_is_written_into_a_group(tmp_path: Path) -> None:
    all_of_them = Groups(tmp_path, frozenset({"memory", "pids", "cpu"}))
    like = assign(A, "true", demand={"cpu": 2, "memory": 1 << 20})
    assert all_of_them.limits(like, memory=True) == {
        "cgroup.max.descendants": "0",
        "memory.max": str(1 << 20),
        "memory.oom.group": "1",
        "pids.max": str(PROCESSES),
        "cpu.weight": "200",
    }
    assert "memory.max" not in all_of_them.limits(like, memory=False)
    for cpu, weight in ((0, "1"), (1000, "10000")):
        asked = assign(A, "true", demand={"cpu": cpu})
        limits = all_of_them.limits(asked, memory=True)
        assert (limits["cpu.weight"], "memory.max" in limits) == (weight, False)
    assert Groups(tmp_path, frozenset()).limits(like, memory=True) == {
        "cgroup.max.descendants": "0"
    }


DELEGATED = """
import os, sys, time
from pathlib import Path
from fairlead.engines.interface import Attempt, Ended
from fairlead.engines.local.engine import LocalEngine
from tests.engines.local.bed import CLUSTER, assign
script = "cat /proc/self/cgroup; id -u; setsid sleep 1000 & exit 3"
one = assign(Attempt(1, 0, 1), script)
engine = LocalEngine(Path(sys.argv[1]), CLUSTER, 1.0)
engine.reconcile([])
engine.launch([one])
while not any(isinstance(each, Ended) for each in engine.poll()): time.sleep(0.01)
(end,) = [each for each in engine.poll() if isinstance(each, Ended)]
from fairlead.engines.interface import Stream
sys.stdout.write(engine.output(one.attempt, Stream.OUT, 0, 10000).data.decode())
sys.stdout.write(f"{end.cause.value} {end.code} {engine._groups.has(one.attempt)}\\n")
engine.acknowledge([end])
engine.close()
"""


@pytest.fixture
def delegated(root: LocalBed) -> Iterator[Path]:
    """A group that is given to the user `nobody`, as systemd does it, with one for the service."""
    mount = module._mount()  # noqa: SLF001 (where they are)
    need(root)
    assert mount is not None
    unit = mount / f"fairlead-test-{os.getpid()}"
    service = unit / "service"
    service.mkdir(parents=True)
    for folder in (unit, service):
        os.chown(folder, 65534, 65534)
        for name in ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
            os.chown(folder / name, 65534, 65534)
    yield unit
    service.rmdir()
    unit.rmdir()


def test_a_service_without_root_uses_what_systemd_delegates(
    root: LocalBed, delegated: Path
) -> None:
    state = root.starting / "state"

    caps = [f"--{kind}-caps=+dac_read_search" for kind in ("inh", "ambient")]  # to reach Python
    become = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *caps, "--"]
    if shutil.which(become[0]) is None:
        pytest.skip("there is no setpriv to begin a service with as another user")
    enter = f'echo $$ >{delegated}/service/cgroup.procs; exec "$@"'
    program = ["sh", "-c", enter, "sh", *become, sys.executable, "-c", DELEGATED, str(state)]
    env = dict(os.environ, PYTHONPATH=f"{Path(module.__file__).parents[3]}:{ROOT}")
    done = subprocess.run(program, env=env, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    name = (state / "local" / "engine").read_text().split()[0]
    assert f"0::/{delegated.name}/fairlead-{name}/{A}" in lines
    assert lines[-2:] == ["65534", "exited 3 False"]
    assert not (delegated / f"fairlead-{name}").exists()


def test_where_there_are_none_it_is_said_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_parents", lambda _: iter([Path("/proc/nothing")]))
    if module._mount() is not None:  # noqa: SLF001 (where they are)
        found = find("x")
        assert isinstance(found, NoGroups)
        assert "Delegate=yes" in found.why
    monkeypatch.setattr(module, "_mount", lambda: None)
    found = find("x")
    assert isinstance(found, NoGroups)
    assert "version 2" in found.why
