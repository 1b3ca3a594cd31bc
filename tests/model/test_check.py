"""What must hold between machines, tenants and jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fairlead.model.check import check, collect_mistakes, with_implied_tenants
from fairlead.model.errors import InputError
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.model.tree import parents_first

MACHINES = [
    *(Machine(f"a{n}", {"cpu": 4, "gpu": 1}, {"zone": "east", "kernel": "5.15"}) for n in (1, 2)),
    *(Machine(f"b{n}", {"cpu": 8}, {"zone": "west", "kernel": "6.1"}) for n in (1, 2)),
]


def sentences(
    tenants: Sequence[Tenant] = (),
    jobs: Sequence[Job] = (),
    machines: Sequence[Machine] = MACHINES,
    devices: Sequence[str] = (),
) -> list[str]:
    return [str(each) for each in collect_mistakes(Cluster(machines, tenants, devices), jobs)]


def job(name: str = "j", **fields: Any) -> Job:
    return Job(name, {"cpu": 1}, **fields)


def test_what_fits_together_passes() -> None:
    tenants = [
        Tenant("a", weight=2, limit={"gpu": 1}),
        Tenant("b", parent="a"),
        Tenant("c", pool=["b1"], parent="d"),
        Tenant("d"),
    ]
    jobs = [job("x", tenant="b"), job("y", tenant="c"), job("z", machines=["a1"], where="kernel>5")]
    check(Cluster(MACHINES, tenants, ["gpu"]), jobs)


def test_tenants_are_implied_where_none_are_declared() -> None:
    cluster, jobs = Cluster(MACHINES), [job("x", tenant="t"), job("y", tenant="s"), job("z")]
    check(cluster, jobs)
    assert with_implied_tenants(cluster, jobs).tenants == (Tenant("t"), Tenant("s"))
    assert with_implied_tenants(cluster, [job()]) is cluster
    declared = Cluster(MACHINES, [Tenant("t")])
    assert with_implied_tenants(declared, jobs) is declared


def test_a_cluster_without_machines_is_refused() -> None:
    assert sentences(machines=[]) == [
        (
            "machines: there are no machines; write at least one, as in machines: [{name: a1,"
            " capacity: {cpu: 4}}]"
        )
    ]


def test_names_are_given_once() -> None:
    assert sentences([Tenant("t"), Tenant("t")], [job(), job()], [*MACHINES, MACHINES[0]]) == [
        'machine "a1": 2 machines have this name; give each its own',
        'tenant "t": 2 tenants have this name; give each its own',
        'job "j": 2 jobs have this name; give each its own',
    ]


def test_the_tenant_of_a_job_is_declared() -> None:
    assert sentences([Tenant("vision")], [job(tenant="vison")]) == [
        'job "j", tenant: there is no tenant "vison"; did you mean "vision"?'
    ]
    assert sentences([Tenant("vision")], [job(tenant="x")]) == [
        (
            'job "j", tenant: there is no tenant "x"; declare it under tenants: (or declare none:'
            " then jobs imply them)"
        )
    ]


def test_a_parent_is_declared() -> None:
    assert sentences([Tenant("vision"), Tenant("b", parent="Vision")]) == [
        'tenant "b", parent: there is no tenant "Vision"; did you mean "vision"?'
    ]


@pytest.mark.parametrize(
    ("parents", "cycle"),
    [
        ({"a": "a"}, "a -> a"),
        ({"a": "b", "b": "a"}, "a -> b -> a"),
        ({"x": "a", "a": "b", "b": "c", "c": "a"}, "a -> b -> c -> a"),
    ],
)
def test_no_tenant_is_below_itself(parents: dict[str, str], cycle: str) -> None:
    (sentence,) = sentences([Tenant(name, parent=parent) for name, parent in parents.items()])
    assert f"parent: its parents lead back to it: {cycle}; let one of them" in sentence


def test_parents_come_first_and_all_others_stay_where_they_are() -> None:
    named = [("a", None), ("c", "b"), ("d", "c"), ("b", None), ("e", "a"), ("x", "y"), ("y", "x")]
    tenants = [Tenant(name, parent=parent) for name, parent in named]
    assert "".join(tenant.name for tenant in parents_first(tenants)) == "abcdeyx"


def test_a_job_is_not_taken_for_a_tenant() -> None:
    assert sentences([Tenant("j")], [job("j")]) == [
        (
            'job "j": it has no tenant, but a tenant has its name; write tenant: "j" if it belongs'
            " there, or give it another name"
        )
    ]
    # Also where the tenant is implied.
    assert len(sentences([], [job("j"), job("x", tenant="j")])) == 1


@pytest.mark.parametrize("field", ["machines", "exclude"])
def test_lists_of_a_job_name_machines(field: str) -> None:
    fields: dict[str, Any] = {field: ["a[1-4]", "a11"]}
    (sentence,) = sentences(jobs=[job(**fields)])
    assert sentence == (
        f'job "j", {field}, a11: there is no machine "a[3-4,11]"; did you mean "a1"?'
    )


def test_pools_name_machines() -> None:
    assert sentences([Tenant("t", pool=["zzzzzz"])]) == [
        'tenant "t", pool, zzzzzz: there is no machine "zzzzzz"; write names that machines have'
    ]


def test_limits_and_devices_name_resources_of_machines() -> None:
    assert sentences([Tenant("t", limit={"gpus": 1})], devices=["disk"]) == [
        "devices, disk: no machine has this resource; machines have cpu, gpu",
        'tenant "t", limit, gpus: no machine has this resource; did you mean "gpu"?',
    ]


def test_a_demand_may_name_a_resource_that_no_machine_has() -> None:
    assert sentences(jobs=[Job("j", {"tpu": 1})]) == []


def test_siblings_have_all_weights_or_all_pools() -> None:
    tenants = [
        Tenant("a", pool=["a1"]),
        Tenant("b", weight=1),
        Tenant("c", parent="b", pool=["b1"]),
        Tenant("d", parent="b"),
    ]
    jobs = [job("x"), job("y", tenant="b"), job("z", tenant="a"), job("w", tenant="c")]
    rule = "siblings have all weights or all pools"
    assert sentences(tenants, jobs) == [
        (
            f'tenant "b": it has no pool, but its sibling "a" has one: {rule}; give it a pool, or'
            " give all of them weights"
        ),
        (
            f'job "x", tenant: a job without a tenant has weight 1, but its sibling "a" has a pool:'
            f" {rule}; give the job a tenant that has a pool"
        ),
        (
            f'tenant "d": it has no pool, but its sibling "c" has one: {rule}; give it a pool, or'
            " give all of them weights"
        ),
        (
            f'job "y", tenant: a job of "b" itself has weight 1, but its sibling "c" has a pool:'
            f" {rule}; give the job a tenant that has a pool"
        ),
    ]


def test_pools_do_not_overlap() -> None:
    assert sentences([Tenant("a", pool=["a[1-2]"]), Tenant("b", pool=["a[1-2]", "b1"])]) == [
        (
            'tenant "b", pool, a1: "a[1-2]" is in the pool of "a" too: pools do not overlap; take'
            " it out of one of them"
        )
    ]


def test_a_pool_lies_within_the_pool_above() -> None:
    tenants = [
        Tenant("a", pool=["a[1-2]"]),
        Tenant("b", parent="a", pool=["a1"]),
        Tenant("c", parent="a", pool=["a2", "b1"]),
    ]
    assert sentences(tenants) == [
        (
            'tenant "c", pool, b1: "b1" is not in the pool of "a", which it is below; a pool lies'
            " within the pool of the tenant above"
        )
    ]


@pytest.mark.parametrize(
    "unable",
    [
        Job("j", {"cpu": 1}, tenant="t", where="zone = west"),
        Job("j", {"cpu": 1}, tenant="t", machines=["b[1-2]"]),
        Job("j", {"cpu": 1}, tenant="t", exclude=["a1"]),
    ],
    ids=["where", "machines", "exclude"],
)
def test_a_pool_is_of_use_to_its_owner(unable: Job) -> None:
    owner = Tenant("t", pool=["a1"])
    (sentence,) = sentences([owner], [unable])
    assert sentence.startswith('tenant "t", pool: none of its jobs could run anything on these')
    assert sentences([owner], [unable, job("k", tenant="t")]) == []


@pytest.mark.parametrize("never", [{"tpu": 1}, {"gpu": 1}, {"cpu": 1000}])
def test_a_pool_whose_owner_has_only_jobs_that_can_never_run_is_no_mistake(
    never: dict[str, int],
) -> None:
    owner = Tenant("t", pool=["a1"], limit={"gpu": 0})
    assert sentences([owner], [Job("j", never, tenant="t")]) == []


def test_the_jobs_of_tenants_below_use_a_pool() -> None:
    tenants = [Tenant("t", pool=["a1"]), Tenant("u", parent="t")]
    assert sentences(tenants, [job(tenant="u")]) == []
    assert len(sentences(tenants, [job(tenant="u", where="zone = west")])) == 1


def test_an_owner_without_jobs_keeps_its_pool() -> None:
    assert sentences([Tenant("t", pool=["a1"]), Tenant("u", pool=["a2"])]) == []


def test_a_version_without_quotes_is_refused_with_its_machine() -> None:
    machines = [Machine(f"c{n}", {"cpu": 1}, {"kernel": 5.15}) for n in (1, 2)]
    assert sentences(jobs=[job(where="kernel >= 5.10")], machines=machines) == [
        (
            'machine "c1", labels, kernel: 5.15 is compared as a version but written as a number'
            ' (job "j" asks for kernel >= 5.10 on "c[1-2]"); write it in quotes: "5.15"'
        )
    ]
    assert sentences(jobs=[job(where="kernel = 5.15")], machines=machines) == []


@pytest.mark.parametrize("field", ["where", "prefer"])
def test_a_label_without_order_is_refused_with_its_machine(field: str) -> None:
    machines = [*MACHINES, Machine("c1", {"cpu": 1}, {"kernel": "new"})]
    fields: dict[str, Any] = {field: "kernel < 6"}
    if field == "prefer":
        fields["prefer_for"] = 1
    (sentence,) = sentences(jobs=[job(**fields)], machines=machines)
    assert sentence == (
        'machine "c1", labels, kernel: "new" is neither a whole number nor a version, so'
        ' it has no order (job "j" asks for kernel < 6); write a label such as "5.10", or compare'
        " with = or in"
    )


def test_whole_numbers_without_quotes_are_compared() -> None:
    machines = [Machine("c1", {"cpu": 1}, {"memory": 80})]
    assert sentences(jobs=[job(where="memory >= 40")], machines=machines) == []


def test_everything_is_reported_together() -> None:
    with pytest.raises(InputError) as caught:
        check(
            Cluster(MACHINES, [Tenant("t", parent="x", limit={"y": 1})], ["z"]),
            [job(tenant="q", machines=["q1"])],
        )
    assert len(caught.value.mistakes) == 5


def test_hints_are_found_among_many_names() -> None:
    machines = [Machine(f"node{n:05}", {"cpu": 1}) for n in range(1000)]
    (sentence,) = sentences(jobs=[job(machines=["node00500x"])], machines=machines)
    assert sentence.endswith('did you mean "node00500"?')
