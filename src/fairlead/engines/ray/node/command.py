"""On a node: runs a command as a process group, and sees to it that nothing of it stays behind."""

from __future__ import annotations

import contextlib
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import ray

from fairlead.engines.local.outputs import MISSING, UNSEEN, Outputs
from fairlead.engines.local.processes import kill, processes, started_with
from fairlead.engines.ray.node.files import path_of, size_and_tail

HERALD = 0.1
"""Seconds after which a task that still runs is told to have started: shorter ones only end."""

LOOK = 0.1
"""Seconds between two looks whether it should stop: Ray's interrupt wakes nobody who waits."""

PART = 8
"""Of what is kept of an attempt, so many parts more until the launcher is told again."""

ANSWER = 5.0
"""Seconds in which the launcher has to say whether an attempt may go on writing."""

PASSED_ON = (
    *("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR"),
    *("VIRTUAL_ENV", "LD_LIBRARY_PATH", "OMP_NUM_THREADS"),
)
"""Variables that a command has from Ray's: the rest may hold secrets, the cluster's own first."""

DEVICES = ("CUDA_", "NVIDIA_", "ROCR_", "HIP_", "HABANA_", "TPU_", "NEURON_", "ONEAPI_")
"""Beginnings of variables with which Ray and drivers say which devices are whose."""

# It tells the guardian (on what is its standard input) its process group before anything of the
# task runs.
BEGIN = 'echo $$ >&0; exec "$@" </dev/null'

# The guardian of a worker: where the worker is killed, it kills the group that ran there. It is
# no child of the worker, so that Ray does not end it together with it. (A shell's background job
# has no standard input, so it is handed over as 3.)
GUARD = """
exec 3<&0
(trap '' INT TERM HUP
 group=
 while read -r line; do group=$line; done
 case $group in [1-9]*) kill -s KILL -- "-$group" 2>/dev/null;; esac) <&3 3<&- >/dev/null 2>&1 &
"""


class _Stop:
    """Set by Ray's soft cancel, which comes as an interrupt."""

    asked = False


_guardian: dict[str, int] = {}

_launchers: dict[str, Any] = {}


def _guard() -> int:
    """The pipe to this worker's guardian, which is started where it is missing."""
    if "pipe" not in _guardian:
        reading, writing = os.pipe()
        subprocess.run(["/bin/sh", "-c", GUARD], stdin=reading, start_new_session=True, check=True)
        os.close(reading)
        _guardian["pipe"] = writing
    return _guardian["pipe"]


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000


def launcher_of(spec: dict[str, Any]) -> Any:
    """The launcher of this attempt: asked for by its name once in the lives of both. Raises
    ValueError where it is gone."""
    which = spec["incarnation"]
    found = _launchers.get(which)
    if found is None:  # two threads of a worker may ask at once: each has what it found
        found = ray.get_actor(spec["launcher"], namespace=spec["namespace"])
        _launchers.clear()
        _launchers[which] = found
    return found


def tell_started(spec: dict[str, Any], time: int) -> None:
    """Tells the launcher that an attempt runs. Nobody waits for it."""
    try:
        launcher_of(spec).started.remote(tuple(spec["key"]), time)
    except (ValueError, ray.exceptions.RayError):
        # The launcher is gone, and Ray is about to end this worker.
        sys.stderr.write("the launcher is gone\n")


class Telling:
    """Tells the launcher how much is kept of what an attempt writes, and hears whether that is to
    be all: after the first MiB, and then each time it is an eighth more, so that one that writes
    much asks seldom, and whoever adds up misses little."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._spec, self._next, self._cut = spec, UNSEEN, False

    def __call__(self, kept: int) -> bool:
        if kept < self._next or self._cut:
            return self._cut
        self._next = kept + max(UNSEEN, kept // PART)
        try:
            asked = launcher_of(self._spec).wrote.remote(tuple(self._spec["key"]), kept)
            self._cut = bool(ray.get(asked, timeout=ANSWER))
        except (ValueError, ray.exceptions.RayError) as error:
            # Where it is gone Ray is about to end this worker; one that is busy is asked again.
            sys.stderr.write(f"nobody says whether to go on writing: {error}\n")
        return self._cut


def end_without_node(raylet: int) -> None:
    """Ends this worker, and with it what it runs, where the node's manager is gone: Ray has given
    the node up, but lets a worker finish its task, which may run elsewhere by now."""
    if os.getppid() != raylet:
        os._exit(1)


def environment(spec: dict[str, Any]) -> dict[str, str]:
    found = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(DEVICES)
    }
    found.update(spec["env"])
    return found


def run_command(spec: dict[str, Any]) -> dict[str, Any]:
    """Runs the command of an attempt; how it ended, with the ends of its outputs."""
    began = now()
    _Stop.asked = False
    signal.signal(signal.SIGINT, _mark_stop)
    service, key = spec["service"], tuple(spec["key"])
    env = environment(spec)
    problem = _problem(spec, env)
    if problem:
        return {"cause": "not_started", "code": 127, "message": problem, "started": None}
    command = spec["command"]
    words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    guard = _guard()
    out, err = (path_of(service, key, stream) for stream in ("stdout", "stderr"))
    other = _as_user(spec["user"])
    with (
        out.open("wb") as out_file,
        err.open("wb") as err_file,
        contextlib.closing(
            Outputs(
                (out_file.fileno(), err_file.fileno()),
                spec["most_output"],
                other.get("user"),
                Telling(spec),
            )
        ) as outputs,
    ):
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", BEGIN, "sh", *words],
                stdin=guard,
                stdout=outputs.writing[0],
                stderr=outputs.writing[1],
                env=env,
                cwd=spec["cwd"],
                start_new_session=True,
                **other,
            )
        finally:
            outputs.close_writing()
        passing = _Passing(outputs, process.pid)
        passing.start()
        try:
            cause = _watch(process.pid, spec, began)
        finally:
            # Whoever it left behind in its group ends with it.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            passing.join()  # it waits for the process as well, which is not reaped until then
            code = process.wait()
            _until_gone(process.pid)
            os.write(guard, b"\n")
        passing.check()
    if cause == "exited" and code < 0:
        cause, code = "signalled", -code
    return {
        "cause": cause,
        "code": abs(code),
        "started": began,
        "message": MISSING.get(outputs.missing, ""),
        "stdout": size_and_tail(out),
        "stderr": size_and_tail(err),
    }


class _Passing(threading.Thread):
    """Passes on what a process writes. Where that fails it ends the process, which would wait for
    ever until somebody reads on."""

    def __init__(self, outputs: Outputs, pid: int) -> None:
        super().__init__(daemon=True)
        self._outputs, self._pid = outputs, pid
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            self._outputs.pass_on(self._pid)
        except Exception as error:  # noqa: BLE001 - whatever it is, `check` raises it
            self._error = error
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)

    def check(self) -> None:
        """Raises what it failed with."""
        if self._error is not None:
            raise self._error


def _mark_stop(*_: object) -> None:
    _Stop.asked = True


def _problem(spec: dict[str, Any], env: dict[str, str]) -> str:
    """Why the command cannot be started, as far as that is seen before."""
    folder, command, user = spec["cwd"], spec["command"], spec["user"]
    if folder is not None and not Path(folder).is_dir():
        return f"there is no folder {folder} on {spec['machine']}"
    if user is not None and user != pwd.getpwuid(os.getuid()).pw_name and os.getuid() != 0:
        return f"Ray does not run as root on {spec['machine']}, so nothing can run as {user}"
    if not isinstance(command, str):
        program = command[0]
        place = Path(folder or "", program) if "/" in program else program
        if shutil.which(place, path=env.get("PATH", os.defpath)) is None:
            return f"there is no program {program} on {spec['machine']}"
    return ""


def _as_user(user: str | None) -> dict[str, Any]:
    if user is None or os.getuid() != 0:
        return {}
    entry = pwd.getpwnam(user)
    groups = os.getgrouplist(user, entry.pw_gid)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}


def _watch(pid: int, spec: dict[str, Any], began: int) -> str:
    """Waits until the process is over, without reaping it: its group's number stays taken. Stops
    it where that is asked, or at its time limit. Why it is over."""
    limit = spec["limit"]
    until = None if limit is None else time.monotonic() + limit
    killed_at: float | None = None
    cause, reported = "exited", False
    raylet = os.getppid()
    handle = os.pidfd_open(pid)
    try:
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        patience = HERALD
        while not poller.poll(patience * 1000):
            patience = LOOK
            end_without_node(raylet)
            if not reported:
                tell_started(spec, began)
                reported = True
            moment = time.monotonic()
            if cause == "exited" and (_Stop.asked or (until is not None and moment >= until)):
                cause = "stopped" if _Stop.asked else "time_limit"
                killed_at = moment + spec["grace"]
                os.killpg(pid, signal.SIGTERM)
            elif killed_at is not None and moment >= killed_at:
                os.killpg(pid, signal.SIGKILL)
            if until is not None and cause == "exited":
                patience = max(0.001, min(LOOK, until - moment))
    finally:
        os.close(handle)
    return cause


def _until_gone(group: int, patience: float = 10.0) -> None:
    """Waits until nothing of a group that was killed runs any more."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            return
        # Who is dead and was not reaped yet by the system's first process counts as gone.
        if not any(one.group == group and not one.zombie for one in processes()):
            return
        time.sleep(0.005)


def answers() -> bool:
    """Whether this node runs anything at all."""
    return True


def sweep(mark: str, patience: float = 10.0) -> int:
    """Kills every process of this node with that attempt's mark in its environment, and waits for
    their ends; how many there still are."""
    end = time.monotonic() + patience
    while True:
        found = [one for one, its in started_with("FAIRLEAD_MARK") if its == mark]
        for one in found:
            with contextlib.suppress(PermissionError):
                kill(one.pid, one.start, signal.SIGKILL)
        if not found or time.monotonic() > end:
            return len(found)
        time.sleep(0.02)
