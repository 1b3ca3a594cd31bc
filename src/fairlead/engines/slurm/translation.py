"""From a picture of Slurm to a cluster, its jobs, and sentences on what was assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from fairlead.engines.slurm.demands import NotUnderstoodError, Request, request_of
from fairlead.engines.slurm.reading.parse import amounts, mebibytes
from fairlead.engines.slurm.reading.values import (
    UNUSABLE,
    WAKING,
    Association,
    Picture,
    SlurmJob,
    SlurmNode,
)
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.names import compress, expand_all
from fairlead.model.tenant import Tenant

RUNNING = ("RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "STOPPED", "SIGNALING")
QUEUED = frozenset({"", "Priority", "Resources", "ReqNodeNotAvail"})
"""Reasons by which a pending job only waits for its turn; by all others Slurm holds it itself."""

OWN_HOLD = "JobHeldUser"
"""Slurm's reason of a job that `job_submit.lua` holds when it is submitted."""

IMPOSSIBLE = frozenset(
    {"BadConstraints", "PartitionNodeLimit", "PartitionTimeLimit", "PartitionConfig"}
)
"""Slurm's reasons of jobs that never start on the node that was chosen."""

Places = Mapping[str, Sequence[str]]
"""The accounts in which each user is."""

MEBIBYTE = 2**20
LEAST_WEIGHT = "0.000001"


@dataclass(frozen=True, slots=True)
class Translation:
    """The model's values, and what is to be said of them, a line each."""

    cluster: Cluster
    jobs: tuple[Job, ...]
    notes: tuple[str, ...]


def translate(picture: Picture) -> Translation:
    """The cluster with its tenants and jobs. What cannot be understood of a job that runs counts
    as taken from its nodes; of one that waits it is left out. Each of these has its line."""
    notes: list[str] = []
    usable = [node for node in picture.nodes if is_usable(node, notes)]
    shown: dict[int, list[tuple[SlurmJob, Request]]] = {}
    places = places_of(picture)
    taken: Counter[str] = Counter()
    present = frozenset(node.name for node in usable)
    for job in picture.jobs:
        runs = job.state in RUNNING
        if not runs and job.state != "PENDING":
            continue
        number = job.array or job.number
        if not runs and (reason := find_hold(job, picture)):
            notes.append(f"{describe_job(job)} is left out: {reason}")
            continue
        try:
            request = request_of(job, usable)
            if job.elements == 0:
                raise NotUnderstoodError("the list of its elements was cut")
        except NotUnderstoodError as why:
            if not runs:
                notes.append(f"{describe_job(job)} is left out: {why}")
                continue
            names = [name for name in expand_all([job.node_list]) if name in present]
            taken.update(names)
            where = f"it counts as taken on {', '.join(compress(names))}"
            where = where if names else "the nodes that it has are left out"
            notes.append(f"{describe_job(job)} is not understood: {why}; {where}")
            take_from(job, names, usable)
            continue
        if not runs and not request.can_run(usable):
            notes.append(
                f"{describe_job(job)} can start on no node: none that its constraint, partition and"
                " lists leave has room for it, even when it is empty"
            )
        shown.setdefault(number, []).append((job, request))
    tenants = tenants_of(picture, notes)
    jobs = [each for number, rows in shown.items() for each in _jobs(number, rows, places)]
    jobs.sort(key=lambda job: (int(job.name.partition("-")[0]), job.name))
    notes += _general(picture)
    machines = [machine_of(node) for node in usable]
    devices = sorted({"gpu"} & {name for each in machines for name in each.capacity})
    return Translation(Cluster(machines, tenants, devices), tuple(jobs), tuple(notes))


def machine_of(node: SlurmNode) -> Machine:
    """The machine that a node is: features and partitions are labels, and so is the GPUs' type."""
    capacity: dict[str, int] = {"cpu": node.cpus, "memory": node.memory * MEBIBYTE}
    models = {each.model for each in node.gres if each.kind == "gpu" and each.model}
    for each in node.gres:
        capacity[each.kind] = capacity.get(each.kind, 0) + each.count
    labels = dict.fromkeys(node.features, "yes")
    labels |= {f"partition-{name}": "yes" for name in node.partitions}
    if len(models) == 1:
        labels["gpu-model"] = models.pop()
    return Machine(node.name, capacity, labels)


def describe_job(job: SlurmJob) -> str:
    """The job as a sentence names it."""
    if job.array and job.elements != 1:
        return f"job {job.array} ({job.name}, {job.elements} elements of an array)"
    of = f", of array {job.array}" if job.array else ""
    return f"job {job.number} ({job.name}{of})"


def is_usable(node: SlurmNode, notes: list[str]) -> bool:
    """Whether it takes new jobs; if not, a note says why."""
    states = {state.rstrip("*~#%$@^!+-") for state in node.states}
    bad = sorted((states & UNUSABLE) - ({"NOT_RESPONDING"} if WAKING in states else set()))
    if bad:
        because = f" ({node.reason})" if node.reason else ""
        notes.append(f"node {node.name} is left out: it is {', '.join(bad).lower()}{because}")
    elif "RESERVED" in states:
        notes.append(f"node {node.name} is left out: a reservation holds it")
        bad = ["RESERVED"]
    return not bad


def find_hold(job: SlurmJob, picture: Picture) -> str:
    """Why Slurm holds a pending job for reasons of its own; empty where it only waits."""
    if set(job.partitions) <= picture.closed:
        return f"partition {', '.join(job.partitions)} is not up"
    return "" if job.reason in QUEUED else f"Slurm holds it ({job.reason})"


def take_from(job: SlurmJob, names: Sequence[str], nodes: list[SlurmNode]) -> None:
    """Takes what a job holds from each of its nodes: by its cores and devices there, where Slurm
    says them, else an equal part."""
    count, cores, devices = max(1, job.running_on), dict(job.cores), dict(job.devices)
    total = sum(cores.values())
    gpus = sum(each.count for each in job.per_job) + count * sum(e.count for e in job.per_node)
    gpus += job.tasks * sum(each.count for each in job.per_task)
    whole = "--exclusive" in job.beyond
    for index, node in enumerate(nodes):
        if node.name in names:
            part = Fraction(cores.get(node.name, 0), total) if total else Fraction(1, count)
            memory = Fraction(1, job.nodes) if job.memory_of_node else part
            held = sum(e.count for e in devices.get(node.name, ()) if e.kind == "gpu")
            held = held if devices else -(-gpus // count)
            nodes[index] = replace(
                node,
                cpus=0 if whole else max(0, node.cpus - ceil(job.cpus * part)),
                memory=0 if whole else max(0, node.memory - ceil(job.memory * memory)),
                gres=tuple(
                    type(each)(
                        each.kind,
                        each.model,
                        0 if whole else max(0, each.count - held),
                    )
                    if each.kind == "gpu"
                    else each
                    for each in node.gres
                ),
            )


def _jobs(number: int, rows: Sequence[tuple[SlurmJob, Request]], places: Places) -> Iterable[Job]:
    """One job for all elements of an array that ask for the same."""
    alike: dict[tuple[str, Request], tuple[SlurmJob, int]] = {}
    for job, request in rows:
        key = (tenant_of(job, places), request)
        first, count = alike.get(key, (job, 0))
        alike[key] = (first, count + job.elements)
    for index, ((tenant, request), (job, count)) in enumerate(alike.items(), 1):
        name = str(number) if len(alike) == 1 else f"{number}-{index}"
        yield Job(
            name,
            dict(request.demand),
            tenant=tenant or None,
            tasks=count * request.gang,
            gang=request.gang,
            spread=request.spread and request.gang > 1,
            where=request.where,
            machines=request.machines,
            exclude=request.exclude,
            time_limit=Fraction(job.minutes * 60) if job.minutes else None,
        )


def places_of(picture: Picture) -> Places:
    """The accounts in which associations have each user, in their order."""
    found: dict[str, tuple[str, ...]] = {}
    for each in picture.associations:
        if each.user and each.account not in found.get(each.user, ()):
            found[each.user] = (*found.get(each.user, ()), each.account)
    return found


def tenant_of(job: SlurmJob, places: Places) -> str:
    """The tenant whose share a job is: a user has one in each account that associations have him
    in. Any other account that he names is not his, and may be made up: then it is that of the first
    one, or where he is in none, his own."""
    own = places.get(job.user, ())
    if not own:
        return job.user or job.account
    return _at(job.user, job.account if job.account in own else own[0])


def _at(user: str, account: str) -> str:
    return f"{user}@{account}" if user else account


def tenants_of(picture: Picture, notes: list[str]) -> list[Tenant]:
    """Accounts as a tree with their shares as weights, and below them their users."""
    found: dict[str, Tenant] = {}
    places, strangers = places_of(picture), set[str]()
    for each in picture.associations:
        if each.account == "root":
            continue
        name = _at(each.user, each.account)
        parent = each.account if each.user else (each.parent or "root")
        if name in found:
            notes.append(f"{name} has associations by partition; the first one's share is taken")
            continue
        found[name] = Tenant(
            name,
            weight=_weight(each, name, notes),
            parent=None if parent == "root" else parent,
            limit=_limit(each, name, notes),
        )
    for job in picture.jobs:
        if not job.user or job.state not in (*RUNNING, "PENDING"):
            continue
        name = tenant_of(job, places)
        found.setdefault(name, Tenant(name))
        if places and job.account not in places.get(job.user, ()):
            strangers.add(
                f"user {job.user} is in no association of account {job.account}, and has"
                f" no share in it: it counts for {name}"
            )
    if picture.dated:
        notes.append(f"accounts are as they were read before: {picture.dated}")
    notes += sorted(strangers)
    return list(found.values())


def _weight(each: Association, name: str, notes: list[str]) -> str:
    if each.share.isdigit() and int(each.share) > 0:
        return each.share
    if each.share == "0":
        notes.append(f"{name} has Fairshare=0: its weight is {LEAST_WEIGHT}, the least")
        return LEAST_WEIGHT
    notes.append(f"{name} has Fairshare={each.share or 'nothing'}: its weight is 1")
    return "1"


def _limit(each: Association, name: str, notes: list[str]) -> dict[str, int]:
    limit = {}
    for kind, amount in amounts(each.limits).items():
        if kind == "cpu":
            limit["cpu"] = int(amount)
        elif kind == "mem":
            limit["memory"] = mebibytes(amount) * MEBIBYTE
        elif kind == "gres/gpu":
            limit["gpu"] = int(amount)
        else:
            notes.append(f"{name}: the limit GrpTRES {kind}={amount} is not kept")
    return limit


def _general(picture: Picture) -> list[str]:
    """The facts that hold for all jobs of such a picture."""
    notes = []
    throttled = sorted({job.array for job in picture.jobs if job.throttle and job.array})
    if throttled:
        notes.append(
            f"the limit of elements at a time (%) of arrays {', '.join(map(str, throttled))} is"
            " not kept"
        )
    if not picture.associations:
        notes.append(
            "no accounts were read: each user is a tenant, whatever account his jobs name, with the"
            " weight 1"
        )
    notes.append("QOS, priorities and past use do not count in these shares")
    return notes
