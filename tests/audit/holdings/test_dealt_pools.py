"""Pools dealt out to tenants: disjoint, usable, everything that anybody can use."""

from __future__ import annotations

import pytest
from hypothesis import given as drawn_from
from hypothesis import settings
from hypothesis import strategies as st

from fairlead.audit.finding import Input, Verdict
from fairlead.audit.holdings.dealing import deal_pools
from fairlead.model.eligibility import holds, may_use
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.tenant import Tenant
from tests.audit.build import audited, given

NODES = [
    *(Machine(f"g{n}", {"cpu": 8, "gpu": 4}, {"kind": "gpu"}) for n in range(1, 7)),
    *(Machine(f"c{n}", {"cpu": 16}, {"kind": "cpu"}) for n in range(1, 10)),
    Machine("dust", {"disk": 1}),
]
JOBS = [
    Job("train", {"cpu": 1, "gpu": 1}),
    Job("index", {"cpu": 2}, where="kind = cpu"),
    Job("scan", {"cpu": 4}),
    Job("huge", {"cpu": 99}),
]


def pools(what: Input) -> dict[str, tuple[str, ...]]:
    """The machines that each tenant brought."""
    return {t.name: t.pool for t in what.cluster.tenants if t.pool is not None}


@settings(max_examples=30, deadline=None)
@drawn_from(seed=st.integers(0, 2**32))
def test_pools_are_disjoint_usable_and_all_that_anybody_can_use(seed: int) -> None:
    before = given(NODES, JOBS)
    after, notes = deal_pools(before, seed)
    owned = pools(after)
    everything = [name for pool in owned.values() for name in pool]
    assert sorted(everything) == sorted(m.name for m in NODES if m.name != "dust")
    machine = {m.name: m for m in NODES}
    for job in after.jobs:
        for name in owned[job.tenant or ""]:
            assert may_use(job, machine[name])
            assert holds(job, machine[name]) >= 1
    assert set(owned) == {"train", "index", "scan"}
    assert notes == (
        f"15 machines are dealt out to 3 tenants by seed {seed}",
        "1 tenant that got no machine is left out",
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_machine_goes_to_who_has_fewest(seed: int) -> None:
    sizes = {
        name: len(pool) for name, pool in pools(deal_pools(given(NODES, JOBS), seed)[0]).items()
    }
    # `scan` could use every machine: nobody got one while having more than it.
    assert max(sizes["train"], sizes["index"]) <= sizes["scan"] + 1


def test_the_seed_decides() -> None:
    first, again, other = (pools(deal_pools(given(NODES, JOBS), seed)[0]) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_tenants_with_several_jobs_keep_their_limits() -> None:
    tenants = [Tenant("a", weight=3, limit={"cpu": 5}), Tenant("b")]
    jobs = [
        Job("x", {"cpu": 1}, tenant="a"),
        Job("y", {"gpu": 1}, tenant="a"),
        Job("z", {"cpu": 1}, tenant="b"),
    ]
    after, _ = deal_pools(given(NODES, jobs, tenants), 5)
    a = next(t for t in after.cluster.tenants if t.name == "a")
    assert a.limit == {"cpu": 5}
    assert [job.tenant for job in after.jobs] == ["a", "a", "b"]
    assert audited("sharing-incentive", after, "tsf").verdict is Verdict.HOLDS


def test_what_cannot_be_dealt_is_refused() -> None:
    tree = [Tenant("a"), Tenant("b", parent="a")]
    with pytest.raises(InputError, match="b is below a"):
        deal_pools(given(NODES, [Job("x", {"cpu": 1}, tenant="b")], tree), 1)
    with pytest.raises(InputError, match="nobody could run a whole task"):
        deal_pools(given(NODES, [Job("x", {"cpu": 99})]), 1)
