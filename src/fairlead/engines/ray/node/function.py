"""On a node: calls a function that somebody submitted, and keeps what it returns or raises."""

from __future__ import annotations

import base64
import contextlib
import io
import os
import signal
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray import cloudpickle

from fairlead.engines.local.outputs import MISSING, NOTICE, Missing
from fairlead.engines.ray.line import WORKER, FarEnd
from fairlead.engines.ray.node.command import (
    HERALD,
    LOOK,
    Telling,
    end_without_node,
    launcher_of,
    now,
    tell_started,
)
from fairlead.engines.ray.node.files import path_of, size_and_tail

INLINE = 64 * 1024
"""Bytes of a result up to which the launcher keeps it itself; larger ones stay in the object
store."""

FUNCTIONS = 32
"""Functions that a worker keeps unpickled."""

_functions: OrderedDict[str | tuple[str, int], Any] = OrderedDict()


class _Room:
    """The bytes that are still kept of both outputs. `cut`: whether nothing more is to be, asked
    with how much is."""

    def __init__(self, most: int, cut: Callable[[int], bool]) -> None:
        self.most = self.left = most
        self._cut = cut

    def look(self) -> None:
        """Leaves no more where it is to be cut."""
        if self.left and self._cut(self.most - self.left):
            self.most, self.left = self.most - self.left, 0


class _LazyFile(io.TextIOBase):
    """Text to a file that is made when something is written; no more of it than there is `room`."""

    def __init__(self, spec: dict[str, Any], stream: str, room: _Room) -> None:
        self._spec, self._stream, self._room = spec, stream, room
        self.cut = False
        self._path: Path | None = None
        self._file: Any = None

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self._file is None:
            self._path = path_of(self._spec["service"], self._spec["key"], self._stream)
            self._file = self._path.open("w", encoding="utf-8", buffering=1)
        data, room = text.encode(), self._room
        room.look()
        if len(data) <= room.left:
            room.left -= len(data)
            return int(self._file.write(text))
        if not self.cut:
            self.cut = True
            self._file.write(data[: room.left].decode(errors="ignore") + NOTICE.format(room.most))
            room.left = 0
        return len(text)

    def flush(self) -> None:
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def finish(self) -> dict[str, Any]:
        """Closes it; its size and its last bytes."""
        self.close()
        return {"size": 0, "tail": b""} if self._path is None else size_and_tail(self._path)


class _Herald:
    """Tells the launcher of calls that take longer than a moment, and ends them with their node."""

    def __init__(self) -> None:
        self._wake = threading.Condition()
        self._spec: dict[str, Any] | None = None
        self._began = 0
        self._asleep = False
        threading.Thread(target=self._run, name="herald", daemon=True).start()

    def begin(self, spec: dict[str, Any] | None, began: int = 0) -> None:
        """This is called now, or nothing any more."""
        with self._wake:
            self._spec, self._began = spec, began
            # Waking it for every call would take longer than many calls do.
            if spec is not None and self._asleep:
                self._wake.notify()

    def _run(self) -> None:
        raylet = os.getppid()
        while True:
            with self._wake:
                spec, began = self._spec, self._began
                if spec is None:
                    self._asleep = True
                    self._wake.wait()
                    self._asleep = False
                    continue
            time.sleep(HERALD)
            if self._spec is not spec:
                continue
            tell_started(spec, began)
            while self._spec is spec:
                end_without_node(raylet)
                time.sleep(LOOK)


_heralds: list[_Herald] = []

_lines: dict[str, FarEnd | None] = {}


def run_calls(spec: dict[str, Any], item: Any) -> tuple[dict[str, Any] | None, bytes | None]:
    """Calls the function of a job with the item of this task, tells the launcher how that ended,
    and goes on with the calls that it is handed. Returns how the last one ended where that was
    perhaps not told, as `run_function` does, with the key of its attempt; None where all was."""
    while True:
        end, result = run_function(spec, item)
        end["key"] = spec["key"]
        try:
            line = _line(spec)
            if line is None or result is not None:
                return end, result
            if not line.send((spec["lease"], spec["key"], end)):
                break
        except KeyboardInterrupt:
            break
        try:
            call = _next(line, spec["alone"])
        except (KeyboardInterrupt, OSError, ValueError):
            _hang_up()
            return None, None
        if call is None:
            return None, None
        spec, item = {**spec, "key": call[0]}, call[1]
    _hang_up()
    return end, result


def _next(line: FarEnd, patience: float) -> Any:
    """The next call for this worker; None where there is none. Raises OSError."""
    raylet, until = os.getppid(), time.monotonic() + patience
    while time.monotonic() < until:
        end_without_node(raylet)
        for call in line.receive(LOOK):
            return call
    raise TimeoutError("the launcher says nothing")


def _line(spec: dict[str, Any]) -> FarEnd | None:
    """The line to the launcher, for as long as both live; None where there can be none."""
    which = spec["incarnation"]
    if spec["line"] is None:
        return None
    if which not in _lines:
        _hang_up()
        try:
            _lines[which] = FarEnd(WORKER, *spec["line"])
        except OSError as error:
            sys.stderr.write(f"no line to the launcher: {error}\n")
            _lines[which] = None
    return _lines[which]


def _hang_up() -> None:
    """The next task has a line of its own."""
    for line in _lines.values():
        if line is not None:
            line.close()
    _lines.clear()


def run_function(spec: dict[str, Any], item: Any) -> tuple[dict[str, Any], bytes | None]:
    """Calls the function of a job with the item of this task. How it ended, with what it returned
    if that is short; else that as the second value."""
    began = now()
    # A cluster that was started in the background of a shell ignores interrupts, and soft cancels
    # with them.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not _heralds:
        _heralds.append(_Herald())
    room = _Room(spec["most_output"], Telling(spec))
    out, err = _LazyFile(spec, "stdout", room), _LazyFile(spec, "stderr", room)
    end: dict[str, Any] = {"cause": "exited", "code": 0, "started": began, "message": ""}
    result = b""
    try:
        _heralds[0].begin(spec, began)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            result = _call(spec, item, end)
    except KeyboardInterrupt:
        end.update(cause="stopped", code=int(signal.SIGTERM))
    finally:
        _heralds[0].begin(None)
        end["stdout"], end["stderr"] = out.finish(), err.finish()
        if (out.cut or err.cut) and not end["message"]:
            end["message"] = MISSING[Missing.BEYOND_LIMIT]
    if len(result) <= INLINE:
        end["result"] = result
        return end, None
    end["result_size"] = len(result)
    return end, result


def _call(spec: dict[str, Any], item: Any, end: dict[str, Any]) -> bytes:
    """The result as bytes: "v" and the value, or "e" and the error, pickled; where the task is
    several calls, "m" and the seconds that they took together, with a list of these."""
    name = spec["function"]
    try:
        function = _function(spec)
        call = cloudpickle.loads(_item(spec, item))
    except Exception as error:  # noqa: BLE001 - what cannot be unpickled here is the task's error
        return _pack_error(name, error, end)
    if isinstance(call, list):
        began = time.perf_counter()
        results = [_one(function, name, each, end) for each in call]
        return b"m" + bytes(cloudpickle.dumps((time.perf_counter() - began, results)))
    return _one(function, name, call, end)


def _one(function: Any, name: str, call: Any, end: dict[str, Any]) -> bytes:
    """The result of a call (arguments and keywords, perhaps pickled). Where it is bad, `end` is."""
    try:
        args, kwargs = cloudpickle.loads(call) if isinstance(call, bytes) else call
        return b"v" + bytes(cloudpickle.dumps(function(*args, **kwargs)))
    except SystemExit as error:
        code = _exit_code(error)
        if code:
            end.update(code=code, message=f"{name} called exit({error.code!r})")
        return b"" if code else b"v" + bytes(cloudpickle.dumps(None))
    except Exception as error:  # noqa: BLE001 - a task's own error is its result, told as Ray does
        return _pack_error(name, error, end)


def _pack_error(name: str, error: Exception, end: dict[str, Any]) -> bytes:
    text = traceback.format_exc()
    end.update(code=1, message=f"{type(error).__name__}: {error}"[:500])
    sys.stderr.write(text)
    try:
        return b"e" + bytes(cloudpickle.dumps(ray.exceptions.RayTaskError(name, text, error)))
    except Exception:  # noqa: BLE001 - not every error can be pickled; its text always can
        plain = ray.exceptions.RayTaskError(name, text, RuntimeError(end["message"]))
        return b"e" + bytes(cloudpickle.dumps(plain))


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    return error.code & 255 if isinstance(error.code, int) else 1


def _function(spec: dict[str, Any]) -> Any:
    """The function, unpickled once in the life of this worker, as Ray does."""
    code: str | None = spec.get("code")
    key = code or (spec["service"], spec["key"][0])
    if key in _functions:
        _functions.move_to_end(key)
        return _functions[key]
    if code is None:
        code = ray.get(launcher_of(spec).function.remote(spec["key"][0]))
    _functions[key] = cloudpickle.loads(base64.b64decode(code))
    while len(_functions) > FUNCTIONS:
        _functions.popitem(last=False)
    return _functions[key]


def _item(spec: dict[str, Any], item: Any) -> bytes:
    """The pickled arguments: they came with the call, or are kept in the object store."""
    if isinstance(item, str):
        return base64.b64decode(item)
    references: list[Any] = ray.get(launcher_of(spec).kept.remote(item["kept"]))
    data: bytes = ray.get(references[0])
    return data
