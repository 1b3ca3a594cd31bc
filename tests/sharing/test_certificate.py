"""The check lets right answers pass and refuses wrong ones, however little is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks.instances import Kind, Spec, model
from fairlead.model.allocation import Allocation
from fairlead.model.errors import CertificateError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.proof import Proof, Round
from fairlead.model.shares import MachineClass, Placement, Stop
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.sharing.certificate import certify, verify
from fairlead.sharing.certificate.tolerances import EXACT
from fairlead.sharing.policy import Policy, View
from tests.reference.instances import Instance, instance, instances
from tests.sharing.corruption import accepted, corruptions

# What is told in sentences, and the prices of a market, which are no part of what is proved.
NOT_CHECKED = ("warnings", "nowhere", "certificate", "proof", "prices")

Case = tuple[Cluster, tuple[Job, ...], str]


def figure_4() -> Case:
    """Figure 4 of the TSF paper."""
    machines = [
        Machine("m1", {"cpu": 9, "memory": 12}),
        Machine("m2", {"cpu": 3, "memory": 4}),
        Machine("m3", {"cpu": 9, "memory": 12}),
    ]
    jobs = (
        Job("u1", {"cpu": 1, "memory": 2}, machines=["m1", "m2"]),
        Job("u2", {"cpu": 3, "memory": 1}, machines=["m2"]),
        Job("u3", {"cpu": 1, "memory": 4}),
    )
    return Cluster(machines), jobs, "tsf"


def everything() -> Case:
    """A tree of tenants with weights and limits, finite jobs, one that spreads, one that can run
    nowhere."""
    machines = [
        *(Machine(f"a{i}", {"cpu": 8, "gpu": 2}, {"zone": "east"}) for i in range(3)),
        *(Machine(f"b{i}", {"cpu": 16}, {"zone": "west"}) for i in range(2)),
    ]
    tenants = [
        Tenant("top", weight=3),
        Tenant("left", parent="top", weight=2, limit={"gpu": 1}),
        Tenant("right", parent="top"),
        Tenant("other", limit={"cpu": 9}),
        Tenant("idle", weight=5),
    ]
    jobs = (
        Job("train", {"cpu": 1, "gpu": 1}, tenant="left"),
        Job("serve", {"cpu": 2}, tenant="left", tasks=3),
        Job("batch", {"cpu": 1}, tenant="right", where="zone = west"),
        Job("copy", {"cpu": 3}, tenant="other", exclude=["b1"]),
        Job("every", {"cpu": 2}, tenant="other", spread=True),
        Job("lost", {"cpu": 1, "gpu": 1}, where="zone = north"),
        Job("own", {"cpu": 2, "gpu": 1}, tasks=1),
    )
    return Cluster(machines, tenants), jobs, "tsf"


def pools(policy: str = "tsf") -> Case:
    """Tenants with pools of several jobs, with a limit, and of one job."""
    machines = [
        *(Machine(f"a{i}", {"cpu": 4, "memory": 8}) for i in range(3)),
        *(Machine(f"b{i}", {"cpu": 8, "memory": 4}) for i in range(3)),
    ]
    tenants = [
        Tenant("x", pool=["a0", "b0"]),
        Tenant("y", pool=["a1", "b1", "b2"], limit={"cpu": 6}),
        Tenant("z", pool=["a2"]),
    ]
    jobs = (
        Job("x1", {"cpu": 1, "memory": 2}, tenant="x"),
        Job("x2", {"cpu": 2, "memory": 1}, tenant="x", machines=["a0", "a1", "b1"]),
        Job("y1", {"cpu": 1, "memory": 1}, tenant="y"),
        Job("z1", {"cpu": 1, "memory": 3}, tenant="z", tasks=2),
    )
    return Cluster(machines, tenants), jobs, policy


def figure_4_by(policy: str) -> Callable[[], Case]:
    """Figure 4 under another policy."""
    return lambda: (*figure_4()[:2], policy)


CASES = {
    "figure 4": figure_4,
    "everything": everything,
    "pools": pools,
    "pooled": figure_4_by("drf"),
    "pools of one machine": lambda: pools("drf"),
    "each machine": figure_4_by("per-machine-drf"),
    "kdf": figure_4_by("kdf(2, cpu=3)"),
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Cluster, tuple[Job, ...], Allocation, Proof]:
    cluster, jobs, policy = CASES[request.param]()
    answer = allocate(cluster, jobs, policy)
    assert answer.proof is not None
    return cluster, jobs, answer, answer.proof


Checked = tuple[Cluster, tuple[Job, ...], Allocation, Proof]


def test_a_right_answer_passes_with_small_figures(case: Checked) -> None:
    cluster, jobs, answer, proof = case
    certificate = certify(cluster, jobs, answer, proof)
    assert certificate.feasibility <= EXACT
    assert certificate.gap is not None
    assert certificate.gap <= EXACT
    assert certificate.assumed == ()
    assert certificate == verify(cluster, jobs, proof)


@pytest.mark.parametrize("part", [1e-6, 0.3])
def test_a_change_anywhere_in_a_proof_is_refused(case: Checked, part: float) -> None:
    cluster, jobs, _, proof = case
    # Another name of a policy is a policy that the check cannot know: see below.
    wrong = corruptions(proof, part, "policy", "pools")
    assert accepted(wrong, partial(verify, cluster, jobs)) == []


@pytest.mark.parametrize("part", [1e-6, 0.3])
@pytest.mark.parametrize("policy", ["tsf", "drf", "per-machine-drf"])
def test_a_change_anywhere_in_the_proof_of_a_pool_is_refused(policy: str, part: float) -> None:
    cluster, jobs, _ = pools()
    proof = proof_of(cluster, jobs, policy)
    assert proof.pools
    # Saying twice, or not at all, that a job has no tasks changes nothing, nor does it matter
    # where the tasks run that a limit stops.
    mute = {
        f"[{p}].placements[{j}]"
        for p, pool in enumerate(proof.pools)
        for j, (_, places) in enumerate(pool.placements)
        if not places
    }
    wrong = (
        (path, replace(proof, pools=pools))
        for path, pools in corruptions(proof.pools, part, "classes", "machine_class")
        if path.split(" ")[0] not in mute
    )
    assert accepted(wrong, partial(verify, cluster, jobs)) == []


@pytest.mark.parametrize("part", [1e-6, 0.3])
def test_a_change_anywhere_in_an_answer_is_refused(case: Checked, part: float) -> None:
    cluster, jobs, answer, proof = case
    wrong = corruptions(answer, part, *NOT_CHECKED)
    assert accepted(wrong, lambda answer: certify(cluster, jobs, answer, proof)) == []


def test_a_proof_of_another_input_is_refused() -> None:
    cluster, jobs, policy = everything()
    proof = proof_of(cluster, jobs, policy)
    others: list[tuple[str, tuple[Cluster, tuple[Job, ...]]]] = []
    for index, machine in enumerate(cluster.machines):
        before, after = cluster.machines[:index], cluster.machines[index + 1 :]
        for cpu in (7, 17):
            other = Machine(machine.name, {**machine.capacity, "cpu": cpu}, machine.labels)
            clusters = Cluster((*before, other, *after), cluster.tenants)
            others.append((f"{machine.name} has {cpu}", (clusters, jobs)))
        others.append((f"no {machine.name}", (Cluster(before + after, cluster.tenants), jobs)))
        moved = Machine(machine.name, machine.capacity, {"zone": "north"})
        others.append(
            (f"{machine.name} moved", (Cluster((*before, moved, *after), cluster.tenants), jobs))
        )
    for index, job in enumerate(jobs):
        before_it, after_it = jobs[:index], jobs[index + 1 :]
        if job.name == "lost":
            continue
        more = Job(job.name, {**job.demand, "cpu": 12}, tenant=job.tenant)
        others.append((f"{job.name} needs more", (cluster, (*before_it, more, *after_it))))
        others.append((f"no {job.name}", (cluster, before_it + after_it)))
    for index, tenant in enumerate(cluster.tenants):
        weighty = Tenant(tenant.name, weight=9, parent=tenant.parent, limit=tenant.limit)
        tenants = (*cluster.tenants[:index], weighty, *cluster.tenants[index + 1 :])
        if tenant.name != "idle":
            others.append((f"{tenant.name} weighs 9", (Cluster(cluster.machines, tenants), jobs)))
        if tenant.limit:
            free = Tenant(tenant.name, weight=tenant.weight, parent=tenant.parent)
            tenants = (*cluster.tenants[:index], free, *cluster.tenants[index + 1 :])
            others.append((f"{tenant.name} is free", (Cluster(cluster.machines, tenants), jobs)))
    assert accepted(others, lambda other: verify(*other, proof)) == []


def proof_of(cluster: Cluster, jobs: tuple[Job, ...], policy: str = "tsf") -> Proof:
    proof = allocate(cluster, jobs, policy).proof
    assert proof is not None
    return proof


@given(instances(), st.randoms(use_true_random=False))
def test_no_number_of_an_answer_can_be_changed_on_random_instances(
    case: Instance, random: Random
) -> None:
    cluster, jobs = case
    assume(jobs)
    answer = allocate(cluster, jobs)
    assert answer.proof is not None
    # Prices may be changed where they matter to nothing, and tasks may run elsewhere where it is
    # not machines that stop them: then the proof still holds.
    part = random.choice([1e-6, 1e-3, 1.0])
    wrong = list(
        corruptions(
            answer.proof,
            part,
            *("policy", "classes", "machine_class", "job_prices", "stops", "frozen", "pools"),
        )
    )
    some = random.sample(wrong, min(len(wrong), 10))
    assert accepted(some, partial(verify, cluster, jobs)) == []


def test_hardly_any_price_can_be_changed(cases: int) -> None:
    """A price of what is worth next to nothing may be: the answer is then proved as before."""
    random = Random(7)
    harmless = tried = 0
    for _ in range(30 * cases):
        cluster, jobs = instance(random)
        if not jobs:
            continue
        proof = proof_of(cluster, jobs)
        wrong = list(
            corruptions(
                proof, 1e-3, "policy", "classes", "placements", "scales", "share", "view", "pools"
            )
        )
        harmless += len(accepted(wrong, partial(verify, cluster, jobs)))
        tried += len(wrong)
    assert harmless < tried / 20


def two_jobs() -> tuple[Cluster, tuple[Job, ...]]:
    """One machine of 10 that two jobs share: 5 each, at the level 1/2."""
    return Cluster([Machine("m", {"cpu": 10})]), (Job("a", {"cpu": 1}), Job("b", {"cpu": 1}))


def by_hand(tasks: float, share: float, price: float, job_price: float = 0.5) -> Proof:
    """A proof that both of `two_jobs` stop at a share."""
    classes = (MachineClass(0, ("m",)),)
    right = proof_of(*two_jobs())
    placements = (("a", (Placement(0, tasks),)), ("b", (Placement(0, tasks),)))
    stops = (Stop(price, machine_class=0, resource="cpu"),)
    only = Round(share, ("a", "b"), (("a", job_price), ("b", job_price)), stops)
    return Proof("tsf", classes, placements, (only,), scales=right.scales)


def test_a_proof_by_hand_passes() -> None:
    assert verify(*two_jobs(), by_hand(5, 0.5, 0.05)).gap == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("proof", "sentence"),
    [
        (by_hand(4, 0.4, 0.05), "bound it by 0.5"),
        # Prices that would bound the lower level are too low for the jobs' shares.
        (by_hand(4, 0.4, 0.04), "costs less"),
        (by_hand(4, 0.4, 0.04, 0.4), "add up to"),
        (by_hand(6, 0.6, 0.06), "of which there is 10"),
        (by_hand(5, 0.6, 0.06), "its rounds give it 0.6"),
    ],
)
def test_a_wrong_level_with_forged_prices_is_refused(proof: Proof, sentence: str) -> None:
    with pytest.raises(CertificateError, match=sentence):
        verify(*two_jobs(), proof)


def test_machines_that_a_job_can_tell_apart_are_no_class() -> None:
    cluster, jobs, policy = everything()
    proof = proof_of(cluster, jobs, policy)
    first, second, *rest = proof.classes
    together = MachineClass(first.index, first.machines + second.machines)
    empty = replace(proof, classes=(together, *rest))
    with pytest.raises(CertificateError, match="apart"):
        verify(cluster, jobs, empty)


def test_who_freezes_without_a_price_is_refused() -> None:
    cluster, jobs = two_jobs()
    right = by_hand(5, 0.5, 0.05).rounds[0]
    half = replace(right, job_prices=(("a", 1.0),), stops=(Stop(0.1, 0, "cpu"),))
    with pytest.raises(CertificateError):
        verify(cluster, jobs, replace(by_hand(5, 0.5, 0.05), rounds=(half,)))


@pytest.mark.parametrize("inflated", [0.0, 1e-12])
def test_a_job_of_no_price_cannot_freeze_early_in_what_looks_like_rounding(
    inflated: float,
) -> None:
    """The third job has a machine of its own and could have twice as much. Its price is so low
    that all shares need only be a little too large for the inequality to close."""
    cluster = Cluster([Machine("m", {"cpu": 10}), Machine("n", {"cpu": 10})])
    jobs = (
        Job("a", {"cpu": 1}, machines=["m"]),
        Job("b", {"cpu": 1}, machines=["m"]),
        Job("c", {"cpu": 1}, machines=["n"]),
    )
    right = proof_of(cluster, jobs)
    column = {machine: c.index for c in right.classes for machine in c.machines}
    tiny = 1e-12
    half = (1 - tiny) / 2
    tasks = 5 * (1 + inflated)
    forged = replace(
        right,
        placements=tuple(
            (name, (Placement(column[machine], tasks),))
            for name, machine in (("a", "m"), ("b", "m"), ("c", "n"))
        ),
        rounds=(
            Round(
                share=tasks / 20,
                frozen=("a", "b", "c"),
                job_prices=(("a", half), ("b", half), ("c", tiny)),
                stops=(
                    Stop(half / 20, column["m"], "cpu"),
                    Stop(tiny / 20, column["n"], "cpu"),
                ),
            ),
        ),
    )
    with pytest.raises(CertificateError, match="job c freezes, but the prices leave it open"):
        verify(cluster, jobs, forged)


TINY = 1e-12


@pytest.mark.parametrize(
    ("limit", "job", "stop"),
    [
        ({}, {}, {"machine_class": 0, "resource": "cpu"}),
        ({}, {"tasks": 4}, {"job": "a"}),
        ({"cpu": 4}, {}, {"tenant": "t", "resource": "cpu"}),
        ({}, {"spread": True}, {"job": "a", "machine_class": 0}),
    ],
    ids=["machine", "tasks", "limit", "spread"],
)
def test_what_exceeds_anything_is_counted_by_its_worth(
    limit: dict[str, int], job: dict[str, Any], stop: dict[str, Any]
) -> None:
    """Job b could have more on its own machine, but its price is so low that a's tasks need only
    exceed what stops them by less than a billionth."""
    each = 1 if stop.keys() == {"machine_class", "resource"} else 10
    cluster = Cluster(
        [Machine(f"m{i}", {"cpu": each}) for i in range(4)] + [Machine("n", {"cpu": 30})],
        [Tenant("t", weight=2, limit=limit), Tenant("c")],
    )
    jobs = (
        Job("a", {"cpu": 1}, tenant="t", machines=["m[0-3]"], **job),
        Job("b", {"cpu": 1}, tenant="c", machines=["n"]),
    )
    right = proof_of(cluster, jobs)
    column = {machine: c.index for c in right.classes for machine in c.machines}
    assert column["m0"] == 0
    scale = {each.job: each.tasks for each in right.scales}
    level = 2 / scale["a"]
    worth = (1 - TINY) / 2
    # What a has too much of is worth as much as all that b could still have.
    excess = TINY * (right.rounds[-1].share - level) / (worth * 2 * level)
    level *= 1 + excess
    forged = replace(
        right,
        placements=(
            ("a", (Placement(0, 4 * (1 + excess)),)),
            ("b", (Placement(column["n"], level * scale["b"]),)),
        ),
        rounds=(
            Round(
                share=level,
                frozen=("a", "b"),
                job_prices=(("a", worth), ("b", TINY)),
                stops=(
                    Stop(worth / scale["a"], **stop),
                    Stop(TINY / scale["b"], column["n"], "cpu"),
                ),
            ),
        ),
    )
    with pytest.raises(CertificateError, match="job b freezes, but the prices leave it open"):
        verify(cluster, jobs, forged)


def test_the_last_bits_of_shares_that_are_worth_a_lot_refuse_nobody() -> None:
    """The last of 50 rounds is proved by prices under which the shares of the first ones are worth
    10^8 times its level, and each of these is as exact as doubles are."""
    cluster, jobs = model(Spec(Kind.LOCAL, tenants=5000, classes=100, machines=100_000, seed=1))
    certificate = allocate(cluster, jobs, "tsf").certificate
    assert certificate is not None
    assert certificate.gap is not None
    assert certificate.gap < 2e-3


def test_large_prices_cannot_hide_a_round_that_stops_early() -> None:
    """Job a has all of its machine. However much its share is said to be worth, the inequality
    loses nothing by it, and the rounding of so large a sum could pass for b's missing tenth."""
    cluster = Cluster([Machine("m", {"cpu": 10}), Machine("n", {"cpu": 30})])
    jobs = Job("a", {"cpu": 1}, machines=["m"]), Job("b", {"cpu": 1}, machines=["n"])
    right = proof_of(cluster, jobs)
    column = {machine: c.index for c in right.classes for machine in c.machines}
    first, second = right.rounds
    huge = 1e14
    forged = replace(
        right,
        placements=(("a", (Placement(column["m"], 10.0),)), ("b", (Placement(column["n"], 27.0),))),
        rounds=(
            first,
            replace(
                second,
                share=27 / 40,
                job_prices=(("a", huge), ("b", 1.0)),
                stops=(Stop(huge / 40, column["m"], "cpu"), Stop(1 / 40, column["n"], "cpu")),
            ),
        ),
    )
    with pytest.raises(CertificateError, match=r"round 2: its share is 0\.675"):
        verify(cluster, jobs, forged)


def test_a_mechanism_is_checked_for_what_is_possible() -> None:
    cluster, jobs, _ = figure_4()
    answer = allocate(cluster, jobs, "independent")
    certificate = certify(cluster, jobs, answer, None)
    assert certificate.gap is None
    assert certificate.feasibility <= EXACT
    wrong = corruptions(answer, 1e-6, "policy", "weight", *NOT_CHECKED)
    assert accepted(wrong, lambda answer: certify(cluster, jobs, answer, None)) == []


@pytest.mark.parametrize("view", View)
def test_the_scales_of_a_users_own_policy_are_said_to_be_taken_as_stated(view: View) -> None:
    cluster, jobs, _ = figure_4()

    def scale(problem):  # type: ignore[no-untyped-def]  # as users write
        return 3.0 * problem.usable.any(axis=1)

    answer = allocate(cluster, jobs, Policy("mine", view, scale))
    assert answer.certificate is not None
    assert answer.certificate.assumed == (
        "the scales of `mine` are taken as stated: only its owner can compute them",
    )
