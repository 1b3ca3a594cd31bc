"""Tasks that wish the engine, each other and the service ill, or merely behave badly."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.engines.interface import Assignment, Attempt, Cause, Ended, Lost, Stream
from fairlead.engines.local.outputs import MISSING, Missing
from fairlead.engines.local.processes import process, processes
from tests.disks import fill, small_disk
from tests.engines.contract import Doing, collect, end_of, started, wait
from tests.engines.local.bed import (
    LocalBed,
    assign,
    fixture_bed,
    fixture_root,
    leftovers,
    of,
    shim_of,
)

__all__ = ["fixture_bed", "fixture_root"]

A, B = Attempt(1, 0, 1), Attempt(1, 1, 1)

FLIGHT = """
import os, sys, time
if os.fork(): sys.exit(0)
os.setsid()
if os.fork(): os._exit(0)
for descriptor in range(3): os.close(descriptor)
open({sign!r}, "w").close()
time.sleep(1000)
"""


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize(
    "leaves",
    [
        "sleep 1000 &",
        "(trap '' TERM HUP; exec sleep 1000) &",
        "setsid sleep 1000 &",
        "setsid sh -c 'sleep 1000 & sleep 1000' &",
        "set -m; sleep 1000 &",
        'python3 -c "$FLIGHT"; until [ -e $SIGN ]; do sleep 0.01; done',
    ],
)
def test_what_a_task_leaves_behind_is_gone_when_its_end_is_told(
    bed: LocalBed, leaves: str, restarted: bool
) -> None:
    go, sign = bed.folder / "go", bed.folder / "sign"
    env = {"FLIGHT": FLIGHT.format(sign=str(sign)), "SIGN": str(sign)}
    ready = bed.folder / "ready"
    command = f"{leaves}\ntouch {ready}; until [ -e {go} ]; do sleep 0.01; done; exit 4"
    assignment = assign(A, command, env=env)
    engine = bed.ready()
    bed.start(engine, assignment, ready)
    assert len(of(bed.state, A)) >= 2
    if restarted:
        engine = bed.ready(assignment)
    go.touch()
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, 4)
    assert of(bed.state, A) == []


def test_only_what_is_its_own_is_killed(bed: LocalBed) -> None:
    stranger = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        engine = bed.ready()
        sign = bed.folder / "sign"
        bed.start(engine, assign(B, f"setsid sleep 1000 & touch {sign}; exec sleep 1000"), sign)
        engine.launch([assign(A, "setsid sleep 1000 & exit 0")])
        end_of(bed, engine, A)
        assert of(bed.state, A) == []
        assert len(of(bed.state, B)) >= 2
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_one_that_ignores_the_gentle_signal_is_killed(bed: LocalBed) -> None:
    sign = bed.folder / "ready"
    command = f"trap '' TERM INT HUP; touch {sign}; while :; do sleep 0.05; done"
    engine = bed.ready()
    bed.start(engine, assign(A, command), sign)
    begin = time.monotonic()
    engine.cancel([A])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.STOPPED, signal.SIGKILL)
    assert time.monotonic() - begin >= 1.0
    assert of(bed.state, A) == []


def test_one_that_ignores_the_gentle_signal_is_killed_where_no_engine_is(bed: LocalBed) -> None:
    sign, heard = bed.folder / "ready", bed.folder / "heard"
    trap = f"trap 'touch {heard}' TERM; touch {sign}"
    assignment = assign(
        A, f"(trap '' TERM; exec sleep 1000) & {trap}; while :; do sleep 0.05; done"
    )
    engine = bed.ready()
    bed.start(engine, assignment, sign)
    engine.cancel([A])
    collect(bed, engine, lambda _: heard.exists())
    bed.close()
    wait(bed, lambda: not bed.runs(A))
    over = end_of(bed, bed.ready(assignment), A)
    assert isinstance(over, Ended)
    assert (over.cause, over.code) == (Cause.STOPPED, signal.SIGKILL)


def test_a_signal_of_its_own_stops_no_task(bed: LocalBed) -> None:
    """Nor does what goes to its whole group begin the time after which its shim kills it."""
    command = "trap 'echo heard' TERM; kill 0; kill -ALRM 0 & sleep 0.2; exit 3"
    end, text = bed.run(assign(A, f"trap '' ALRM; {command}"))
    assert isinstance(end, Ended)
    assert (end.cause, end.code, text) == (Cause.EXITED, 3, "heard\n")


def test_one_that_left_its_group_is_stopped(bed: LocalBed) -> None:
    sign = bed.folder / "ready"
    program = f"import os, time; os.setpgid(0, 0); open({str(sign)!r}, 'w'); time.sleep(1000)"
    engine = bed.ready()
    bed.start(engine, assign(A, ("python3", "-c", program)), sign)
    engine.cancel([A])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.STOPPED, signal.SIGTERM)
    assert of(bed.state, A) == []


def test_one_that_is_halted_is_killed(bed: LocalBed) -> None:
    engine = bed.ready()
    bed.start(engine, assign(A, "kill -STOP 0; sleep 1000"))
    engine.cancel([A])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    assert of(bed.state, A) == []


@pytest.mark.parametrize("restarted", [False, True])
def test_one_that_kills_its_shim_is_lost_and_gone(bed: LocalBed, restarted: bool) -> None:
    go, sign = bed.folder / "go", bed.folder / "sign"
    wait_for = f"touch {sign}; until [ -e {go} ]; do sleep 0.01; done"
    assignment = assign(A, f"{wait_for}; kill -9 $PPID; exec sleep 1000")
    engine = bed.ready()
    bed.start(engine, assignment, sign)
    if restarted:
        engine = bed.ready(assignment)
    go.touch()
    end = end_of(bed, engine, A)
    assert end == Lost(A, True, "its shim was killed, so its exit code is not known", False)
    assert of(bed.state, A) == []


def test_a_shim_that_is_killed_while_nobody_looks_is_lost_and_gone(bed: LocalBed) -> None:
    assignment = bed.assignment(A, Doing.LASTING)
    bed.start(bed.ready(), assignment, bed.starting / str(A))
    bed.close()
    os.kill(shim_of(bed.state, A), signal.SIGKILL)
    engine = bed.ready(assignment)
    end = end_of(bed, engine, A)
    assert isinstance(end, Lost)
    assert end.started
    assert of(bed.state, A) == []


def test_another_process_with_the_number_of_the_shim_is_not_taken_for_it(bed: LocalBed) -> None:
    """The claim is rewritten so that it names a stranger's number with another start, as it is
    after the number was given anew."""
    assignment = bed.assignment(A, Doing.LASTING)
    bed.start(bed.ready(), assignment, bed.starting / str(A))
    bed.close()
    shim = shim_of(bed.state, A)
    stranger = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    try:
        claim = bed.state / "local" / "live" / f"{A}.claim"
        _, start, uid = claim.read_text().split()
        claim.write_text(f"{stranger.pid} {start} {uid}\n")
        found = process(stranger.pid)
        assert found is not None
        assert found.start != int(start)
        engine = bed.ready(assignment)
        end = end_of(bed, engine, A)
        assert isinstance(end, Lost)
        assert end.started
        assert of(bed.state, A) == []
        left = process(shim)
        assert left is None or left.zombie
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_names_reach_no_path(bed: LocalBed) -> None:
    like = assign(A, "echo out")
    evil = "../../../../tmp/evil\n/x"
    engine = bed.ready()
    engine.launch([Assignment(A, "b", evil, evil, like.demand, like.command)])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert end.code == 0
    names = {path.name for path in bed.folder.rglob("*")}
    assert not any("evil" in name for name in names)


def test_much_output_is_kept_and_read_in_parts(bed: LocalBed) -> None:
    engine = bed.ready()
    engine.launch([assign(A, "head -c 20000000 /dev/zero; echo end")])
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    part = engine.output(A, Stream.OUT, 0, 1000)
    assert (len(part.data), part.size) == (1000, 20_000_004)
    assert engine.output(A, Stream.OUT, -4, 1000).data == b"end\n"


def test_what_a_task_has_written_it_cannot_rewrite(bed: LocalBed) -> None:
    _, text = bed.run(assign(A, "echo long text; : > /dev/stdout; echo new >/dev/stdout"))
    assert text == "long text\nnew\n"


def test_a_task_has_no_file_of_the_service_open(bed: LocalBed) -> None:
    end, text = bed.run(assign(A, "ls -l /proc/self/fd | sed 's/.* -> //' | sort"))
    assert isinstance(end, Ended)
    opened = [line for line in text.splitlines() if line.startswith("/") and "/fd" not in line]
    assert opened == ["/dev/null"]


def test_signals_are_as_usual_in_a_task(bed: LocalBed) -> None:
    end, text = bed.run(assign(A, ("grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status")))
    assert isinstance(end, Ended)
    blocked, ignored, caught = (int(line.split()[1], 16) for line in text.splitlines())
    # grep itself catches SIGSEGV; 32 and 33 are the C library's own, which it ignores in children.
    internal = 1 << 31 | 1 << 32
    assert (blocked, ignored & ~internal, caught) == (0, 0, 1 << signal.SIGSEGV - 1)


def test_ends_leave_no_zombies(bed: LocalBed) -> None:
    engine = bed.ready()
    attempts = [Attempt(3, task, 1) for task in range(20)]
    engine.launch([assign(one, "sh -c 'sleep 0.01 &'; true") for one in attempts])
    for one in attempts:
        end_of(bed, engine, one)
    mine = {one.pid for one in processes() if one.parent == os.getpid()}
    wait(bed, lambda: not [p for p in processes() if p.zombie and p.parent in mine])


# As other users: real ones, which only root can become.


def test_a_task_runs_as_its_user_with_that_users_groups_and_home(root: LocalBed) -> None:
    like = pwd.getpwnam("nobody")
    end, text = root.run(assign(A, "id -u; id -g; id -G; echo $HOME $USER; pwd", user="nobody"))
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, 0)
    groups = os.getgrouplist("nobody", like.pw_gid)
    assert text.splitlines()[:4] == [
        str(like.pw_uid),
        str(like.pw_gid),
        " ".join(map(str, groups)),
        f"{like.pw_dir} nobody",
    ]
    assert Path(text.splitlines()[4]).stat().st_uid == like.pw_uid


def test_a_user_reaches_neither_the_state_nor_what_others_wrote(root: LocalBed) -> None:
    engine = root.ready()
    secret = root.state / "journal"
    secret.write_text("secret")
    go = root.folder / "go"
    hold = f"echo secret; echo secret >file; pwd; until [ -e {go} ]; do sleep 0.01; done"
    engine.launch([assign(B, hold, user="daemon")])
    wait(root, lambda: engine.output(B, Stream.OUT, 0, 1000).data.count(b"\n") == 2)
    folder = engine.output(B, Stream.OUT, 7, 1000).data.decode().strip()
    others = engine._records.output(B, Stream.OUT)  # noqa: SLF001 (what the user must not reach)
    shim = shim_of(root.state, B)
    tries = [
        f"cat {secret}",
        f"cat {others}",
        f"cat {folder}/file",
        f"ls {folder}",
        f"ls {root.state}",
        f"ls {root.state}/local/live",
        f"ls {root.state}.work",
        f"cat /proc/{shim}/environ",
        f"cat /proc/{shim}/fd/1",
        f"ls /proc/{shim}/cwd/",
        f"kill -9 {shim}",
        f"kill -9 {os.getpid()}",
        f"touch {root.state}.work/mine",
        "ls /proc/$PPID/cwd/",
        "ls /proc/$PPID/fd/",
        "cat /proc/$PPID/environ",
        "kill -9 $PPID",
    ]
    command = "\n".join(f"{one} && echo {i} worked" for i, one in enumerate(tries))
    engine.launch([assign(A, f"{command}\nexit 0", user="nobody")])
    end = end_of(root, engine, A)
    assert isinstance(end, Ended)
    assert engine.output(A, Stream.OUT, 0, 100_000).data == b""
    assert process(shim) is not None
    go.touch()
    end = end_of(root, engine, B)
    assert isinstance(end, Ended)
    assert end.code == 0


def test_what_a_variable_does_to_a_program_is_the_tasks_own(bed: LocalBed) -> None:
    if shutil.which("cc") is None:
        pytest.skip("there is no compiler to make a wrong library with")
    wrong = bed.folder / "wrong.c"
    wrong.write_text("#include <unistd.h>\n__attribute__((constructor)) void f() { _exit(75); }\n")
    made = ["cc", "-shared", "-fPIC", "-o", str(bed.folder / "wrong.so"), str(wrong)]
    subprocess.run(made, check=True)
    end, _ = bed.run(assign(A, "true", env={"LD_PRELOAD": str(bed.folder / "wrong.so")}))
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, 75)


def test_who_claims_to_be_another_users_is_left_alone(root: LocalBed) -> None:
    engine = root.ready()
    name = (root.state / "local" / "engine").read_text().split()[0]
    sign = root.starting / "pretends"
    pretend = f"FAIRLEAD_RUN={name}:{A} setsid sh -c 'touch {sign}; sleep 1000' & sleep 1000"
    root.start(engine, assign(B, pretend, user="daemon"), sign)
    engine.launch([assign(A, "exit 0", user="nobody")])
    end = end_of(root, engine, A)
    assert isinstance(end, Ended)
    assert of(root.state, A) != []
    engine.cancel([B])
    end_of(root, engine, B)
    for one in of(root.state, A):  # it hid from its own attempt: what the docs say of such
        os.kill(one.pid, signal.SIGKILL)


def test_a_folder_that_the_user_may_not_enter(root: LocalBed) -> None:
    closed = root.folder / "closed"
    closed.mkdir(mode=0o700)
    end, _ = root.run(assign(A, "true", cwd=str(closed), user="nobody"))
    assert isinstance(end, Ended)
    assert end.cause is Cause.NOT_STARTED
    assert str(closed) in end.message


def test_a_working_folder_below_a_closed_one_is_told(root: LocalBed) -> None:
    root.folder.chmod(0o700)
    end, _ = root.run(assign(A, "true", user="nobody"))
    assert isinstance(end, Ended)
    why = "its working folder cannot be entered: Permission denied"
    assert (end.cause, end.message) == (Cause.NOT_STARTED, why)
    assert any("chmod o+x" in note for note in root.engines[-1].notes)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_users_task_is_stopped_found_again_and_forgotten(root: LocalBed, restarted: bool) -> None:
    engine = root.ready()
    one = assign(A, "echo text; setsid sleep 1000 & exec sleep 1000", user="daemon")
    engine.launch([one])
    started(root, engine, A)
    wait(root, lambda: engine.output(A, Stream.OUT, 0, 10).data == b"text\n")
    if restarted:
        engine = root.ready(one)
        started(root, engine, A)
    engine.cancel([A])
    end = end_of(root, engine, A)
    assert isinstance(end, Ended)
    assert end.cause is Cause.STOPPED
    assert of(root.state, A) == []
    engine.acknowledge([end])
    engine.forget([A])
    wait(root, lambda: not list(Path(f"{root.state}.work").iterdir()))


@pytest.fixture
def small_bed(bed: LocalBed) -> Iterator[LocalBed]:
    """A bed whose state folder is a disk of its own, of one megabyte."""
    with small_disk(bed.state, 1):
        yield bed
        engine = bed.ready()
        wait(bed, lambda: not engine.poll() and not leftovers(bed.state))
        bed.close()


def test_a_task_that_fills_the_disk_is_told_to_have_no_whole_output(small_bed: LocalBed) -> None:
    """Its shim has no room for a file on its end, either."""
    engine = small_bed.ready()
    engine.launch([assign(A, "head -c 3000000 /dev/zero; exit 7", cwd="/")])
    end = end_of(small_bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, 7)
    assert end.message == MISSING[Missing.NOT_WRITTEN]
    assert end.started is not None
    assert end.time > end.started
    assert not list((small_bed.state / "local" / "live").glob("*.status"))
    engine.acknowledge([end])
    engine.forget([A])


def test_a_full_disk_starts_nothing_and_loses_nothing(small_bed: LocalBed) -> None:
    bed = small_bed
    go, one, other = (bed.folder / name for name in ("go", "one", "other"))
    script = f"touch {one}; until [ -e {go} ]; do sleep 0.01; done; exit 9"
    waiting = assign(A, script, cwd="/")
    lasting = assign(B, f"touch {other}; exec sleep 1000", cwd="/")
    engine = bed.ready()
    bed.start(engine, waiting, one)
    bed.start(engine, lasting, other)
    big = bed.state / "big"
    fill(big)
    more = assign(Attempt(1, 2, 1), f"touch {bed.starting}/more", cwd="/")
    engine.launch([more])
    end = end_of(bed, engine, more.attempt)
    assert isinstance(end, Lost)
    assert not end.started
    assert not (bed.starting / "more").exists()
    go.touch()
    end = end_of(bed, engine, A)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.EXITED, 9)
    engine.cancel([B])
    end = end_of(bed, engine, B)
    assert isinstance(end, Ended)
    assert (end.cause, end.code) == (Cause.STOPPED, signal.SIGTERM)
    big.unlink()
    again = assign(Attempt(1, 2, 2), "exit 1", cwd="/")
    engine.launch([again])
    end = end_of(bed, engine, again.attempt)
    assert isinstance(end, Ended)
    assert end.code == 1
