"""Things that are nearly a proof: a policy spelled otherwise, amounts beyond doubles, tasks too
many."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from fairlead.model.errors import CertificateError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.proof import Places, Proof, Round, Scarce
from fairlead.model.shares import MachineClass
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.sharing.certificate import verify

Input = tuple[Cluster, tuple[Job, ...]]


def three_resources() -> Input:
    cluster = Cluster([Machine("m", {"cpu": 9, "memory": 12, "gpu": 4})])
    jobs = (
        Job("a", {"cpu": 1, "memory": 2, "gpu": 1}),
        Job("b", {"cpu": 3, "memory": 1, "gpu": 1}),
    )
    return cluster, jobs


def proof_of(given: Input, policy: str) -> Proof:
    proof = allocate(*given, policy).proof
    assert proof is not None
    return proof


@pytest.mark.parametrize(
    ("policy", "written"),
    [
        ("kdf(2, cpu=0.1)", "kdf(k=2, cpu=0.1)"),
        ("2df(memory=1e20, cpu=1/3)", "2df(cpu=0.3333333333333333, memory=1e+20)"),
        ("2df(gpu=3, pooled=true)", "2df(pooled=true, gpu=3)"),
        ("cmmf(resource=memory)", "cmmf(memory)"),
        ("asset(pooled=false)", "asset"),
    ],
)
def test_a_policy_is_known_as_answers_write_it(policy: str, written: str) -> None:
    proof = proof_of(three_resources(), policy)
    assert proof.policy == written
    assert verify(*three_resources(), proof).exact


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("kdf(k=2)", "kdf(2)"),
        ("kdf(k=2)", "kdf(2.7)"),  # not the two largest
        ("kdf(k=2)", "kdf(k=2.0)"),
        ("kdf(k=2)", "kdf(k=02)"),
        ("kdf(k=2)", "kdf(k=2, )"),
        ("kdf(k=2)", "kdf"),
        ("kdf(k=2)", "kdf(k=2, cpu=1e999999999)"),
        ("kdf(k=2)", "kdf(k=2, cpu=-1)"),
        ("kdf(k=3)", "kdf(1/2)"),  # not all that there are
        ("kdf(k=2, cpu=3)", "kdf(cpu=3, k=2)"),
        ("kdf(k=2, cpu=3)", "kdf(k=2, cpu=3.0)"),
        ("asset", "asset(pooled=maybe)"),
        ("asset", "asset(pooled=TRUE)"),
        ("asset", "asset(pooled=false)"),
        ("tsf", "tsf()"),
        ("tsf", "tsf(k=1)"),
        ("cmmf(cpu)", "cmmf(resource=cpu)"),
        ("cmmf(cpu)", 'cmmf("cpu")'),
        ("cmmf(cpu)", "cmmf"),
    ],
)
def test_a_policy_that_is_spelled_otherwise_is_not_known(right: str, wrong: str) -> None:
    proof = proof_of(three_resources(), right)
    with pytest.raises(CertificateError, match="is not a policy that I know"):
        verify(*three_resources(), replace(proof, policy=wrong))


def test_a_weight_is_of_a_resource_that_is_demanded() -> None:
    proof = proof_of(three_resources(), "kdf(k=2)")
    with pytest.raises(CertificateError, match="no job demands `gold`"):
        verify(*three_resources(), replace(proof, policy="kdf(k=2, gold=5)"))


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("a", 99.0), "stated twice"),  # another number of tasks before the right one
        (("ghost", 0.0), "job ghost, which does not exist"),
        (("ghost", 5.0), "job ghost, which does not exist"),
    ],
)
def test_tasks_are_stated_once_for_the_jobs_that_there_are(
    more: tuple[str, float], sentence: str
) -> None:
    proof = proof_of(three_resources(), "tsf")
    with pytest.raises(CertificateError, match=sentence):
        verify(*three_resources(), replace(proof, tasks=(more, *proof.tasks)))


def test_no_tasks_are_not_stated() -> None:
    cluster, jobs = three_resources()
    jobs = (*jobs, Job("lost", {"cpu": 1}, where="zone = north"))
    proof = proof_of((cluster, jobs), "tsf")
    with pytest.raises(CertificateError, match="job lost"):
        verify(cluster, jobs, replace(proof, tasks=(*proof.tasks, ("lost", 0.0))))


# With these the parts in which a resource is counted are too many for a double.
P, Q = 10**180 + 1, 10**185 + 3


def long_fractions(resource: str) -> tuple[Input, Proof]:
    """Two jobs that need very little more than 1 CPU, and 1 GB, of a machine that has 10 of each,
    and a proof that a resource stops them."""
    cluster = Cluster([Machine("m", {"cpu": 10, "memory": 10})])
    jobs = (
        Job("a", {"cpu": Fraction(P + 7, P), "memory": 1}),
        Job("b", {"cpu": Fraction(Q + 7, Q), "memory": 1}),
    )
    proof = Proof(
        policy="tsf",
        classes=(MachineClass(0, ("m",)),),
        tasks=(("a", 5.0), ("b", 5.0)),
        rounds=(Round(0.5, ("a", "b"), (Scarce(machine_class=0, resource=resource),)),),
        places=(Places(("a",), (0,)), Places(("b",), (0,))),
        full=(),
    )
    return (cluster, jobs), proof


def test_amounts_that_no_double_holds_are_compared_all_the_same() -> None:
    given, right = long_fractions("cpu")
    assert verify(*given, right).exact
    given, wrong = long_fractions("memory")
    # It would take 10 CPUs and a part of one with 180 zeros after the point.
    with pytest.raises(CertificateError, match="the tasks on class 0 need"):
        verify(*given, wrong)


def test_what_costs_nothing_elsewhere_is_worth_nothing_where_no_double_helps() -> None:
    """Job a, which may go to m2, gives way to b on m1."""
    cluster = Cluster([Machine("m1", {"cpu": 10}), Machine("m2", {"cpu": 10})])
    jobs = (
        Job("a", {"cpu": Fraction(P + 7, P)}),
        Job("b", {"cpu": Fraction(Q + 7, Q)}, machines=["m1"]),
    )
    on = [Scarce(machine_class=number, resource="cpu") for number in (0, 1)]
    proof = Proof(
        policy="tsf",
        classes=(MachineClass(0, ("m1",)), MachineClass(1, ("m2",))),
        tasks=(("a", 10.0), ("b", 10.0)),
        rounds=(Round(0.5, ("b",), (on[0],)), Round(0.5, ("a",), (on[1],))),
        places=(Places(("a",), (1,)), Places(("b",), (0,))),
        full=(),
    )
    assert verify(cluster, jobs, proof).exact
    both = replace(proof, places=(Places(("a",), (0, 1)), Places(("b",), (0,))), full=(on[0],))
    with pytest.raises(CertificateError, match="job a is where a round has ruled it out"):
        verify(cluster, jobs, both)


def test_all_jobs_of_a_place_may_be_there() -> None:
    """Jobs b and c may only use m2, and are said to be on m1, too, because a, like them, is."""
    cluster = Cluster([Machine("m1", {"cpu": 10}), Machine("m2", {"cpu": 10})])
    jobs = (
        Job("a", {"cpu": 1}),
        Job("b", {"cpu": 1}, machines=["m2"]),
        Job("c", {"cpu": 1}, machines=["m2"]),
    )
    on = [Scarce(machine_class=number, resource="cpu") for number in (0, 1)]
    names = ("a", "b", "c")
    third = Round(1 / 3, names, tuple(on), (Places(("a",), (0, 1)),))
    wrong = Proof(
        policy="tsf",
        classes=(MachineClass(0, ("m1",)), MachineClass(1, ("m2",))),
        tasks=tuple((name, 20 / 3) for name in names),
        rounds=(third,),
        places=(Places(names, (0, 1)),),
        full=(on[0],),
    )
    with pytest.raises(CertificateError, match="job b is where a round has ruled it out"):
        verify(cluster, jobs, wrong)


def pooled(machines: list[Machine], first: dict[str, int], second: dict[str, int]) -> Input:
    """Two jobs of a tenant whose pool is the first machine, and one that owns the second."""
    tenants = [Tenant("t", pool=["m0"]), Tenant("u", pool=["m1"])]
    jobs = (
        Job("x", first, tenant="t"),
        Job("y", second, tenant="t"),
        Job("z", {"cpu": 1}, tenant="u"),
    )
    return Cluster(machines, tenants), jobs


@pytest.mark.parametrize(
    ("given", "share", "sentence"),
    [
        (  # x would have -6 tasks, and y 8
            pooled(
                [Machine("m0", {"cpu": 2, "memory": 10}), Machine("m1", {"cpu": 4, "memory": 4})],
                {"cpu": 1, "memory": 1},
                {"cpu": 1, "memory": 2},
            ),
            1.0,
            "less than no tasks in a place",
        ),
        (  # a task of each, where two of x are worth more: memory would cost less than nothing
            pooled(
                [
                    Machine("m0", {"cpu": 2, "memory": 3, "disk": 10}),
                    Machine("m1", {"cpu": 10, "memory": 20}),
                ],
                {"cpu": 1, "memory": 1, "disk": 1},
                {"cpu": 1, "memory": 2},
            ),
            1 / 2 + 2 / 23,
            "a price is below 0",
        ),
    ],
)
def test_a_pool_gives_what_is_possible_and_the_most_of_it(
    given: Input, share: float, sentence: str
) -> None:
    proof = proof_of(given, "tsf")
    (pool,) = proof.pools
    number = next(each.index for each in pool.classes if "m0" in each.machines)
    rows = tuple(Scarce(machine_class=number, resource=r) for r in ("cpu", "memory"))
    places = tuple(Places((name,), (number,)) for name in ("x", "y"))
    forged = replace(pool, share=share, places=places, scarce=rows)
    with pytest.raises(CertificateError, match=sentence):
        verify(*given, replace(proof, pools=(forged,)))
