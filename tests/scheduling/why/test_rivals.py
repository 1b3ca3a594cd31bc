"""Rivals are found many at once, and are those whom a look at each by itself finds."""

from __future__ import annotations

import numpy as np
import pytest

from fairlead.model.job import Job
from fairlead.model.selector_syntax import parse_selector
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.state.rows import jobs_kept, limits, machines_there
from fairlead.scheduling.why import rivals
from fairlead.scheduling.why.never import counts, fit_together
from fairlead.scheduling.why.rivals import could_use, together
from tests.service.fairness.stands import core_of, random_cores, submit


def by_itself(core: Core, job: int, machines: list[int]) -> bool:
    """Whether the job in this slot could run a task on one of these, were all empty."""
    state = core.state
    there, demand = machines_there(state), state.demand[job]
    needs, size = state.needs[job], int(together(state.job[[job]])[0])
    allowed = ((state.satisfies[there] & needs) == needs).all(axis=1)
    room = counts(state, there, demand, empty=True).min(axis=1)
    for _, r, limit in limits(state, int(state.job[job]["tenant"]), demand):
        if int(demand[r]) * size > limit:
            return False
    good = allowed & (room > 0)
    return bool(
        good[np.isin(there, machines)].any()
        and fit_together(room[allowed], bool(state.job[job]["spread"])) >= size
    )


@pytest.mark.parametrize("at_once", [1, rivals.AT_ONCE], ids=["one by one", "at once"])
def test_each_is_found_as_by_itself(
    cases: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rivals, "AT_ONCE", at_once)
    met: set[bool] = set()
    for number, core in enumerate(random_cores(500, 5 * cases)):
        jobs, there = jobs_kept(core.state), machines_there(core.state)
        for some in (there, there[::2], there[:1]):
            found = could_use(core.state, jobs, some)
            wanted = [by_itself(core, j, some.tolist()) for j in jobs.tolist()]
            assert found.tolist() == wanted, number
            met |= set(wanted)
    assert met == {False, True}


def test_constraints_that_part_no_machines_part_no_jobs() -> None:
    """Terms without end, some for each job: what they let the jobs use is what counts."""
    zones = {f"m{n}": {"zone": "east" if n % 2 else "west"} for n in range(6)}
    machines = {name: {"cpu": 4} for name in zones}
    core = core_of(machines, (Tenant("loud", limit={"cpu": 3}),), labels=zones)
    many = [
        Job(f"{zone}{n}", {"cpu": 2}, where=parse_selector(f"zone = {zone}, zone != z{n}"), tasks=3)
        for n in range(100)
        for zone in ("east", "west")
    ]
    pairs = [Job("pair", {"cpu": 2}, tenant="loud", gang=2, tasks=2)]
    submit(core, *many, *pairs)
    jobs, there = jobs_kept(core.state), machines_there(core.state)
    east = there[1::2]
    found = could_use(core.state, jobs, east)
    names = [core.ids.job_at[j].name for j in jobs.tolist()]
    assert {name for name, able in zip(names, found.tolist(), strict=True) if able} == {
        name for name in names if name.startswith("east")
    }
    assert found.tolist() == [by_itself(core, j, east.tolist()) for j in jobs.tolist()]
