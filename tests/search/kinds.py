"""Inputs that look for trouble, by kinds: each is like something that clusters have, and hard."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from random import Random

from fairlead.model.constraint import Operator, Requirement, Selector
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant

Input = tuple[Cluster, tuple[Job, ...]]

CLASS = "class"


def short(number: float, digits: int = 3) -> Fraction:
    """The number as people write one: so many digits, and above 0."""
    return Fraction(Decimal(f"{max(number, 1e-9):.{digits - 1}e}"))


def weighted(random: Random, jobs: Sequence[Job], weights: Sequence[Fraction | int]) -> Input:
    """No machines yet, and each job its own tenant with a weight."""
    return Cluster((), [Tenant(job.name, weight=random.choice(weights)) for job in jobs]), tuple(
        Job(job.name, job.demand, tenant=job.name, where=job.where, machines=job.machines)
        for job in jobs
    )


def on(classes: Sequence[int]) -> Selector:
    """Machines of these classes."""
    return Selector([Requirement(CLASS, Operator.IN, [f"c{each}" for each in classes])])


def of_class(number: int, count: int, capacity: Mapping[str, Fraction | int]) -> list[Machine]:
    return [Machine(f"m{number}-{each}", capacity, {CLASS: f"c{number}"}) for each in range(count)]


def few_classes(random: Random, size: int) -> Input:
    """Each job names 1, 2, 3, 5 or 10 classes, popular ones more often; log-normal demands of CPU,
    memory, disk and sometimes GPUs; weights 1, 2, 4; one or two machines a class, or many."""
    classes = max(2, random.choice((size // 10, size // 5, size // 2)))
    most = random.choice((1, 2, 20))
    popular = [1.0 / (1 + each) for each in range(classes)]
    gpus = {each for each in range(classes) if random.random() < 0.3}
    machines = []
    for each in range(classes):
        has = {r: short(random.lognormvariate(3, 0.5)) for r in ("cpu", "memory", "disk")}
        machines += of_class(
            each, random.randint(1, most), has | ({"gpu": Fraction(8)} if each in gpus else {})
        )
    jobs = []
    for j in range(size):
        number = random.choice((1, 2, 3, 5, 10))
        own = sorted(set(random.choices(range(classes), popular, k=number)))
        demand = {r: short(random.lognormvariate(0, 1)) for r in ("cpu", "memory", "disk")}
        if gpus.intersection(own) and random.random() < 0.3:
            demand["gpu"] = Fraction(random.choice((1, 1, 2, 4)))
        jobs.append(Job(f"j{j}", demand, where=on(own)))
    cluster, owned = weighted(random, jobs, (1, 2, 4))
    return Cluster(machines, cluster.tenants), owned


def nested(random: Random, size: int) -> Input:
    """Sets of classes inside of one another: old jobs run on new nodes, not the other way round."""
    classes = random.randint(2, max(2, min(40, size)))
    machines = []
    for each in range(classes):
        has = {r: Fraction(random.randint(4, 64)) for r in ("cpu", "memory")}
        machines += of_class(each, random.randint(1, 3), has)
    jobs = [
        Job(
            f"j{j}",
            {r: short(random.lognormvariate(0, 0.7), 2) for r in ("cpu", "memory")},
            where=on(range(random.randrange(classes), classes)),
        )
        for j in range(size)
    ]
    cluster, owned = weighted(random, jobs, (1, 1, 2, 3))
    return Cluster(machines, cluster.tenants), owned


def chains(random: Random, size: int) -> Input:
    """Bottlenecks in a row: each job couples two classes next to each other, and demands and
    weights fall by 10 to 1000 from one to the next: a late level is worth 1e10 of an early one."""
    length = min(size, random.randint(4, 14))
    ratio, least = random.choice(((10, 25), (30, 18), (100, 13), (1000, 9)))
    machines = []
    for each in range(length + 1):
        has = {"cpu": Fraction(random.randint(1, 9)), "memory": Fraction(random.randint(1, 9))}
        machines += of_class(each, random.randint(1, 2), has)
    jobs, tenants = [], []
    for j in range(size):
        at = j % length
        both = ("cpu", "memory") if at % 2 else ("memory", "cpu")
        demand = {both[0]: Fraction(1, ratio), both[1]: Fraction(random.randint(1, 3))}
        jobs.append(Job(f"j{j}", demand, tenant=f"j{j}", where=on([at, at + 1])))
        tenants.append(
            Tenant(f"j{j}", weight=Fraction(1, ratio) ** min(random.choice((at, 0)), least))
        )
    return Cluster(machines, tenants), tuple(jobs)


def equal_machines(random: Random, size: int) -> Input:
    """Many equal machines, few kinds, and jobs that spread over them."""
    kinds = random.randint(1, 3)
    machines = []
    for each in range(kinds):
        cpu, memory = random.choice(((8, 64), (32, 64), (96, 256)))
        has = {"cpu": Fraction(cpu), "memory": Fraction(memory)}
        machines += of_class(each, random.choice((5, 40, 150)), has)
    jobs = []
    for j in range(size):
        demand = {
            "cpu": short(random.uniform(0.5, 16), 2),
            "memory": short(random.uniform(1, 64), 2),
        }
        where = on(random.sample(range(kinds), random.randint(1, kinds)))
        jobs.append(Job(f"j{j}", demand, where=where, spread=random.random() < 0.3))
    return Cluster(machines), tuple(jobs)


def ties(random: Random, size: int) -> Input:
    """Small whole numbers and equal jobs: levels that coincide, corners as high as each other."""
    classes = random.randint(1, max(2, min(12, size)))
    machines = []
    for each in range(classes):
        has = {r: Fraction(random.randint(1, 4)) for r in ("cpu", "memory")}
        machines += of_class(each, random.randint(1, 4), has)
    jobs: list[Job] = []
    for j in range(size):
        if jobs and random.random() < 0.3:
            like = random.choice(jobs)
            jobs.append(Job(f"j{j}", like.demand, where=like.where, tasks=like.tasks))
            continue
        own = random.sample(range(classes), random.randint(1, classes))
        demand = {r: Fraction(random.randint(0, 3)) for r in ("cpu", "memory")}
        demand["cpu"] = demand["cpu"] or Fraction(1)
        tasks = random.choice((None, None, 1, 2, 4))
        jobs.append(Job(f"j{j}", demand, where=on(own), tasks=tasks))
    return Cluster(machines), tuple(jobs)


def magnitudes(random: Random, size: int) -> Input:
    """Numbers from 1e-6 to 1e9: bytes beside cores, weights of budgets beside weights of ranks."""

    def any_size() -> Fraction:
        return short(10 ** random.uniform(-6, 9))

    classes = random.randint(1, max(2, min(20, size // 2)))
    machines = []
    for each in range(classes):
        machines += of_class(each, random.randint(1, 3), {r: any_size() for r in ("cpu", "memory")})
    jobs = []
    for j in range(size):
        own = random.sample(range(classes), random.randint(1, min(classes, 4)))
        jobs.append(Job(f"j{j}", {r: any_size() for r in ("cpu", "memory")}, where=on(own)))
    cluster, owned = weighted(random, jobs, [any_size() for _ in range(5)])
    return Cluster(machines, cluster.tenants), owned


def deep_trees(random: Random, size: int) -> Input:
    """Tenants below tenants, with weights and limits; finite jobs, of which some spread."""
    cluster, jobs = few_classes(random, size)
    tenants: list[Tenant] = []
    for t in range(max(1, size // 2)):
        parent = random.choice(tenants[-3:]).name if tenants and random.random() < 0.8 else None
        limit: dict[str, Fraction] = {}
        if random.random() < 0.2:
            limit = {random.choice(("cpu", "memory")): short(random.lognormvariate(1, 1), 2)}
        weight = random.choice((Fraction(1), Fraction(2), Fraction(1, 3), Fraction(7, 2)))
        tenants.append(Tenant(f"t{t}", weight=weight, parent=parent, limit=limit))
    inner = {tenant.parent for tenant in tenants}
    leaves = [tenant.name for tenant in tenants if tenant.name not in inner]
    return Cluster(cluster.machines, tenants), tuple(
        Job(
            job.name,
            job.demand,
            tenant=random.choice(leaves),
            where=job.where,
            tasks=random.choice((None, None, random.randint(1, 20))),
            spread=random.random() < 0.1,
        )
        for job in jobs
    )


def pools(random: Random, size: int) -> Input:
    """Tenants who brought machines."""
    cluster, jobs = few_classes(random, size)
    machines = [machine.name for machine in cluster.machines]
    random.shuffle(machines)
    number = max(1, min(len(machines), size // 3))
    tenants = [Tenant(f"t{t}", pool=machines[t::number]) for t in range(number)]
    # The first job of each tenant can run on what it brought.
    return Cluster(cluster.machines, tenants), tuple(
        Job(job.name, job.demand, tenant=f"t{j % number}", where=job.where)
        if j >= number
        else Job(job.name, {"cpu": job.demand["cpu"]}, tenant=f"t{j}")
        for j, job in enumerate(jobs)
    )


def all_different(random: Random, size: int) -> Input:
    """No two machines are alike, most jobs are finite, and some list their machines by name."""
    number = random.randint(2, max(3, min(60, size)))
    machines = [
        Machine(f"m{each}", {r: short(random.lognormvariate(3, 1), 4) for r in ("cpu", "memory")})
        for each in range(number)
    ]
    jobs = []
    for j in range(size):
        own = random.sample(machines, random.randint(1, number))
        jobs.append(
            Job(
                f"j{j}",
                {r: short(random.lognormvariate(0, 1), 4) for r in ("cpu", "memory")},
                machines=[machine.name for machine in own] if random.random() < 0.7 else None,
                tasks=random.choice((None, random.randint(1, 30), random.randint(1, 30))),
            )
        )
    return Cluster(machines), tuple(jobs)


def everywhere(random: Random, size: int) -> Input:
    """Most jobs run nearly everywhere, on classes that all differ: all depends on all."""
    classes = random.randint(2, max(2, min(300, size // 2)))
    resources = ("cpu", "memory", "disk", "gpu")[: random.randint(2, 4)]
    machines: list[Machine] = []
    for each in range(classes):
        have = {r: short(random.lognormvariate(4, 0.7), 4) for r in resources}
        machines += of_class(each, random.randint(1, 3), have)
    jobs = [
        Job(
            f"j{j}",
            {r: short(random.lognormvariate(0, 0.8), 3) for r in resources},
            where=on(random.sample(range(classes), random.randint((classes + 1) // 2, classes))),
        )
        for j in range(size)
    ]
    cluster, owned = weighted(random, jobs, (1, 2, 4))
    return Cluster(machines, cluster.tenants), owned


def uneven(random: Random, size: int) -> Input:
    """One digit and a power of ten: a task of one job fills what holds thousands of another's, and
    many fit on no machine."""

    def amount(*powers: int) -> Fraction:
        return random.randint(1, 9) * Fraction(10) ** random.choice(powers)

    resources = ("cpu", "memory", "gpu")
    classes = random.randint(1, max(1, min(60, size // 4)))
    machines: list[Machine] = []
    for each in range(classes):
        have = {r: amount(0, 1, 2) for r in resources}
        machines += of_class(each, random.randint(1, 4), have)
    jobs = []
    for j in range(size):
        needs = [r for r in resources if random.random() < 0.7] or ["cpu"]
        demand = {r: amount(-2, -1, 0, 1, 2) for r in needs}
        open_to = [c for c in range(classes) if random.random() < 0.3]
        jobs.append(Job(f"j{j}", demand, where=on(open_to or [random.randrange(classes)])))
    cluster, owned = weighted(random, jobs, (1,))
    return Cluster(machines, cluster.tenants), owned


KINDS: dict[str, Callable[[Random, int], Input]] = {
    each.__name__: each
    for each in (
        few_classes,
        nested,
        chains,
        equal_machines,
        ties,
        magnitudes,
        deep_trees,
        pools,
        all_different,
        everywhere,
        uneven,
    )
}
