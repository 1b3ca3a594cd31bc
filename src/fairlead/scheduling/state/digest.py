"""The digest: a few letters that are the same if and only if the same happened."""

from __future__ import annotations

import hashlib

import numpy as np

from fairlead.scheduling.kernels.memory.state import State
from fairlead.scheduling.kernels.memory.tables import FREE, NEVER
from fairlead.scheduling.state.rows import jobs_kept, machines_there

MACHINE = ("state", "pledged", "tasks", "until")
JOB = (
    *("seq", "gang", "total", "waiting", "held", "over", "next", "launches", "expected"),
    *("patience", "since", "spread", "cancelled", "active", "reserved"),
)
STINT = ("owes", "rate", "part", "alone", "took", "measured", "stale")
LEASE = ("leased", "leased_from", "lapses", "leased_tasks")
TASK = ("number", "state", "machine", "attempt", "launched")


def digest(state: State, more: tuple[int, ...] = ()) -> str:
    """Of all that happened, in its order, and of the state that it left, with `more` that is
    remembered beside it: the same on every machine and under every hash seed."""
    header = state.header[0]
    out = hashlib.blake2b(digest_size=16)

    def add(*columns: object) -> None:
        for column in columns:
            out.update(np.ascontiguousarray(column).astype("<i8").tobytes())

    out.update(int(header["trail"]).to_bytes(8, "little"))
    add([header["now"], header["job_seq"], header["machines"], header["launched"]])
    machines = machines_there(state)
    add(machines, *(state.machine[name][machines] for name in MACHINE))
    add(state.capacity[machines], state.free[machines])
    jobs = jobs_kept(state)
    add(*(state.job[name][jobs] for name in JOB), state.demand[jobs])
    tasks = np.flatnonzero(state.task["state"][: int(header["tasks"])] != FREE)
    seq = state.job["seq"][state.task["job"][tasks]]
    order = np.lexsort((state.task["number"][tasks], seq))
    tasks = tasks[order]
    add(seq[order], *(state.task[name][tasks] for name in TASK))
    out.update(state.task["pieces"][tasks].astype("<u8").tobytes())
    if header["reserve_for"] != NEVER:  # else as an older version took it
        add([header["longest"], header["longest_at"]], *(state.job[name][jobs] for name in LEASE))
        if state.job["aside"][jobs].any():  # else as an older version took it
            add(state.job["aside"][jobs])
        tenants = state.tenant[: int(header["tenants"])]
        add(np.sort(tenants["rests"][tenants["used"] == 1]))
        listed = tenants[(tenants["used"] == 1) & (tenants["stint"] > 0)]
        for name in STINT if len(listed) else ():  # else as an older version took it
            add(np.sort(listed[name]))
    add(np.array(more, np.int64))
    return out.hexdigest()


def word_of(said: object) -> int:
    """A number for what is said in plain values, the same on every machine."""
    whole = hashlib.blake2b(repr(said).encode(), digest_size=8).digest()
    return int.from_bytes(whole, "little", signed=True)
