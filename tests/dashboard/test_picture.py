"""What is drawn is true: at every level vessels hold what tenants have, and who stops is full."""

from __future__ import annotations

from collections import defaultdict
from random import Random

import pytest

from fairlead.cli.common.inputs import read
from fairlead.dashboard.kinds import Kinds
from fairlead.dashboard.picture import MOST_LEVELS, picture
from fairlead.dashboard.rising import rising
from fairlead.model.allocation import Allocation
from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.shares import MachineClass
from fairlead.model.tenant import Tenant
from fairlead.sharing.allocate import allocate
from tests.reference.instances import Kind, instance
from tests.transcripts import EXAMPLES

NEAR = 1e-6


def check(cluster: Cluster, jobs: tuple[Job, ...], allocation: Allocation) -> int:
    """Asserts that the picture is of an answer at each of its levels; the levels that it has."""
    tree = picture(cluster, jobs, allocation)
    classes, levels = tree["classes"], tree["levels"]
    assert isinstance(classes, list)
    assert isinstance(levels, list)
    story = rising(allocation, MOST_LEVELS)
    for job in allocation.jobs:
        if job.tasks and job.name in story.part:
            assert story.part[job.name][-1] == pytest.approx(1)
            assert list(story.part[job.name]) == sorted(story.part[job.name])
    for k, level in enumerate(levels):
        used: dict[tuple[int, str], float] = defaultdict(float)
        for fill in tree["fills"]:  # type: ignore[attr-defined]
            for resource, amounts in fill["amounts"].items():
                used[fill["class"], resource] += amounts[k]
        for (place, resource), amount in used.items():
            assert amount <= classes[place]["capacity"].get(resource, 0) * (1 + NEAR) + NEAR
        for full in level["full"]:
            capacity = classes[full["class"]]["capacity"][full["resource"]]
            assert used[full["class"], full["resource"]] == pytest.approx(capacity, rel=NEAR)
    return len(levels)


def test_a_tenant_in_a_tree_has_what_is_below_it() -> None:
    cluster = Cluster(
        [Machine("m", {"cpu": 9})],
        [
            Tenant("idle"),
            Tenant("above", limit={"cpu": 3}),
            Tenant("a", parent="above", weight=2),
            Tenant("b", parent="above"),
        ],
    )
    jobs = (Job("one", {"cpu": 1}, tenant="a"), Job("two", {"cpu": 1}, tenant="b"))
    tenants = picture(cluster, jobs, allocate(cluster, jobs))["tenants"]
    told = {one["name"]: one for one in tenants}  # type: ignore[attr-defined]
    assert (told["above"]["tasks"], told["above"]["wants"]) == (3, True)
    assert told["above"]["stopped_by"] == ["limit of above (cpu)"]
    assert (told["idle"]["tasks"], told["idle"]["stopped_by"]) == (0, [])


@pytest.mark.parametrize("seed", range(60))
def test_the_final_places_made_smaller_are_an_answer_of_every_level(seed: int) -> None:
    cluster, jobs = instance(Random(seed), Kind(pools=False, machines=9, jobs=8))
    check(cluster, jobs, allocate(cluster, jobs, ["tsf", "drf", "cdrf"][seed % 3]))


def test_shares_rise_as_the_tree_says() -> None:
    cluster, jobs = read([str(EXAMPLES / "tenant-tree" / "cluster.yaml")])
    assert check(cluster, jobs, allocate(cluster, jobs)) > 1


@pytest.mark.parametrize("policy", ["independent", "most-tasks", "cdrf-lottery"])
def test_an_answer_without_common_levels_shows_its_end(policy: str) -> None:
    cluster, jobs = read([str(EXAMPLES / "tsf-figure-4" / "cluster.yaml")])
    tree = picture(cluster, jobs, allocate(cluster, jobs, policy))
    assert tree["levels"] == []
    assert tree["tenants"]


def test_of_many_levels_those_are_shown_at_which_most_stop() -> None:
    names = [f"j{number:02}" for number in range(2 * MOST_LEVELS)]
    cluster = Cluster([Machine(name, {"cpu": index + 1}) for index, name in enumerate(names)])
    jobs = tuple(Job(name, {"cpu": 1}, machines=(name,)) for name in names)
    assert check(cluster, jobs, allocate(cluster, jobs)) == MOST_LEVELS


def test_classes_of_many_machines_are_named_by_what_they_differ_in() -> None:
    machines = [
        Machine(f"n{2 * k:03}", {"cpu": 8 + 8 * (k % 2)}, {"model": "t4", "zone": "a"})
        for k in range(100)
    ]
    machines += [Machine(f"m{k:03}", {"cpu": 4}, {"zone": "a"}) for k in range(0, 40, 2)]
    machines += [Machine(f"x{k}", {"cpu": 1}, {"model": "old" * 9, "zone": "a"}) for k in (1, 2)]
    groups = {0: machines[:100:2], 1: machines[1:100:2], 2: machines[100:120], 3: machines[120:]}
    classes = [MachineClass(k, tuple(one.name for one in each)) for k, each in groups.items()]
    kinds = Kinds(classes, groups)
    assert [kinds.name(k) for k in range(4)] == ["t4, 8 cpu", "t4, 16 cpu", "like m000", "x[1-2]"]
    assert kinds([0, 1]) == "100 machines (t4)"
    assert kinds([1]) == "50 machines (t4, 16 cpu)"
    assert kinds([0, 2, 3]) == "72 machines (50 t4, 20 like m000 and 2 oldoldol…)"
    assert kinds([0, 1, 2, 3]) == "all 122 machines"


def test_of_a_long_value_as_much_is_named_as_tells_it_from_the_others() -> None:
    values = ["platform-one-of-them", "platform-two-of-them", "another-platform-of-them"]
    groups = {
        k: [Machine(f"n{k}{each:03}", {"cpu": 1}, {"kind": value}) for each in range(0, 60, 2)]
        for k, value in enumerate(values)
    }
    classes = [MachineClass(k, tuple(one.name for one in each)) for k, each in groups.items()]
    kinds = Kinds(classes, groups)
    assert [kinds.name(k) for k in range(3)] == ["platform-o…", "platform-t…", "another-pl…"]
