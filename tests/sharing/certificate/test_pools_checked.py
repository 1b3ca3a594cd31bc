"""Pools of several jobs, with limits and trees: every answer passes the independent check."""

from __future__ import annotations

import random

import pytest

import fairlead
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant


def random_case(seed: int) -> tuple[Cluster, list[Job]]:
    """Two tenants with pools at the top, one of them with tenants below."""
    draw = random.Random(seed)
    machines = [
        Machine(f"m{i}", {"cpu": draw.randint(1, 8), "memory": draw.randint(1, 8)})
        for i in range(4)
    ]
    limit = {"cpu": draw.randint(2, 9)} if draw.random() < 0.5 else {}
    tenants = [
        Tenant("a", pool=["m0", "m1"], limit=limit),
        Tenant("b", pool=["m2", "m3"]),
        Tenant("b1", parent="b", weight=draw.randint(1, 3)),
        Tenant("b2", parent="b"),
    ]
    jobs = [
        Job(
            f"j{i}",
            {"cpu": draw.randint(1, 3), "memory": draw.randint(1, 3)},
            tenant=draw.choice(["a", "a", "b1", "b2", "b"]),
            tasks=draw.choice([None, None, 2, 5]),
            machines=draw.sample([m.name for m in machines], draw.randint(1, 4)),
            spread=draw.random() < 0.2,
        )
        for i in range(draw.randint(2, 6))
    ]
    return Cluster(machines, tenants), jobs


@pytest.mark.parametrize("policy", ["tsf", "drf", "2df", "per-machine-drf", "independent"])
def test_every_answer_with_pools_of_several_jobs_is_certified(policy: str, cases: int) -> None:
    proved = 0
    for seed in range(20 * cases):
        cluster, jobs = random_case(seed)
        try:
            found = fairlead.allocate(cluster, jobs, policy=policy)
        except InputError as refusal:
            assert "pool" in str(refusal)  # noqa: PT017  (one case in ten has a useless pool)
            continue
        assert found.certificate is not None
        proved += found.proof is not None and bool(found.proof.pools)
    assert policy == "independent" or proved >= 10
