"""Jobs that can never run: live shares, what-if, the audit and `why` count the same of them."""

from __future__ import annotations

from random import Random

import pytest

from fairlead.audit.outcome import rule_of
from fairlead.model.job import Job
from fairlead.model.machine import Machine
from fairlead.model.never import why_never
from fairlead.model.tenant import Tenant
from fairlead.service.why.as_live import solve_as_live
from fairlead.service.why.whatif import answer_what_if, live_input_of, take_present
from fairlead.wire.fairness import Shares
from tests.service.fairness.live import Live

MACHINES = (
    Machine("g1", {"cpu": 12, "gpu": 4}, {"zone": "east"}),
    Machine("g2", {"cpu": 12, "gpu": 4}, {"zone": "east"}),
    Machine("c1", {"cpu": 12}, {"zone": "west"}),
)
TENANTS = (Tenant("ops", limit={"cpu": 4}), Tenant("ml"), Tenant("web"))
NEVER = (
    Job("big", {"cpu": 6}, tenant="ops", tasks=2, command=["true"]),
    Job("gang", {"gpu": 4}, tenant="ml", gang=3, tasks=3, command=["true"]),
    Job("parts", {"gpu": "0.6"}, tenant="ml", gang=9, tasks=9, command=["true"]),
    Job("huge", {"gpu": 8}, tenant="ml", tasks=2, command=["true"]),
    Job("lost", {"cpu": 1}, tenant="ml", where="zone = north", tasks=3, command=["true"]),
    Job("alone", {"cpu": 13}, tasks=1, command=["true"]),
)
ABLE = (
    Job("train", {"gpu": 1, "cpu": 1}, tenant="ml", tasks=90, command=["true"]),
    Job("site", {"cpu": 1}, tenant="web", tasks=90, command=["true"]),
)


def live_of(jobs: tuple[Job, ...], tenants: tuple[Tenant, ...] = TENANTS) -> Live:
    live = Live(MACHINES, tenants)
    live.submit(*jobs)
    live.step(seconds=30)
    return live


def shares_of(live: Live) -> Shares:
    return live.stand().shares(jobs=True)


@pytest.mark.parametrize("never", NEVER, ids=lambda job: job.name)
def test_it_makes_nobody_entitled_and_is_named_with_its_reason(never: Job) -> None:
    without = shares_of(live_of(ABLE))
    found = shares_of(live_of((never, *ABLE)))
    was = {tenant.name: tenant for tenant in without.tenants}
    for tenant in found.tenants:
        assert (tenant.fair, tenant.asked) == (was[tenant.name].fair, was[tenant.name].asked)
    (row,) = (job for job in found.jobs if job.name == never.name)
    assert (row.fair, row.fair_tasks, row.guaranteed) == (0, 0, 0)
    (said,) = found.never
    assert said.sentence.startswith(f"{never.name}: it can never run, because ")


def test_all_of_them_are_counted_and_the_first_have_a_reason() -> None:
    live = live_of((*NEVER, *ABLE))
    found = shares_of(live)
    assert len(found.never) == 5
    assert found.never_more == 1
    audit = live.stand().audit()
    assert audit.never == found.never
    named = {each.tenant for each in audit.shortfalls} | {each.tenant for each in audit.below_fair}
    assert not {"ops", "alone"} & named


def test_what_if_says_the_same_and_why() -> None:
    core = live_of((*NEVER, *ABLE)).service.core
    assert core is not None
    given = live_input_of(take_present(core))
    found = answer_what_if(0, given, {"weight": ["ml=2"]}, "tsf", others=frozenset(["lost"]))
    said = found.whatif["warnings_before"]
    assert len(said) == len(NEVER)
    assert "job lost can never run." in said
    assert (
        "job huge can never run: of 3 machines, 1 has no gpu and 2 have too little gpu"
        in " ".join(said)
    )


def drawn(random: Random) -> tuple[Job, ...]:
    """Jobs of which some can never run."""
    jobs = []
    for number in range(random.randint(2, 6)):
        gpu = random.choice([0, 0, 1, 2, 4, 8])
        gang = random.choice([1, 1, 1, 2, 3, 7])
        jobs.append(
            Job(
                f"j{number}",
                {"cpu": random.choice([1, 2, 3, 4, 6, 12, 13]), "gpu": gpu},
                tenant=random.choice(["ops", "ml", "web", None]),
                tasks=gang * random.randint(1, 4),
                gang=gang,
                spread=random.random() < 0.2,
                where=random.choice(["", "", "zone = east", "zone = west", "zone = north"]),
                command=["true"],
            )
        )
    return tuple(jobs)


@pytest.mark.parametrize("seed", range(12))
def test_shares_what_if_and_why_agree_on_drawn_jobs(seed: int) -> None:
    random = Random(seed)
    for _ in range(3):
        jobs = drawn(random)
        live = live_of(jobs)
        found = {row.name: row for row in shares_of(live).jobs}
        core = live.service.core
        assert core is not None
        present = live_input_of(take_present(core))
        given = present.input
        exact = solve_as_live(present, given, rule_of("tsf")).allocation
        never = set(why_never(given.cluster, given.jobs))
        assert never == {job.name for job in jobs if core.why(job.name).never}
        for job in exact.jobs:
            assert found[job.name].fair_tasks == pytest.approx(job.tasks), (seed, jobs)
