"""What the adviser answers: the exact allocation of what is present, and what the core is told."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from fairlead.model.job import Job
from fairlead.model.machine import Cluster
from fairlead.model.never import never_run
from fairlead.model.tenant import Tenant
from fairlead.scheduling.advice.ranking import MILLION
from fairlead.scheduling.events import JobCancelled, MachineDrained, TaskFinished
from fairlead.scheduling.reading.present import Jobs
from fairlead.scheduling.state.scales import FIFO
from fairlead.service.fairness.question import question
from fairlead.service.fairness.solve import answer
from tests.scheduling.exact_shares import advise, exact_shares, guarantee
from tests.service.fairness.stands import FIRST, core_of, random_cores, submit
from tests.tolerances import CERTIFICATE

TWO = (Tenant("a"), Tenant("b", weight=2))


def test_the_shares_are_those_of_the_papers_filling() -> None:
    core = core_of({"m1": {"cpu": 8}, "m2": {"cpu": 8, "gpu": 2}}, TWO)
    submit(core, Job("x", {"cpu": 1}, tenant="a", tasks=30))
    submit(core, Job("y", {"cpu": 2, "gpu": 1}, tenant="b", tasks=30))
    found = answer(question(core, 1, guarantees=True, advice=True))
    # y can have both GPUs and then stops; x gets the 12 CPUs that are left.
    assert found.jobs.names == ("x", "y")
    assert found.jobs.tasks.tolist() == pytest.approx([12, 2])
    assert found.jobs.whole.tolist() == [12, 2]
    assert found.tenants["a"].share == pytest.approx(12 / 16)
    assert found.tenants["b"].share == pytest.approx(2 / 2 / 2)  # 2 of 2 alone, weight 2
    assert dict(found.guarantees or {}) == {"x": 12, "y": 2}
    assert found.advice is not None
    targets = dict.fromkeys(("x", "y"), 0)
    for each in found.advice:
        targets[each.job] += each.target
    assert targets == {"x": 12 * MILLION, "y": 2 * MILLION}


def test_what_is_finished_wants_no_share() -> None:
    core = core_of({"m1": {"cpu": 4}}, TWO)
    submit(core, Job("x", {"cpu": 1}, tenant="a", tasks=3))
    core.apply(TaskFinished(0, "x", 0))
    core.decide()
    assert answer(question(core, 1)).jobs.tasks.tolist() == pytest.approx([2])


def test_a_cancelled_job_wants_nothing_more() -> None:
    core = core_of({"m1": {"cpu": 4}}, TWO)
    submit(
        core, Job("x", {"cpu": 1}, tenant="a", tasks=9), Job("y", {"cpu": 1}, tenant="b", tasks=9)
    )
    core.apply(JobCancelled(0, "x"))
    core.decide()
    found = answer(question(core, 1))
    assert found.jobs.of("x") is not None
    assert found.jobs.of("y") is not None
    assert [found.jobs.of(name).whole for name in ("x", "y")] == [0, 4]  # type: ignore[union-attr]  # both are there


def test_machines_that_drain_are_not_shared_but_counted_beside() -> None:
    core = core_of({"m1": {"cpu": 4}, "m2": {"cpu": 4}}, TWO)
    submit(core, Job("x", {"cpu": 1}, tenant="a", tasks=9))
    core.apply(MachineDrained(0, "m2"))
    core.decide()
    found = answer(question(core, 1)).jobs.of("x")
    assert found is not None
    assert (found.whole, found.drained) == (4, 4)


def test_no_machine_takes_tasks() -> None:
    core = core_of({"m1": {"cpu": 4}}, TWO)
    submit(core, Job("x", {"cpu": 1}, tenant="a", tasks=9))
    core.apply(MachineDrained(0, "m1"))
    core.decide()
    found = answer(question(core, 1, guarantees=True, advice=True))
    assert found.jobs.whole.tolist() == [0]
    assert found.jobs.drained.tolist() == [4]
    assert not found.guarantees
    assert found.advice == ()


def test_fifo_is_measured_by_tsf() -> None:
    core = core_of({"m1": {"cpu": 4}}, TWO, policy=FIFO)
    submit(
        core, Job("x", {"cpu": 1}, tenant="a", tasks=9), Job("y", {"cpu": 1}, tenant="b", tasks=9)
    )
    asked = question(core, 1)
    assert asked.policy == "tsf"
    assert answer(asked).jobs.tasks.tolist() == pytest.approx([4 / 3, 8 / 3])


def test_it_agrees_with_the_exact_shares_of_the_model(cases: int) -> None:
    """The way over the core's arrays and the way over the model's values give the same."""
    compared = 0
    for core in random_cores(FIRST, 45 * cases):
        state = core.state
        slots = Jobs(core).slot
        if state.header[0]["fifo"] or not len(slots) or (state.job["cancelled"][slots] == 1).any():
            continue
        asked = question(core, 1, guarantees=True, advice=True)
        if not asked.up.all() or not len(asked.up):
            continue
        jobs = []
        for slot in slots.tolist():
            job, row = core.ids.job_at[slot], state.job[slot]
            left = None if row["total"] < 0 else Fraction(int(row["waiting"] + row["held"]))
            jobs.append(
                Job(
                    job.name,
                    job.demand,
                    tenant=job.tenant,
                    tasks=left,
                    gang=job.gang if left is None or row["waiting"] >= job.gang else 1,
                    where=job.where,
                    machines=job.machines,
                    exclude=job.exclude,
                    spread=job.spread,
                )
            )
        devices = [unit.name for unit in core.ids.units if unit.piece]
        cluster = Cluster(core.ids.machine_at.values(), core.ids.tenant_at.values(), devices)
        here = {machine.name for machine in cluster.machines}
        if len(here) != len(core.ids.machines):
            continue  # a machine that left: the model would count it
        held = dict(
            zip(core.ids.jobs, state.job["held"][list(core.ids.jobs.values())], strict=True)
        )
        never = never_run(cluster, jobs)
        jobs = [
            # What runs of a gang that can start no more is what it asks for.
            replace(job, tasks=Fraction(int(held[job.name])), gang=1)
            if job.gang > 1 and held[job.name] and job.name in never
            else job
            for job in jobs
        ]
        exact = exact_shares(cluster, jobs, core.book.scaler.spec)
        names = exact.problem.job_names
        tasks = dict(zip(names, exact.filling.tasks.sum(axis=1).tolist(), strict=True))
        found = answer(asked)
        mine = dict(zip(found.jobs.names, found.jobs.tasks.tolist(), strict=True))
        assert mine == pytest.approx({name: tasks.get(name, 0.0) for name in mine}, abs=CERTIFICATE)
        # A job has its own tasks rounded down; one of a tenant more, where parts come together.
        alone = guarantee(asked.time, cluster, jobs, core.book.scaler.spec).guarantees
        assert found.guarantees is not None
        for job, slot in zip(jobs, slots.tolist(), strict=True):
            has, rounded = found.guarantees.get(job.name, 0), alone.get(job.name, 0)
            gang = core.ids.job_at[slot].gang
            if gang > 1:  # whole gangs, or all that are left
                assert has >= rounded // gang * gang
            else:
                assert has >= rounded if job.tenant is not None else has == rounded
        per_job = dict.fromkeys(mine, 0)
        for each in advise(asked.time, cluster, jobs, core.book.scaler.spec).advice:
            per_job[each.job] += each.target
        ours = dict.fromkeys(mine, 0)
        for each in found.advice or ():
            ours[each.job] += each.target
        assert ours == pytest.approx(per_job, abs=8)  # each target is rounded by itself
        compared += 1
    assert compared >= 10


def test_the_answer_is_the_same_for_the_same_question() -> None:
    for core in random_cores(FIRST, 10):
        asked = question(core, 1, guarantees=True, advice=True)
        again = pickle.loads(pickle.dumps(asked))
        one, two = answer(asked), answer(again)
        assert np.array_equal(one.jobs.tasks, two.jobs.tasks)
        assert (one.guarantees, one.advice) == (two.guarantees, two.advice)


def test_the_core_takes_what_it_is_told() -> None:
    for core in random_cores(FIRST, 10):
        for event in answer(question(core, 1, guarantees=True, advice=True)).events(core.now):
            core.apply(event)
        core.decide()
        core.check()
