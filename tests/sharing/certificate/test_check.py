"""The check lets right answers pass and refuses wrong ones, however little is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from math import nextafter
from random import Random

import pytest
from hypothesis import assume, given

from fairlead.model.allocation import Allocation
from fairlead.model.errors import CertificateError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.proof import Places, Proof, Round, Scarce
from fairlead.model.shares import Certificate, MachineClass
from fairlead.model.tenant import Tenant
from fairlead.model.values import FrozenMap
from fairlead.sharing.allocate import allocate
from fairlead.sharing.certificate import certify, verify
from fairlead.sharing.certificate.answer import check_answer
from fairlead.sharing.certificate.check import check_proof
from fairlead.sharing.certificate.input import read_input
from fairlead.sharing.policy import Policy, View
from tests.reference.instances import Instance, instances
from tests.sharing.certificate.corruption import Corrupt, accepted, corruptions

# What is told in sentences, the prices of a market, and the prices of levels, which say why and how
# much: none of these is what is proved.
NOT_CHECKED = ("warnings", "nowhere", "certificate", "proof", "prices", "price", "freezes")

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


def check_of(cluster: Cluster, jobs: tuple[Job, ...]) -> Callable[[Proof], object]:
    """What `verify` does with each proof of one input, which is read once."""
    given = read_input(cluster, jobs)
    return lambda proof: check_proof(given, proof, as_stated=False)


def sold(
    cluster: Cluster, jobs: tuple[Job, ...], right: Proof, wrong: Iterable[Corrupt[Proof]]
) -> list[str]:
    """The places where a changed proof was believed that gives anybody other tasks than the right
    one. What says the same in other words (an equation twice, another order) may pass."""
    tasks, check = dict(right.tasks), check_of(cluster, jobs)
    other = [(path, proof) for path, proof in wrong if dict(proof.tasks) != tasks]
    same = [(path, proof) for path, proof in wrong if dict(proof.tasks) == tasks]
    for _, proof in same:
        accepted([("", proof)], check)  # ends in order, whatever it says
    return accepted(other, check)


def test_a_right_answer_is_exact(case: Checked) -> None:
    cluster, jobs, answer, proof = case
    certificate = certify(cluster, jobs, answer, proof)
    assert certificate == Certificate(0.0, 0.0, (), exact=True)
    assert certificate == verify(cluster, jobs, proof) == answer.certificate


def test_no_change_of_a_proof_sells_other_tasks(case: Checked) -> None:
    cluster, jobs, _, proof = case
    # Each place once, by next to nothing, by little and by much in turn: what is beside it, up or
    # down, is changed by another part.
    by_part = [list(corruptions(proof, part)) for part in (1e-15, 1e-6, 0.3)]
    assert len({len(each) for each in by_part}) == 1
    wrong = [each[(at // 3 + at) % 3] for at, each in enumerate(zip(*by_part, strict=True))]
    assert sold(cluster, jobs, proof, wrong) == []


@pytest.mark.parametrize("part", [2.5e-16, 1e-6, 0.3])
def test_every_number_that_a_proof_states_is_the_nearest_double(case: Checked, part: float) -> None:
    cluster, jobs, _, proof = case
    structure = (
        "policy",
        "view",
        "classes",
        "places",
        "full",
        "frozen",
        "scarce",
        "even",
        "scales",
    )
    wrong = (
        (path, other)
        for path, other in corruptions(proof, part, *structure, "machine_class", "tenant")
        if other != proof and path.rpartition(" ")[2] in ("up", "down", "nan")
    )
    assert accepted(wrong, check_of(cluster, jobs)) == []


def test_what_a_round_lacks_is_missed(case: Checked) -> None:
    """Without one of the jobs that freeze, one of the rounds, or something that is scarce, nothing
    is proved; an equation may follow from the others."""
    cluster, jobs, _, proof = case
    wrong = [
        (path, other)
        for path, other in corruptions(proof, 0.5, "policy", "classes", "tasks", "even", "places")
        if path.endswith("dropped")
        # What stops a machine that is filled by itself is computed again.
        and not (proof.view == "each machine" and ".scarce[" in path)
    ]
    assert accepted(wrong, check_of(cluster, jobs)) == []


def test_a_change_anywhere_in_an_answer_is_refused(case: Checked) -> None:
    cluster, jobs, answer, proof = case
    # Each place once, by little and by much in turn. Beside what stops a level, what earlier rounds
    # used up may be named.
    little, much = (
        [each for each in corruptions(answer, part, *NOT_CHECKED) if ".stopped_by" not in each[0]]
        for part in (1e-6, 0.3)
    )
    wrong = [*little[::2], *much[1::2]]
    # As `certify` does, but for the proof, which is the same in all of them.
    given = read_input(cluster, jobs)
    proved = check_proof(given, proof, as_stated=True)
    assert accepted(wrong, lambda answer: check_answer(given, answer, proof, proved)) == []


def test_what_stops_a_level_is_named(case: Checked) -> None:
    cluster, jobs, answer, proof = case
    for index, level in enumerate(answer.levels):
        nothing = replace(level, stopped_by=())
        levels = (*answer.levels[:index], nothing, *answer.levels[index + 1 :])
        if proof.view != "each machine":
            with pytest.raises(CertificateError, match="is not all named"):
                certify(cluster, jobs, replace(answer, levels=levels), proof)


def test_a_proof_of_another_input_is_refused() -> None:
    cluster, jobs, policy = everything()
    proof = proof_of(cluster, jobs, policy)
    others: list[tuple[str, tuple[Cluster, tuple[Job, ...]]]] = []
    for index, machine in enumerate(cluster.machines):
        before, after = cluster.machines[:index], cluster.machines[index + 1 :]
        for cpu in (7, 17):
            other = replace(machine, capacity=FrozenMap({**machine.capacity, "cpu": Fraction(cpu)}))
            clusters = Cluster((*before, other, *after), cluster.tenants)
            others.append((f"{machine.name} has {cpu}", (clusters, jobs)))
        others.append((f"no {machine.name}", (Cluster(before + after, cluster.tenants), jobs)))
        moved = replace(machine, labels=FrozenMap({"zone": "north"}))
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
        if dict(proof.tasks)[job.name] > 1:
            few = replace(job, tasks=Fraction(1))
            others.append((f"{job.name} has a task", (cluster, (*before_it, few, *after_it))))
    for index, tenant in enumerate(cluster.tenants):
        weighty = replace(tenant, weight=Fraction(9))
        tenants = (*cluster.tenants[:index], weighty, *cluster.tenants[index + 1 :])
        if tenant.name != "idle":
            others.append((f"{tenant.name} weighs 9", (Cluster(cluster.machines, tenants), jobs)))
        if tenant.limit:
            free = replace(tenant, limit=FrozenMap())
            tenants = (*cluster.tenants[:index], free, *cluster.tenants[index + 1 :])
            others.append((f"{tenant.name} is free", (Cluster(cluster.machines, tenants), jobs)))
    assert accepted(others, lambda other: verify(*other, proof)) == []


def proof_of(cluster: Cluster, jobs: tuple[Job, ...], policy: str = "tsf") -> Proof:
    proof = allocate(cluster, jobs, policy).proof
    assert proof is not None
    return proof


@given(instances())
def test_no_change_of_a_proof_sells_other_tasks_on_random_instances(case: Instance) -> None:
    cluster, jobs = case
    assume(jobs)
    proof = proof_of(cluster, tuple(jobs))
    wrong = list(corruptions(proof, 1e-3, "policy"))
    some = Random(len(wrong)).sample(wrong, min(len(wrong), 12))
    assert sold(cluster, tuple(jobs), proof, some) == []


def two_jobs() -> tuple[Cluster, tuple[Job, ...]]:
    """One machine of 10 that two jobs share: 5 each, at the level 1/2."""
    return Cluster([Machine("m", {"cpu": 10})]), (Job("a", {"cpu": 1}), Job("b", {"cpu": 1}))


CPU = Scarce(machine_class=0, resource="cpu")


def by_hand(share: float = 0.5, tasks: float = 5.0, **other: object) -> Proof:
    """A proof that both of `two_jobs` stop at a share."""
    only = Round(share, ("a", "b"), (CPU,))
    right = Proof(
        policy="tsf",
        classes=(MachineClass(0, ("m",)),),
        tasks=(("a", tasks), ("b", tasks)),
        rounds=(only,),
        places=(Places(("a", "b"), (0,)),),
        full=(),
    )
    return replace(right, **other)  # type: ignore[arg-type]  # the fields that a test names


def test_a_proof_by_hand_passes() -> None:
    assert verify(*two_jobs(), by_hand()).exact
    apart = (Places(("a",), (0,)), Places(("b",), (0,)))
    assert verify(*two_jobs(), by_hand(places=apart)).exact


HALF = Round(0.5, ("a",), (CPU,))


@pytest.mark.parametrize(
    ("proof", "sentence"),
    [
        (by_hand(share=0.4, tasks=4.0), "its share is 0.4, and its prices say 0.5"),
        (by_hand(share=nextafter(0.5, 1)), "and its prices say 0.5"),
        (by_hand(tasks=nextafter(5.0, 6)), "job a is said to run 5.000000000000001 tasks"),
        (by_hand(rounds=(HALF,)), "job b has a price and does not freeze"),
        (by_hand(rounds=(replace(HALF, frozen=("a", "b", "c")),)), "there is no job c"),
        (by_hand(rounds=(replace(HALF, frozen=("a", "b", "b")),)), "a job freezes twice"),
        (by_hand(rounds=()), "job a does not freeze in any round"),
        (by_hand(rounds=(replace(HALF, scarce=()),)), "nothing is scarce"),
        (by_hand(rounds=(replace(HALF, scarce=(CPU, CPU)),)), "named twice"),
        (by_hand(rounds=(replace(HALF, scarce=(Scarce(job="a"),)),)), "nothing that is scarce"),
        (by_hand(rounds=(replace(HALF, scarce=(Scarce(tenant="a"),)),)), "nothing that is scarce"),
        (by_hand(places=(Places(("a",), (0,)),)), "job b has tasks, and no place"),
        (by_hand(places=(Places(("a", "b", "a"), (0,)),)), "a job is in two of the places"),
        (by_hand(places=(Places(("a", "b"), (1,)),)), "there is no class 1"),
        (by_hand(places=(Places(("a", "b"), (0, 0)),)), "class 0 is there twice"),
        (by_hand(full=(CPU,)), "does not say how many tasks are where"),
        (by_hand(view="pooled"), "the view of tsf is not `pooled`"),
    ],
)
def test_a_wrong_proof_is_refused_with_what_is_wrong(proof: Proof, sentence: str) -> None:
    with pytest.raises(CertificateError, match=sentence):
        verify(*two_jobs(), proof)


@pytest.mark.parametrize(
    "policy", ["TSF", "tsf ", " tsf", "", "t\N{CYRILLIC SMALL LETTER DZE}f", "x"]
)
def test_a_policy_that_is_not_known_is_believed_only_if_that_is_asked_for(policy: str) -> None:
    right = proof_of(*two_jobs())
    with pytest.raises(CertificateError, match="is not a policy that I know"):
        verify(*two_jobs(), replace(right, policy=policy))
    with pytest.raises(CertificateError, match="scales are not stated"):
        verify(*two_jobs(), replace(right, policy=policy), scales_as_stated=True)


def test_machines_that_a_job_can_tell_apart_are_no_class() -> None:
    cluster, jobs, policy = everything()
    proof = proof_of(cluster, jobs, policy)
    first, second, *rest = proof.classes
    together = MachineClass(first.index, first.machines + second.machines)
    with pytest.raises(CertificateError, match="apart"):
        verify(cluster, jobs, replace(proof, classes=(together, *rest)))


def limited() -> tuple[Cluster, tuple[Job, ...]]:
    """Job a has few tasks, b much room, and c shares a class with b that has little of what c
    needs: a slack of a part in 100 at the level of a and b would be 90 shares of c's."""
    cluster = Cluster(
        [Machine("m1", {"cpu": 99000}), Machine("m2", {"cpu": 1000, "gpu": 10})],
    )
    jobs = (
        Job("a", {"cpu": 1}, machines=["m1"], tasks=991),
        Job("b", {"cpu": 1}, machines=["m2"]),
        Job("c", {"cpu": 1, "gpu": 1}, machines=["m2"]),
    )
    return cluster, jobs


def test_who_has_no_price_cannot_be_frozen_early_for_the_gain_of_another() -> None:
    """The lie that a tolerance for each round believed: b, which could go on, is said to freeze
    beside a, and c has all that b then leaves."""
    cluster, jobs = limited()
    right = proof_of(cluster, jobs)
    assert verify(cluster, jobs, right).exact
    column = {machine: c.index for c in right.classes for machine in c.machines}
    gpu = Scarce(machine_class=column["m2"], resource="gpu")
    cpu = Scarce(machine_class=column["m2"], resource="cpu")
    for scarce in ((Scarce(job="a"),), (Scarce(job="a"), cpu), (cpu,)):
        forged = replace(
            right,
            tasks=(("a", 991.0), ("b", 991.0), ("c", 9.0)),
            rounds=(
                Round(991 / 100000, ("a", "b"), scarce),
                Round(0.9, ("c",), (gpu,)),
            ),
        )
        with pytest.raises(CertificateError, match="round 1"):
            verify(cluster, jobs, forged)


def test_a_mechanism_is_checked_for_what_is_possible() -> None:
    cluster, jobs, _ = figure_4()
    answer = allocate(cluster, jobs, "independent")
    certificate = certify(cluster, jobs, answer, None)
    assert certificate.gap is None
    assert not certificate.exact
    assert certificate.feasibility <= 1e-9
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
    assert answer.proof is not None
    with pytest.raises(CertificateError, match="`mine` is not a policy that I know"):
        verify(cluster, jobs, answer.proof)
    assert verify(cluster, jobs, answer.proof, scales_as_stated=True) == answer.certificate
