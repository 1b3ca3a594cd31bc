"""Tenants are filled: of what a tenant has each job counts no more than it holds, and no less than
its part; splitting its work gives it no more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from fairlead.scheduling.core import Core
from fairlead.scheduling.decisions import Launch
from fairlead.scheduling.dump import dump, load
from fairlead.scheduling.events import JobSubmitted, MachineJoined, TaskFinished, TenantChanged
from fairlead.scheduling.kernels.memory.tables import STAKE
from fairlead.scheduling.options import Options
from fairlead.scheduling.reconfigure import reconfigure
from fairlead.scheduling.state.ids import Unit
from fairlead.scheduling.state.invariants import check
from tests.reference import online_order
from tests.scheduling.agreement import failure
from tests.scheduling.draw import draw
from tests.scheduling.test_dump import header_of, with_header, without

FOUND_OUT = 13
"""The seed of a sequence in which first tasks decide."""


def crowded(
    tenants: Iterable[Tenant],
    jobs: Iterable[Job],
    machines: tuple[int, ...] = (60,),
    *,
    filling: bool = True,
) -> tuple[Core, list[Launch]]:
    """The core of these, and what it launched."""
    core = Core([Unit("cpu")], options=Options(filling=filling))
    for tenant in tenants:
        core.apply(TenantChanged(0, tenant))
    for number, cpu in enumerate(machines):
        core.apply(MachineJoined(0, Machine(f"m{number}", {"cpu": cpu})))
    for job in jobs:
        core.apply(JobSubmitted(0, job))
    launched = [each for each in core.decide() if isinstance(each, Launch)]
    check(core.state)
    return core, launched


def many(tenant: str, count: int, cpu: int = 1, gang: int = 1) -> list[Job]:
    return [
        Job(f"{tenant}{n}", {"cpu": cpu}, tenant=tenant, tasks=500 * gang, gang=gang)
        for n in range(count)
    ]


def held(launched: Iterable[Launch]) -> Counter[str]:
    """The tasks of each tenant, whose jobs begin with its name and a number."""
    return Counter(each.job.rstrip("0123456789") for each in launched)


PARTS = ((1, 100, 30), (1, 40, 30), (1, 20, 30), (1, 10, 30), (2, 100, 40), (9, 100, 54))
"""The weight of a tenant of one job, how many another one has, and how much of 60 is fair."""


@pytest.mark.parametrize(("weight", "split", "fair"), PARTS)
def test_a_tenant_of_many_jobs_has_its_part(weight: int, split: int, fair: int) -> None:
    tenants = [Tenant("a", weight=weight), Tenant("b")]
    _, launched = crowded(tenants, many("a", 1) + many("b", split))
    assert held(launched) == {"a": fair, "b": 60 - fair}


def turned_over(core: Core, running: set[tuple[str, int]], rounds: int) -> Iterator[Counter[str]]:
    """Seven tasks end, drawn, and others come, again and again; what the tenants hold then."""
    random = np.random.default_rng(1)
    for time in range(core.now + 1, core.now + 1 + rounds):
        for job, task in random.permutation(sorted(running))[:7].tolist():
            core.apply(TaskFinished(time, job, int(task)))
            running.remove((job, int(task)))
        running |= {(e.job, e.task) for e in core.decide() if isinstance(e, Launch)}
        yield Counter(job[0] for job, _ in running)


def test_it_stays_so_as_tasks_end() -> None:
    core, launched = crowded([Tenant("a"), Tenant("b")], many("a", 1) + many("b", 100))
    running = {(each.job, each.task) for each in launched}
    for counts in turned_over(core, running, 40):
        assert counts == {"a": 30, "b": 30}
    check(core.state)


def test_both_may_split() -> None:
    _, launched = crowded([Tenant("a"), Tenant("b", weight=2)], many("a", 50) + many("b", 100))
    assert held(launched) == {"a": 20, "b": 40}


def test_tenants_below_a_tenant_count_together_too() -> None:
    teams = [Tenant(f"team{n}", parent="b") for n in range(70)]
    jobs = [Job(f"b{n}", {"cpu": 1}, tenant=f"team{n}", tasks=500) for n in range(70)]
    _, launched = crowded([Tenant("a"), Tenant("b"), *teams], many("a", 1) + jobs)
    assert held(launched) == {"a": 30, "b": 30}


def test_below_a_tenant_its_children_share_by_their_weights() -> None:
    # Of the 30 of b, c with one job and d with 80 have half each: d's jobs do not come first.
    tenants = [Tenant("a"), Tenant("b"), Tenant("c", parent="b"), Tenant("d", parent="b")]
    _, launched = crowded(tenants, many("a", 1) + many("c", 1) + many("d", 80))
    assert held(launched) == {"a": 30, "c": 15, "d": 15}


def test_a_job_elsewhere_does_not_keep_its_tenants_other_one_back() -> None:
    # Nobody else wants m0, where b0 runs 60: b1 has its part of m1 all the same.
    where = {"b0": ("m0",), "b1": ("m1",), "a0": ("m1",)}
    jobs = [Job(n, {"cpu": 1}, tenant=n[0], tasks=500, machines=m) for n, m in where.items()]
    _, launched = crowded([Tenant("a"), Tenant("b")], jobs, machines=(60, 30))
    assert held(each for each in launched if each.machine == "m1") == {"a": 20, "b": 10}


def test_jobs_that_wait_for_full_machines_leave_the_rest_to_others() -> None:
    # Of 10 GPUs a's job and b's nine hold some each; b's job on CPUs shares the 60 with a's.
    gpus = [Job(f"gpus{n}", {"cpu": 1}, tenant="b", tasks=500, machines=("m1",)) for n in range(9)]
    theirs = Job("theirs0", {"cpu": 1}, tenant="a", tasks=500, machines=("m1",))
    cpus = [Job(f"{t}0", {"cpu": 1}, tenant=t, tasks=500, machines=("m0",)) for t in "ab"]
    _, launched = crowded([Tenant("a"), Tenant("b")], [*cpus, *gpus, theirs], machines=(60, 10))
    counts = held(launched)
    assert counts["gpus"] + counts["theirs"] == 10
    assert counts["b"] - counts["a"] == counts["theirs"] - counts["gpus"]


def test_so_do_tenants_at_a_limit() -> None:
    c = Tenant("c", weight=10, parent="b", limit={"cpu": 1})
    tenants = [Tenant("a"), Tenant("b"), c, Tenant("d", parent="b")]
    _, launched = crowded(tenants, [each for t in "acd" for each in many(t, 1)], machines=(79,))
    assert held(launched) == {"a": 39, "c": 1, "d": 39}


def test_what_a_tenants_children_hold_elsewhere_counts_their_part_only() -> None:
    # Below b, c has 60 jobs on m1, which nobody else wants; d's job shares m0 with a's.
    tenants = [Tenant("a"), Tenant("b"), Tenant("c", parent="b"), Tenant("d", parent="b")]
    many_c = [Job(f"c{n}", {"cpu": 1}, tenant="c", tasks=9, machines=("m1",)) for n in range(80)]
    jobs = [Job(f"{t}0", {"cpu": 1}, tenant=t, tasks=500, machines=("m0",)) for t in "ad"]
    core, launched = crowded(tenants, [*jobs, *many_c], machines=(60, 60))
    assert held(launched) == {"a": 40, "c": 60, "d": 20}
    running = {(each.job, each.task) for each in launched}
    for counts in turned_over(core, running, 40):
        assert counts == {"a": 40, "c": 60, "d": 20}
    check(core.state)


def test_a_gang_counts_as_a_whole_at_first() -> None:
    _, launched = crowded([Tenant("a"), Tenant("b")], many("a", 1) + many("b", 40, gang=6))
    assert held(launched) == {"a": 30, "b": 30}


def test_what_is_larger_counts_more() -> None:
    _, launched = crowded([Tenant("a"), Tenant("b")], many("a", 1) + many("b", 40, cpu=3))
    assert held(launched) == {"a": 30, "b": 10}


def test_a_reference_without_first_tasks_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    case = draw(FOUND_OUT)
    assert failure(case) is None
    monkeypatch.setattr(online_order, "first_tasks", lambda _job, _held: 0)
    assert failure(case) is not None


NEWER = (
    *("tenant.stakes", "tenant.beside", "tenant.idle", "tenant.nothing", "tenant.whole"),
    *("tenant.leveled", "tenant.teams", "node.team", "node.turn", "job.turn", "job.whole"),
    *("tenant.beyond", "job.beyond", *(f"stake.{name}" for name in STAKE.names or ())),
    *("whole.filling", "whole.leveled", "whole.turns", "whole.stakes", "whole.free_stake"),
)
"""What dumps of a version without filling do not have."""


def test_a_core_of_a_version_without_filling_goes_on_without_until_it_is_changed() -> None:
    tenants, jobs = [Tenant("a"), Tenant("b")], many("a", 1) + many("b", 100)
    core, launched = crowded(tenants, jobs, filling=False)
    running = {(each.job, each.task) for each in launched}
    header, blobs = header_of(without(dump(core), *NEWER))
    del header["options"]["filling"]
    core = load(with_header(header, blobs))
    check(core.state)
    *_, counts = turned_over(core, running, 20)
    assert counts == {"a": 1, "b": 59}
    new = reconfigure(core, core.now, "tsf", core.placement.name, Options())
    check(new.state)
    *_, counts = turned_over(new, running, 20)
    assert counts == {"a": 30, "b": 30}
    check(new.state)
