"""An adversary: proofs that are true of an input next to the real one, sold as proofs of it.

To move tasks from one job to another and hide it as well as can be, change the input until the wish
is its fair share (fewer tasks for one, another weight, a smaller machine, a demand a little off),
solve that exactly, and give the proof of it away with all that names the change taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

from fairlead.model.errors import CertificateError, FairleadError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.proof import Proof, Round, Scarce
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from fairlead.sharing.certificate import verify
from fairlead.sharing.certificate.check import check_proof
from fairlead.sharing.certificate.input import read_input

Input = tuple[Cluster, tuple[Job, ...]]

SHIFTS = (Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 2), Fraction(1))


def drawn(random: Random) -> Input:
    """A few jobs on a few machines, coupled so that there are several levels."""
    machines = [
        Machine(f"m{i}", {"cpu": random.randint(1, 1000), "gpu": random.choice([0, 1, 10])})
        for i in range(random.randint(2, 4))
    ]
    names = [machine.name for machine in machines]
    tenants = [Tenant(f"t{i}", weight=random.choice([1, 1, 2, 1000])) for i in range(2)]
    jobs = []
    for i in range(random.randint(2, 5)):
        demand: dict[str, int | Fraction] = {"cpu": Fraction(random.randint(1, 40), 4)}
        if random.random() < 0.3:
            demand["gpu"] = 1
        jobs.append(
            Job(
                f"j{i}",
                demand,
                tenant=random.choice([None, "t0", "t1"]),
                machines=random.sample(names, random.randint(1, len(names))),
                tasks=random.choice([None, None, None, random.randint(1, 500)]),
                spread=random.random() < 0.1,
            )
        )
    return Cluster(machines, tenants), tuple(jobs)


def neighbours(given: Input, right: dict[str, float], random: Random) -> Iterator[Input]:
    """Inputs whose fair shares somebody would like better."""
    cluster, jobs = given
    for index, job in enumerate(jobs):
        has = right.get(job.name, 0.0)
        if not has:
            continue
        for part in random.sample(SHIFTS, 2):
            fewer = int(Fraction(has) * (1 - part))  # tasks are counted
            if fewer:
                yield cluster, swapped(jobs, index, replace(job, tasks=fewer))
            more = {r: need * (1 + part) for r, need in job.demand.items()}
            yield cluster, swapped(jobs, index, replace(job, demand=more))
        yield cluster, (*jobs[:index], *jobs[index + 1 :])
    for index, tenant in enumerate(cluster.tenants):
        part = random.choice(SHIFTS)
        weight = (tenant.weight or Fraction(1)) * (1 + part)
        other = Tenant(tenant.name, weight=weight)
        tenants = (*cluster.tenants[:index], other, *cluster.tenants[index + 1 :])
        yield Cluster(cluster.machines, tenants), jobs
    for index, machine in enumerate(cluster.machines):
        part = random.choice(SHIFTS[:-1])
        less = Machine(machine.name, {r: x * (1 - part) for r, x in machine.capacity.items()})
        machines = (*cluster.machines[:index], less, *cluster.machines[index + 1 :])
        yield Cluster(machines, cluster.tenants), jobs


def swapped(jobs: tuple[Job, ...], index: int, job: Job) -> tuple[Job, ...]:
    return (*jobs[:index], job, *jobs[index + 1 :])


def disguised(proof: Proof, given: Input, random: Random) -> Iterator[Proof]:
    """The proof as it is, and with what the real input does not have put otherwise: who is said to
    have no tasks left freezes beside others, or for what its machines lack."""
    yield proof
    finite = {job.name for job in given[1] if job.tasks is not None}
    rounds = list(proof.rounds)
    for index, each in enumerate(rounds):
        lone = each.scarce[0].job if len(each.scarce) == 1 else None
        if lone is None or each.scarce[0].machine_class is not None or lone in finite:
            continue
        others = rounds[:index] + rounds[index + 1 :]
        if others:  # with somebody else, at that one's level
            at = random.randrange(len(others))
            beside = replace(others[at], frozen=(*others[at].frozen, lone))
            yield replace(proof, rounds=(*others[:at], beside, *others[at + 1 :]))
        for number in {each.index for each in proof.classes}:
            scarce = Scarce(machine_class=number, resource="cpu")
            stopped: Round = replace(each, scarce=(scarce,))
            yield replace(proof, rounds=(*rounds[:index], stopped, *rounds[index + 1 :]))
    shuffled = rounds[:]
    random.shuffle(shuffled)
    yield replace(proof, rounds=tuple(shuffled))


def test_no_proof_of_a_neighbour_sells_other_tasks(cases: int) -> None:
    tried = 0
    for seed in range(4 * cases):
        random = Random(seed)
        given = drawn(random)
        proof = allocate(*given).proof
        assert proof is not None
        right = dict(proof.tasks)
        exact = check_proof(read_input(*given), proof, as_stated=False).tasks
        for other in neighbours(given, right, random):
            try:
                answer = allocate(*other)
            except FairleadError:
                continue  # a job without tasks, say: no input
            assert answer.proof is not None
            for forged in disguised(answer.proof, given, random):
                if forged == proof:
                    continue
                tried += 1
                try:
                    proved = check_proof(read_input(*given), forged, as_stated=False)
                except CertificateError:
                    continue
                assert list(proved.tasks) == list(exact), (seed, forged)
        verify(*given, proof)
    assert tried > 65 * cases
