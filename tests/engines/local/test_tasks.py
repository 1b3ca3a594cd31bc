"""What a local task finds where it runs, and how its end is told: environment, folders, limits."""

from __future__ import annotations

import os
import re
import signal
from fractions import Fraction
from pathlib import Path

import pytest

from fairlead.engines.interface import Attempt, Cause, Ended, EngineError, Lost, Stream
from fairlead.engines.local.engine import LocalEngine
from fairlead.engines.local.records import disown_all, parse
from fairlead.engines.local.task import DEAD_TIMERS, Task, Timer
from fairlead.engines.people import CannotRunError, person
from tests.engines.contract import Doing, begun, collect, end_of, started, wait
from tests.engines.local.bed import LocalBed, assign, claimed, fixture_bed, of, opened, shim_of

__all__ = ["fixture_bed"]

A, B = Attempt(1, 0, 1), Attempt(1, 7, 2)


def good(end: Ended | Lost) -> bool:
    return isinstance(end, Ended) and (end.cause, end.code) == (Cause.EXITED, 0)


def test_a_task_is_told_who_it_is(bed: LocalBed) -> None:
    names = "JOB JOB_ID TASK ATTEMPT TENANT MACHINE PIECES"
    command = "; ".join(f'echo "$FAIRLEAD_{name}"' for name in names.split())
    end, text = bed.run(assign(B, command, pieces=(("gpu", 1), ("fpga", 0))))
    assert good(end)
    assert text.splitlines() == ["the job", "1", "7", "2", "the tenant", "b", "gpu:1,fpga:0"]


def test_variables_of_the_job_are_set_and_the_services_own_are_not(
    bed: LocalBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRLEAD_TOKEN", "secret")
    monkeypatch.setenv("PASSWORD", "secret")
    env = {"GREETING": "two words 'and' \"signs\" $HOME", "odd.name": "1", "PATH": "/bin:/usr/bin"}
    end, text = bed.run(assign(A, ("env",), env=env))
    assert good(end)
    lines = text.splitlines()
    assert "GREETING=two words 'and' \"signs\" $HOME" in lines
    assert "odd.name=1" in lines
    assert "PATH=/bin:/usr/bin" in lines
    assert "secret" not in text


def test_the_names_of_the_task_win_over_its_jobs(bed: LocalBed) -> None:
    end, text = bed.run(assign(A, "echo $FAIRLEAD_TENANT", env={"FAIRLEAD_TENANT": "another"}))
    assert good(end)
    assert text == "the tenant\n"


@pytest.mark.parametrize("name", ["script", "a script of=odd name"])
def test_a_script_that_names_no_interpreter_is_the_shells(bed: LocalBed, name: str) -> None:
    program = bed.folder / name
    program.write_text("echo it ran with $1\n")
    program.chmod(0o755)
    env = {"PATH": f"/no/such/folder:{bed.folder}:/usr/bin:/bin", "odd.name": "1"}
    end, text = bed.run(assign(A, (name, "x"), env=env))
    assert good(end)
    assert text == "it ran with x\n"


def test_arguments_arrive_as_they_are(bed: LocalBed) -> None:
    words = ("printf", "%s|", "a b", "", "$HOME", "*", "'", "ä\n", "\udcff")
    end, _ = bed.run(assign(A, words))
    assert good(end)
    engine = bed.engines[-1]
    data = engine.output(A, Stream.OUT, 0, 1000).data
    assert data == "a b||$HOME|*|'|ä\n|".encode() + b"\xff|"


@pytest.mark.parametrize("name", ["-x", "a=b"])
def test_programs_with_odd_names_are_not_options(bed: LocalBed, name: str) -> None:
    program = bed.folder / name
    program.write_text("#!/bin/sh\necho it ran\n")
    program.chmod(0o755)
    path = f"{bed.folder}:/usr/bin:/bin"
    words = ("./" + name,) if "=" in name else (name,)
    end, text = bed.run(assign(A, words, env={"PATH": path}, cwd=str(bed.folder)))
    assert good(end), bed.engines[-1].output(A, Stream.ERR, 0, 1000).data
    assert text == "it ran\n"


def test_the_working_folder_is_the_tasks_own_or_the_jobs(bed: LocalBed) -> None:
    end, text = bed.run(assign(A, "pwd; echo kept >file"))
    assert good(end)
    folder = Path(text.strip())
    assert (folder / "file").read_text() == "kept\n"
    engine = bed.engines[-1]
    engine.acknowledge([end])
    engine.poll()
    assert folder.is_dir()
    engine.forget([A])
    wait(bed, lambda: not folder.exists())
    end, text = bed.run(assign(B, "pwd", cwd=str(bed.starting)))
    assert (good(end), text) == (True, f"{bed.starting}\n")


def test_an_empty_working_folder_goes_with_the_end(bed: LocalBed) -> None:
    end, text = bed.run(assign(A, "pwd"))
    bed.engines[-1].acknowledge([end])
    wait(bed, lambda: not Path(text.strip()).exists())


@pytest.mark.parametrize(
    ("command", "cwd", "says"),
    [
        (("no-such-program",), None, "there is no program 'no-such-program'"),
        (("/etc/passwd",), None, "'/etc/passwd' cannot be run"),
        ("true", "/no/such/folder", "the folder '/no/such/folder' cannot be entered"),
        (("true", "\ud800"), None, "surrogates not allowed"),
        ("x" * (128 * 1024), None, "Argument list too long"),
    ],
)
def test_what_could_not_be_started_says_why(
    bed: LocalBed, command: str | tuple[str, ...], cwd: str | None, says: str
) -> None:
    end, _ = bed.run(assign(A, command, {"PATH": "/usr/bin:/bin"}, cwd))
    assert isinstance(end, Ended)
    assert end.cause is Cause.NOT_STARTED
    assert says in end.message


@pytest.mark.parametrize("code", [0, 1, 125, 126, 127, 128, 193, 255])
def test_every_exit_code_is_told(bed: LocalBed, code: int) -> None:
    end, _ = bed.run(assign(A, f"exit {code}"))
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, code)


def test_a_signal_of_another_is_told(bed: LocalBed) -> None:
    end, _ = bed.run(assign(A, "kill -SEGV $$"))
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.SIGNALLED, signal.SIGSEGV)


def test_a_call_is_refused_with_a_sentence(bed: LocalBed) -> None:
    like = assign(A, "true")
    engine = bed.ready()
    call = type(like)(A, "b", "job", "tenant", like.demand, call="pickled")
    engine.launch([call])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.NOT_STARTED
    assert "call" in end.message


def test_a_task_that_heeds_the_gentle_signal_is_stopped_by_it(bed: LocalBed) -> None:
    sign = bed.folder / "ready"
    command = f"trap 'echo heard; exit 5' TERM; touch {sign}; while :; do sleep 0.05; done"
    engine = bed.ready()
    bed.start(engine, assign(A, command), sign)
    engine.cancel([A])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.STOPPED, 5)
    assert engine.output(A, Stream.OUT, 0, 100).data == b"heard\n"


def test_the_time_limit_holds_across_a_restart(bed: LocalBed) -> None:
    sign = bed.folder / "sign"
    assignment = assign(A, f"touch {sign}; exec sleep 1000", time_limit=Fraction(3, 2))
    bed.start(bed.ready(), assignment, sign)
    engine = bed.ready(assignment)
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.TIME_LIMIT
    assert end.started is not None
    assert 1.4e6 <= end.time - end.started < 60e6


def test_why_it_was_stopped_survives_a_restart(bed: LocalBed) -> None:
    sign, heard = bed.folder / "sign", bed.folder / "heard"
    trap = f"trap 'touch {heard}' TERM; touch {sign}"
    assignment = assign(A, f"{trap}; while :; do sleep 0.05; done")
    engine = bed.ready()
    bed.start(engine, assignment, sign)
    engine.cancel([A])
    collect(bed, engine, lambda _: heard.exists())
    again = bed.ready(assignment)
    end = end_of(bed, again, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED


def test_gpus_are_shown_by_index_counted_over_the_machines(bed: LocalBed) -> None:
    end, text = bed.run(assign(A, "echo $CUDA_VISIBLE_DEVICES", pieces=(("gpu", 1),)))
    assert good(end)
    assert text == "3\n"  # machine a, which comes first, has 0 and 1
    end, text = bed.run(assign(B, 'echo "${CUDA_VISIBLE_DEVICES-unset}"'))
    assert text == "\n"


TAKES = "import time; block = bytearray(64 << 20); print(1, flush=True); time.sleep({})"


def test_who_takes_more_memory_than_its_demand_is_stopped(bed: LocalBed) -> None:
    demand = {"cpu": 1, "memory": 40 << 20}
    end, _ = bed.run(assign(A, ("python3", "-c", TAKES.format(1000)), demand=demand))
    assert isinstance(end, Ended)
    assert end.cause is Cause.MEMORY
    found = re.fullmatch(r"it took ([0-9.]+)Mi of memory, and asked for 40Mi", end.message)
    assert found is not None, end.message
    assert 64 <= float(found[1]) < 200


def two_that_take(seconds: int) -> str:
    """Two processes, one in a session of its own, which have their memory for so long."""
    takes = TAKES.format(seconds)
    return f"python3 -c '{takes}' & setsid python3 -c '{takes}' & wait"


def test_memory_of_children_counts_and_enough_is_enough(bed: LocalBed) -> None:
    small, large = {"cpu": 1, "memory": 100 << 20}, {"cpu": 1, "memory": 1 << 30}
    end, _ = bed.run(assign(A, two_that_take(1000), demand=small))
    assert isinstance(end, Ended)
    assert end.cause is Cause.MEMORY
    end, _ = bed.run(assign(B, two_that_take(3), demand=large))
    assert good(end)


def test_memory_is_not_limited_where_that_is_off(bed: LocalBed) -> None:
    demand = {"cpu": 1, "memory": 1}
    engine = bed.ready(limit_memory=False)
    engine.launch([assign(A, "sleep 1.5", demand=demand)])
    assert good(end_of(bed, engine, A))


def test_output_can_be_followed(bed: LocalBed) -> None:
    go = bed.folder / "go"
    command = f"echo one; until [ -e {go} ]; do sleep 0.01; done; echo two"
    engine = bed.ready()
    engine.launch([assign(A, command)])
    wait(bed, lambda: engine.output(A, Stream.OUT, 0, 10).data == b"one\n")
    assert not engine.output(A, Stream.OUT, 4, 10).over
    assert engine.output(A, Stream.OUT, 4, 10).data == b""
    go.touch()
    end_of(bed, engine, A)
    rest = engine.output(A, Stream.OUT, 4, 10)
    assert (rest.data, rest.offset, rest.size, rest.over) == (b"two\n", 4, 8, True)


def test_a_second_engine_over_the_same_folder_is_refused(
    bed: LocalBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = bed.ready()
    monkeypatch.setattr("fairlead.engines.local.spawner_link.PATIENCE", 0.3)
    second = LocalEngine(bed.state)
    with pytest.raises(EngineError, match="another service"):
        second.reconcile([])
    second.close()
    monkeypatch.undo()
    first.launch([assign(A, "true")])
    assert good(end_of(bed, first, A))


def test_many_outputs_and_records_leave_nothing(bed: LocalBed) -> None:
    engine = bed.ready()
    attempts = [Attempt(job, 0, 1) for job in range(995, 1005)]
    engine.launch([assign(one, "echo x") for one in attempts])
    for one in attempts:
        engine.acknowledge([end_of(bed, engine, one)])
    engine.forget(attempts)
    bed.close()
    left = [
        path
        for path in (bed.state / "local").rglob("*")
        if path.is_file() and path.name not in ("lock", "engine")
    ]
    assert left == []


def test_forgotten_folders_that_were_not_removed_are_removed_later(bed: LocalBed) -> None:
    end, text = bed.run(assign(A, "pwd; touch file"))
    engine = bed.engines[-1]
    engine.acknowledge([end])
    for stream in ("stdout", "stderr"):
        (bed.state / "local" / "output" / "0" / f"{A}.{stream}").unlink()
    assert Path(text.strip()).exists()
    bed.ready()
    wait(bed, lambda: not Path(text.strip()).exists())


def test_only_root_becomes_another_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 12345)
    with pytest.raises(CannotRunError, match="does not run as root, so it cannot"):
        person("nobody", "it cannot")


def test_a_user_that_is_not_there(bed: LocalBed) -> None:
    end, _ = bed.run(assign(A, "true", user="no-such-user"))
    assert isinstance(end, Ended)
    assert end.cause is Cause.NOT_STARTED
    assert end.message == 'there is no user "no-such-user" on this machine'


def test_what_is_running_is_found_when_the_spawner_was_killed(bed: LocalBed) -> None:
    engine = bed.ready()
    one, other = bed.assignment(A, Doing.LASTING), assign(B, "true")
    engine.launch([one])
    begun(bed, engine, A)
    spawner = engine._spawner  # noqa: SLF001  what is to be killed
    assert spawner is not None
    os.kill(spawner.pid, signal.SIGKILL)

    def gone() -> bool:
        try:
            engine.poll()
        except EngineError:
            return True
        return False

    wait(bed, gone)
    with pytest.raises(EngineError):
        engine.launch([other])
    assert list(engine.reconcile([one, other])) == [B]
    started(bed, engine, A)
    engine.launch([other])
    assert good(end_of(bed, engine, B))
    engine.cancel([A])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    assert not of(bed.state, A)


def reboot(bed: LocalBed) -> None:
    """Make the engine believe that the machine was started anew since it last ran. Nothing of
    before runs then, shims least of all."""
    bed.close()
    for claim in (bed.state / "local" / "live").glob("*.claim"):
        attempt = parse(claim.stem)
        shim = claimed(bed.state, attempt) if attempt else None
        if shim is not None:
            os.killpg(shim, signal.SIGKILL)
    file = bed.state / "local" / "engine"
    name, _, owner = file.read_text().split()
    file.write_text(f"{name} 00000000-0000-0000-0000-000000000000 {owner}\n")


def test_after_a_start_of_the_machine_nothing_unwritten_is_believed(bed: LocalBed) -> None:
    running, ended, unclaimed = (assign(Attempt(5, task, 1), "exit 3") for task in range(3))
    running = assign(running.attempt, "exec sleep 1000")
    engine = bed.ready()
    bed.start(engine, running)
    engine.launch([ended])
    end = end_of(bed, engine, ended.attempt)
    reboot(bed)
    for _ in range(2):  # what was said once is said again, though the machine is up since
        engine = bed.ready(running, ended, unclaimed)
        assert list(engine.reconcile([running, ended, unclaimed])) == []
        assert end_of(bed, engine, ended.attempt) == end
        for one in (running, unclaimed):
            lost = end_of(bed, engine, one.attempt)
            assert isinstance(lost, Lost)
            assert lost.started
            assert not lost.machine_at_fault


def test_after_a_start_of_the_machine_what_never_started_is_known(bed: LocalBed) -> None:
    one = assign(A, "true")
    engine = bed.ready()
    assert list(engine.reconcile([one])) == [A]
    reboot(bed)
    engine = bed.ready(one)
    assert list(engine.reconcile([one])) == [A]
    engine.launch([one])
    assert good(end_of(bed, engine, A))


def test_what_is_found_again_is_followed_with_few_open_files(
    bed: LocalBed, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = bed.folder / "go"
    attempts = [Attempt(2, task, 1) for task in range(4)]
    waiting = f"until [ -e {go} ]; do sleep 0.05; done; exit 6"
    batch = [assign(one, f"echo >>{bed.starting}/{one}; {waiting}") for one in attempts]
    engine = bed.ready()
    engine.launch(batch)
    begun(bed, engine, *attempts)
    monkeypatch.setattr("fairlead.engines.local.supervisor.DESCRIPTORS", 1 << 40)
    engine = bed.ready(*batch)
    before = opened()
    os.kill(shim_of(bed.state, batch[3].attempt), signal.SIGKILL)
    go.touch()
    for one in batch[:3]:
        end = end_of(bed, engine, one.attempt)
        assert isinstance(end, Ended)
        assert (end.cause, end.code) == (Cause.EXITED, 6)
    assert isinstance(end_of(bed, engine, batch[3].attempt), Lost)
    assert opened() - before == set()


def left_running(bed: LocalBed) -> Path:
    """An attempt that nobody is to expect; once it is told to stop it ends with the file that is
    returned, or by force."""
    sign, go = bed.folder / "sign", bed.folder / "go"
    trap = f"trap 'until [ -e {go} ]; do sleep 0.02; done; exit' TERM"
    bed.start(bed.ready(), assign(A, f"{trap}; touch {sign}; while :; do sleep 0.02; done"), sign)
    return go


@pytest.mark.parametrize("reconciled", [False, True])
def test_what_has_the_name_of_what_nobody_expects_starts_once_that_is_gone(
    bed: LocalBed, reconciled: bool
) -> None:
    """A journal that begins anew gives the numbers of one that is gone, whose tasks still run."""
    go = left_running(bed)
    engine, new = bed.ready(), assign(A, "echo new; sleep 2; exit 3")
    beside = assign(
        B, "exec sleep 1000", time_limit=Fraction(4, 5)
    )  # which is due before the force
    engine.launch([beside, new])
    engine.launch([new])
    if reconciled:  # it is not what runs there
        assert list(engine.reconcile([new, beside])) == [A]
        assert A not in [report.attempt for report in engine.poll()]
        engine.launch([new])
    go.touch()
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    # What was to end the other one by force a second later did not come upon this one.
    assert (end.cause, end.code, end.message) == (Cause.EXITED, 3, "")
    assert engine.output(A, Stream.OUT, 0, 100).data == b"new\n"
    engine.acknowledge([end, end_of(bed, engine, B)])
    assert list(engine.poll()) == []


@pytest.mark.parametrize("aside", [False, True])
def test_a_service_that_starts_again_does_not_take_what_nobody_expects_for_what_has_its_name(
    bed: LocalBed, aside: bool
) -> None:
    """`aside`: the journal began anew while nothing ran, and held the launch before the engine
    could be asked for the first time."""
    go = left_running(bed)
    new = assign(A, "echo new; exit 3")
    if aside:
        bed.close()
        disown_all(bed.state / "local" / "live")
    else:
        bed.ready().launch([new])
    engine = bed.ready(new)
    assert A not in [report.attempt for report in engine.poll()]
    assert list(engine.reconcile([new])) == [A]
    engine.launch([new])
    go.touch()
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, 3)
    assert engine.output(A, Stream.OUT, 0, 100).data == b"new\n"
    engine.acknowledge([end])
    assert not list((bed.state / "local" / "live").iterdir())


def test_what_has_such_a_name_and_is_cancelled_meanwhile_never_starts(bed: LocalBed) -> None:
    go = left_running(bed)
    engine = bed.ready()
    engine.launch([bed.assignment(A, Doing.WELL)])
    engine.cancel([A])
    go.touch()
    assert end_of(bed, engine, A) == Lost(A, False, "it was stopped before it started", False)
    assert bed.starts(A) == 0
    assert of(bed.state, A) == []


def test_time_limits_of_attempts_that_are_over_are_not_waited_for(bed: LocalBed) -> None:
    """A tenant has millions of short tasks, each with a limit of years."""
    supervisor = bed.ready()._supervisor  # noqa: SLF001
    limited = assign(Attempt(6, 0, 1), "true", time_limit=Fraction(10**8))
    lasting = Task(limited.attempt, limited)
    supervisor.tasks[lasting.attempt] = lasting
    supervisor._begin(lasting, 0)  # noqa: SLF001
    for number in range(2, 3 * DEAD_TIMERS):
        over = Task(Attempt(6, 0, number), limited)
        supervisor.tasks[over.attempt] = over
        supervisor._begin(over, 0)  # noqa: SLF001
        del supervisor.tasks[over.attempt]
    timers = supervisor._timers._heap  # noqa: SLF001
    assert len(timers) <= DEAD_TIMERS + 2 * len(Timer) + 1
    assert lasting.attempt in {attempt for _, _, attempt, _ in timers}
