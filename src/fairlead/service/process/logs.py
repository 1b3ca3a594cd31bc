"""Structured logs: one line of JSON an event. What is a secret, or somebody's own, is never in
them: of an entry only the fields that are named here are written."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import TextIO

from fairlead.service.journal.entry import Entry
from fairlead.service.process.troubles import Change

MICROSECONDS = 1_000_000


class Level(Enum):
    """The amount that is written."""

    OFF = "off"
    FEW = "few"  # what an administrator wants to know: machines, tenants, tokens, troubles
    ALL = "all"  # every entry of the journal too: several lines for each task


_FEW: dict[str, tuple[str, ...]] = {
    "service_started": ("version", "schema", "policy", "placement"),
    "core_changed": ("policy", "placement", "options"),
    "engine_changed": ("engine",),
    "engine_gone": ("engine", "may_run_twice"),
    "machine_left": ("machine",),
    "machine_drained": ("machine", "back", "why"),
    "machine_quarantined": ("machine", "until", "failures", "why"),
    "quarantine_ended": ("machine",),
    "drain_asked": ("machine", "back"),
    "token_made": ("name", "tenant", "role"),
    "token_revoked": ("name",),
    "reject": ("job", "reason"),
}

_ALL: dict[str, tuple[str, ...]] = _FEW | {
    "job_submitted": ("id", "by"),
    "job_changed": ("job", "tasks"),
    "job_cancelled": ("job",),
    "job_forgotten": ("job", "id"),
    "keys_forgotten": ("before",),
    "launch": ("job", "task", "machine", "attempt"),
    "task_placed": ("id", "job", "task", "attempt", "machine"),
    "stop": ("job", "task", "machine", "attempt"),
    "task_started": ("id", "job", "task", "attempt"),
    "task_finished": ("id", "job", "task", "attempt", "machine", "cause", "code"),
    "task_failed": ("id", "job", "task", "attempt", "machine", "cause", "code"),
    "task_lost": ("id", "job", "task", "attempt", "machine", "cause"),
    "task_stopped": ("id", "job", "task", "attempt", "machine", "cause"),
    "attempt_gone": ("id", "task", "attempt", "machine"),
}
"""Of each kind of entry, the fields that are written. `why` of a task is not: it may quote what the
task wrote."""

_NAMED = {"machine_joined": "machine", "machine_changed": "machine", "tenant_changed": "tenant"}
"""Kinds whose entries hold a tree: of it the name is written."""


class Logs:
    """Writes lines to a stream. From any thread."""

    def __init__(self, stream: TextIO, clock: Callable[[], int], level: Level = Level.FEW) -> None:
        self._stream, self._clock, self.level = stream, clock, level
        self._lock = threading.Lock()

    def event(self, kind: str, **fields: object) -> None:
        """One line, if anything is written at all."""
        if self.level is not Level.OFF:
            self._write([_line(self._clock(), kind, fields)])

    def trouble(self, change: Change) -> None:
        """That something cannot be reached, or can again."""
        if change.why is None:
            self.event(f"{change.part.value}_back", seconds=change.after // MICROSECONDS)
        else:
            self.event(f"{change.part.value}_down", why=_cut(change.why))

    def write_entries(self, entries: Sequence[Entry]) -> None:
        if self.level is Level.OFF:
            return
        names = _ALL if self.level is Level.ALL else _FEW
        lines = []
        for entry in entries:
            if entry.kind in _NAMED:
                tree = entry.body.get(_NAMED[entry.kind])
                name = tree.get("name") if isinstance(tree, dict) else None
                lines.append(_line(entry.time, entry.kind, {_NAMED[entry.kind]: name}, entry.seq))
            elif entry.kind in names:
                said = {
                    name: _short(entry.body[name])
                    for name in names[entry.kind]
                    if name in entry.body
                }
                if entry.kind == "job_submitted":
                    job = entry.body.get("job", {})
                    said |= {"job": job.get("name"), "tenant": job.get("tenant")}
                lines.append(_line(entry.time, entry.kind, said, entry.seq))
        self._write(lines)

    def _write(self, lines: Sequence[str]) -> None:
        """All of them at once: a first start tells of ten thousand tenants."""
        if lines:
            with self._lock:
                self._stream.write("".join(lines))
                self._stream.flush()


def _line(time: int, kind: str, fields: dict[str, object], seq: int | None = None) -> str:
    line: dict[str, object] = {"time": _write_time(time), "event": kind}
    if seq is not None:
        line["seq"] = seq
    return json.dumps(line | fields, ensure_ascii=True, separators=(",", ":")) + "\n"


def _short(value: object) -> object:
    """As JSON has it, each text cut so that it fits into a line."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(name): _short(each) for name, each in value.items()}
    return _cut(str(value))


def _cut(text: str) -> str:
    return text if len(text) <= 300 else text[:297] + "..."


def _write_time(time: int) -> str:
    """2026-11-21T12:00:00.000000Z."""
    moment = datetime.fromtimestamp(time // MICROSECONDS, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{time % MICROSECONDS:06d}Z"
