"""Another policy, placement rule or other options for a core that is in use: what it knows stays,
what follows from these is made anew."""

from __future__ import annotations

import numpy as np

from fairlead.model.errors import InputError
from fairlead.scheduling.core import Core
from fairlead.scheduling.kernels.change.counts import freshen, plant
from fairlead.scheduling.kernels.change.job_events import rescale, weigh
from fairlead.scheduling.kernels.change.pledges import pledge, release
from fairlead.scheduling.kernels.memory.state import FIELDS, Ints
from fairlead.scheduling.kernels.memory.tables import NEVER, NONE
from fairlead.scheduling.kernels.memory.trail import mix
from fairlead.scheduling.options import Options
from fairlead.scheduling.state.book import Book
from fairlead.scheduling.state.digest import word_of
from fairlead.scheduling.state.rows import jobs_kept
from fairlead.scheduling.transitions import MachineState
from fairlead.sharing.policy import Policy


def reconfigure(
    core: Core, time: int, policy: str | Policy, placement: str, options: Options
) -> Core:
    """A core of its own that knows what `core` knows, and decides by these from then on.

    Machines, tenants, jobs, tasks with their attempts and how long everybody has waited stay.
    Scales and levels are those of the policy. Reservations and pledges end, advice that the rule
    does not follow and guarantees are forgotten; they are made anew as things stand. `core` must
    have said all its decisions, and stays as it is. Raises InputError where the policy, the rule
    or an option cannot be, or the policy has no scale for a job that is there."""
    if core.pending or core.book.rejected:
        raise ValueError("the core has decisions that it did not say")
    if time < core.now:
        raise ValueError(f"a change at {time} comes after {core.now}")
    new = Core(core.ids.units, policy, placement, options, checked=core.checked)
    _copy(core, new)
    book = new.book
    jobs = jobs_kept(book.state)
    spread = book.state.job["spread"][jobs] > 0
    names = [book.name_of(j) for j in jobs.tolist()]
    try:
        scaled = book.scales(book.state.demand[jobs], book.state.needs[jobs], spread, names)
    except InputError as error:
        raise InputError(
            f"{book.scaler.spec} cannot be the policy of the jobs that are there: {error}",
            "cancel these jobs first, or keep the policy",
        ) from error
    handle = book.state.handle
    book.pass_time(time)
    mix(handle, _word(new))
    _end_reservations(book, jobs)
    usable = book.possible_now(jobs, scaled.usable)
    plant(handle)  # stakes are those of the new options
    rescale(handle, jobs, scaled.scale, scaled.unit, usable)
    plant(handle)
    for t in _top(book).tolist():
        tenant = book.state.tenant[t]
        weigh(handle, t, float(tenant["weight"]), float(tenant["weight_low"]))
    for j in jobs.tolist():  # another rule may take what the one before declined
        freshen(handle, j)
    book.pools_changed = True
    return new


def _copy(core: Core, new: Core) -> None:
    """Writes all that `core` knows into a new core of the same resources."""
    mine = new.state.header[0].copy()
    for name in FIELDS:
        setattr(new.state, name, getattr(core.state, name).copy())
    for name in ("fifo", "picky", "tight", "reserve_after", "reserve_for", "filling"):
        new.state.header[0][name] = mine[name]
    new.book.ids = core.ids.copy()
    new.book.ids.find_tasks(new.state)
    if not new.placement.guided:
        new.state.advise(0)
    new.book.labels = core.book.labels.copy()
    new.book.find_scarcity()  # machines may have changed since the last decision
    new.state.widen(new.state.words)  # kernels see the arrays as they are now


def _top(book: Book) -> Ints:
    """The slots of the tenants below nobody."""
    tenants = book.state.tenant[: int(book.state.header[0]["tenants"])]
    return np.flatnonzero((tenants["used"] > 0) & (tenants["parent"] == NONE))


def _end_reservations(book: Book, jobs: Ints) -> None:
    """Nothing is reserved or pledged, and nobody is first in line yet."""
    state = book.state
    machines = state.machine[: int(state.header[0]["machines"])]
    there = machines["state"] != MachineState.GONE
    for m in np.flatnonzero((machines["reserved"] != NONE) & there).tolist():
        pledge(state.handle, m, int(machines["reserved"][m]))  # so that it can be released
        release(state.handle, m)
    machines["reserved"] = NONE
    machines["kept"] = machines["wanted"] = 0
    state.job["reserved"][jobs] = 0
    state.job["kept"][jobs] = 0
    state.tenant["kept"] = 0
    for j in np.flatnonzero(state.job["aside"]).tolist():
        t = int(state.job["tenant"][j])
        while t >= 0:
            state.used[t] -= state.demand[j] * state.job["aside"][j]
            t = int(state.tenant["parent"][t])
    state.owed[:] = state.ending[:] = 0
    state.job["aside"] = 0
    state.tenant["aside"] = NONE
    state.job["due"][jobs] = 0
    state.job["lapses"][jobs] = 0
    state.tenant["rests"] = 0
    for name in ("stint", "owes", "rate"):
        state.tenant[name] = 0
    header = state.header[0]
    header["lapse"] = header["rest"] = NEVER
    if header["reserve_for"] == NEVER:
        header["longest"] = 0
    header["due"] = header["hopeless"] = header["asides"] = 0
    header["stints"] = header["rested"] = 0
    header["first"] = NONE
    header["relook"] = 1
    header["look_at"] = 0  # who waits already may have waited for long enough


def _word(core: Core) -> int:
    """A number for what the core decides by, the same on every machine."""
    said = core.options.plain()
    late = {name: said.pop(name) for name in ("filling", "reserve_for")}
    options = list(said.items())
    if late["reserve_for"] is not None:
        options.append(("reserve_for", late["reserve_for"]))
    if core.options.filling:
        options.append(("filling", True))  # else as a version wrote it that had none
    return word_of((core.book.scaler.spec, core.placement.name, options))
