"""Advice on keys and shapes that other tools have and Fairlead calls otherwise."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.model.errors import About

_EXAMPLES = {
    "machines": 'machines: [{name: "a[01-25]", capacity: {cpu: 16}}]',
    "tenants": "tenants: [{name: vision, weight: 2}]",
    "jobs": "jobs: [{name: train, demand: {cpu: 4}}]",
    "devices": "devices: [gpu]",
    "catalogue": "catalogue: [{name: a100-node, price: 150000, capacity: {gpu: 8}}]",
    "machine": "{name: a01, capacity: {cpu: 16, memory: 64GiB}}",
    "tenant": "{name: vision, weight: 2}",
    "job": "{name: train, demand: {cpu: 4, memory: 12GiB}}",
    "capacity": "capacity: {cpu: 16, memory: 64GiB}",
    "demand": "demand: {cpu: 4, memory: 12GiB}",
    "limit": "limit: {gpu: 40}",
    "labels": "labels: {zone: east}",
    "env": "env: {MODE: fast}",
    "where": 'where: "zone = east, gpu-model in (a100, h100)"',
    "prefer": 'prefer: "zone = east"',
}
_LIST_OF_MACHINES = '["a[01-25]", b7]'
_ENTRIES = ("machine", "tenant", "job")
_OF_RESOURCES = ("capacity", "demand", "limit")

MOST_TOLD = 8
"""Keys that are told where none stands."""

_CALLED = {
    "nodes": "machines",
    "hosts": "machines",
    "servers": "machines",
    "users": "tenants",
    "teams": "tenants",
    "groups": "tenants",
    "accounts": "tenants",
    "queues": "tenants",
    "workloads": "jobs",
    "resources": "capacity",
    "allocatable": "capacity",
    "attributes": "labels",
    "tags": "labels",
    "features": "labels",
    "share": "weight",
    "shares": "weight",
    "quota": "limit",
    "cap": "limit",
    "max": "limit",
    "grptres": "limit",
    "maxtres": "limit",
    "fairshare": "weight",
    "request": "demand",
    "requests": "demand",
    "gres": "demand",
    "requires": "demand",
    "needs": "demand",
    "count": "tasks",
    "ntasks": "tasks",
    "replicas": "tasks",
    "parallelism": "tasks",
    "selector": "where",
    "nodeselector": "where",
    "constraint": "where",
    "constraints": "where",
    "whitelist": "machines",
    "nodelist": "machines",
    "blacklist": "exclude",
    "account": "tenant",
    "namespace": "tenant",
    "walltime": "time_limit",
    "user": "tenant",
    "team": "tenant",
    "queue": "tenant",
}
"""Keys of Slurm, Kubernetes and others, in small letters, and their names here."""

_ELSEWHERE = {
    "weight": "tenants have weights: declare one under tenants:, and name it by tenant:",
    "limit": "tenants have limits: declare one under tenants:, and name it by tenant:",
    "pool": "tenants have pools: declare one under tenants:, and name it by tenant:",
    "count": 'write a range of names instead, as in name: "a[01-25]"',
    "partition": "a partition is a label of machines, as in labels: {partition: short}, that jobs"
    ' ask for, as in where: "partition = short"',
    "priority": "there are no priorities: a tenant gets by its weight, beside others",
    **dict.fromkeys(
        ("dependson", "dependency", "dependencies", "after"),
        "jobs do not wait for others: submit this one once `fairlead submit --wait` has returned",
    ),
    **dict.fromkeys(
        ("reserve", "reserved", "reservation", "guarantee", "guaranteed", "min", "minimum"),
        "nothing is kept free for a tenant: its weight, or its pool, says what is fair, and who has"
        " less goes first (`preempt_after` of the service stops tasks of others for it)",
    ),
    **dict.fromkeys(
        ("deadline", "begin", "starttime"),
        "jobs have no times to begin or to end by: whoever has less than is fair goes first",
    ),
    **dict.fromkeys(
        ("preemptible", "interruptible", "preemption", "preempt"),
        "any task may be stopped for others' fair shares where the service has `preempt_after`;"
        " with rerunnable: false they run to their ends",
    ),
    "array": "an array is a job of several tasks, as in tasks: 10",
    "catalogue": "a catalogue is no input: give it by --buy or --catalogue, from another folder",
}
"""Keys that belong to something else, and to what."""


def example(about: About, allowed: Sequence[str] | None = None) -> str:
    """`write ...`: what may stand at this place, where these keys are allowed; empty where nothing
    is known of it."""
    if not about:
        key = next((key for key in allowed or () if key in _EXAMPLES), None)
        return f"write {_EXAMPLES[key]}" if key else ""
    last = str(about[-1])
    if len(about) == 2 and about[0] in _ENTRIES:
        return f"write {_EXAMPLES[str(about[0])]}"
    if len(about) == 3 and about[0] == "job" and last in ("machines", "exclude"):
        return f"write {last}: {_LIST_OF_MACHINES}"
    if len(about) == 3 and about[0] == "tenant" and last == "pool":
        return f"write pool: {_LIST_OF_MACHINES}"
    if len(about) == 4 and about[2] in _OF_RESOURCES:
        return f"write one amount, as in {_EXAMPLES[str(about[2])]}"
    if last in _EXAMPLES and len(about) in (1, 3) and last not in _ENTRIES:
        return f"write {_EXAMPLES[last]}"
    return ""


def example_of_keys(about: About, allowed: Sequence[str] | None) -> str:
    """`write ...`: what may stand where keys should; where no example is known, by the first of
    those that are allowed."""
    if known := example(about, allowed):
        return known
    key = f"{about[-1]}: " if about else ""
    first = next(iter(allowed or ()), "key")
    more = f"; there are {', '.join(allowed)}" if allowed and len(allowed) <= MOST_TOLD else ""
    return f"write keys, as in {key}{{{first}: …}}{more}"


def meant(key: str, allowed: Sequence[str]) -> str:
    """A guess at the meaning of a key that has no place here; empty if there is none."""
    plain = key.lower().replace("-", "").replace("_", "")
    name = _CALLED.get(plain)
    if name in allowed:
        return f'did you mean "{name}"?'
    return _ELSEWHERE.get(plain, "")
