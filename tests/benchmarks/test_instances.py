"""The generator of benchmark instances: same spec, same instance, in arrays and as a model."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from benchmarks.instances import Kind, Spec, draw, model, problem


@pytest.mark.parametrize("kind", list(Kind))
def test_the_same_spec_gives_the_same_numbers(kind: Kind) -> None:
    spec = Spec(kind, tenants=20, classes=6, machines=40, seed=3)
    first, second = draw(spec), draw(Spec.of(spec.as_dict()))
    for field in fields(first):
        assert np.array_equal(getattr(first, field.name), getattr(second, field.name))


@pytest.mark.parametrize("kind", list(Kind))
def test_another_seed_gives_other_numbers(kind: Kind) -> None:
    first = draw(Spec(kind, tenants=20, classes=6, machines=40, seed=1))
    second = draw(Spec(kind, tenants=20, classes=6, machines=40, seed=2))
    assert not np.array_equal(first.demand, second.demand)


@pytest.mark.parametrize("resources", [1, 2, 4, 6])
@pytest.mark.parametrize("kind", list(Kind))
def test_every_job_can_run_somewhere(kind: Kind, resources: int) -> None:
    compiled = problem(Spec(kind, tenants=50, classes=10, resources=resources, machines=90))
    assert compiled.usable.any(axis=1).all()
    assert compiled.count.sum() == 90
    assert compiled.count.min() >= 1


@pytest.mark.parametrize("kind", list(Kind))
def test_arrays_and_model_are_the_same_instance(kind: Kind) -> None:
    spec = Spec(kind, tenants=8, classes=4, machines=12)
    compiled = problem(spec)
    cluster, jobs = model(spec)
    assert len(cluster.machines) == 12
    assert [tenant.weight for tenant in cluster.tenants] == list(compiled.tree.weight)
    for j, job in enumerate(jobs):
        demand = [float(job.demand.get(name, 0)) for name in compiled.resources]
        assert demand == list(compiled.demand[j])
    first_of = np.concatenate([[0], np.cumsum(compiled.count)[:-1]])
    for c, first in enumerate(first_of):
        capacity = cluster.machines[first].capacity
        assert [float(capacity.get(name, 0)) for name in compiled.resources] == list(
            compiled.capacity[c]
        )
        for j, job in enumerate(jobs):
            assert job.where.matches(cluster.machines[first].labels) == compiled.eligible[j, c]


def test_fewer_machines_than_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="3 machines cannot make 5 classes"):
        draw(Spec(Kind.LOCAL, tenants=2, classes=5, machines=3))
