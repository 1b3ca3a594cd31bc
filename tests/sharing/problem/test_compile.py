"""From the model to arrays and back: nothing is lost, and nothing is told apart for nothing."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Cluster, Machine
from fairlead.model.tenant import Tenant
from fairlead.sharing.filling.names import names_of
from fairlead.sharing.problem.compile import compile_problem
from tests.reference.instances import Kind, instance
from tests.reference.scales import can_never_run, holds, may_use

KIND = Kind(machines=6, jobs=6)


def test_every_machine_and_job_is_found_again_in_the_arrays(cases: int) -> None:
    for seed in range(60 * cases):
        cluster, jobs = instance(Random(seed), KIND)
        problem = compile_problem(cluster, jobs)
        machine = {each.name: each for each in cluster.machines}
        by_name = {job.name: job for job in jobs}
        assert sorted(problem.job_names) == sorted(by_name), seed
        assert sorted(n for names in problem.class_machines for n in names) == sorted(machine), seed
        assert [len(names) for names in problem.class_machines] == problem.count.tolist(), seed
        for j, job in enumerate(by_name[name] for name in problem.job_names):
            never = can_never_run(cluster, job)
            need = [float(job.demand.get(name, 0)) for name in problem.resources]
            assert problem.demand[j].tolist() == need, seed
            for c, names in enumerate(problem.class_machines):
                for each in (machine[name] for name in names):
                    may = may_use(job, each) and not never
                    assert problem.eligible[j, c] == may, seed
                    assert problem.holds[j, c] == pytest.approx(float(holds(job, each))), seed
                    assert problem.usable[j, c] == (may and holds(job, each) > 0)


def test_classes_differ_in_what_some_job_sees(cases: int) -> None:
    for seed in range(60 * cases):
        problem = compile_problem(
            *instance(Random(seed), replace(KIND, nowhere=False, limits=False))
        )
        seen = np.hstack([problem.capacity, problem.eligible.T])
        assert len(np.unique(seen, axis=0)) == len(problem.count), seed


def test_what_no_job_asks_for_tells_no_machines_apart() -> None:
    machines = [
        Machine("a", {"cpu": 4, "disk": 1}, {"zone": "east", "rack": "1"}),
        Machine("b", {"cpu": 4, "disk": 2}, {"zone": "east", "rack": "2"}),
        Machine("c", {"cpu": 4}, {"zone": "west", "rack": "3"}),
    ]
    jobs = [Job("j", {"cpu": 1, "disk": 0}, where="zone = east"), Job("k", {"cpu": 1})]
    classes = compile_problem(Cluster(machines), jobs).class_machines
    assert sorted(classes) == [("a", "b"), ("c",)]
    assert compile_problem(Cluster(machines), jobs[1:]).class_machines == (("a", "b", "c"),)


def test_labels_that_look_alike_are_told_apart_as_text_is() -> None:
    machines = [Machine("a", {"cpu": 1}, {"v": "5.1"}), Machine("b", {"cpu": 1}, {"v": "5.10"})]
    problem = compile_problem(Cluster(machines), [Job("j", {"cpu": 1}, where="v = 5.10")])
    assert [n for c, n in enumerate(problem.class_machines) if problem.eligible[0, c]] == [("b",)]


def test_a_parent_comes_before_its_children() -> None:
    tenants = [Tenant("low", parent="middle"), Tenant("middle", parent="top"), Tenant("top")]
    jobs = [Job("j", {"cpu": 1}, tenant="low"), Job("own", {"cpu": 1})]
    tree = compile_problem(Cluster([Machine("m", {"cpu": 1})], tenants), jobs).tree
    assert tree.names == ("top", "middle", "low", "own")
    assert tree.parent.tolist() == [-1, 0, 1, -1]


def test_classes_are_shown_in_the_order_of_their_machines() -> None:
    machines = [Machine("z", {"cpu": 1}), Machine("a", {"cpu": 8}), Machine("k", {"cpu": 4})]
    cluster = Cluster(machines)
    problem = compile_problem(cluster, [Job("j", {"cpu": 1})])
    names = names_of(problem, [machine.name for machine in cluster.machines])
    assert [(each.index, each.machines) for each in names.classes()] == [
        (0, ("a",)),
        (1, ("k",)),
        (2, ("z",)),
    ]


def test_nobody_can_write_to_the_arrays() -> None:
    problem = compile_problem(Cluster([Machine("m", {"cpu": 1})]), [Job("j", {"cpu": 1})])
    with pytest.raises(ValueError, match="read-only"):
        problem.demand[0, 0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        problem.tree.weight[0] = 2.0
