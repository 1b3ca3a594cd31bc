"""Jobs of Slurm's that are not understood, where its queue is put into order: they have turns, and
what they hold is their tenant's."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fairlead.engines.slurm.reading.values import Gres, SlurmJob, SlurmNode
from fairlead.engines.slurm.rough import rough_request_of
from fairlead.engines.slurm.viewing import Viewer
from fairlead.model.tenant import Tenant
from fairlead.scheduling import events
from fairlead.scheduling.core import Core
from fairlead.scheduling.placement.registry import ELSEWHERE
from fairlead.scheduling.reading.line import line_of
from fairlead.scheduling.state.ids import Unit
from tests.engines.slurm.test_viewing import NODES, job, running, seen

LICENCE: dict[str, Any] = {"beyond": ("licence matlab:1",)}
WHOLE: dict[str, Any] = {"beyond": ("--exclusive",)}
GPUS = tuple(
    SlurmNode(
        f"g{i}", 8 * i, 8000, ("x",), (Gres("gpu", model, 2),), ("main",), frozenset({"IDLE"}), ""
    )
    for i, model in ((1, "a100"), (2, "h100"))
)
TURNS = 14
UNEVEN, EVEN = (("g1", 3), ("g2", 1)), (("g1", 1), ("g2", 1))
DEVICES = tuple((f"g{i}", (Gres("gpu", "", count),)) for i, count in ((1, 3), (2, 1)))


@pytest.mark.parametrize(
    ("row", "gang", "cpus", "gpus"),
    [
        (job(7, **LICENCE), 1, 2, 0),
        (job(7, nodes=2, tasks=2, beyond=("--contiguous",)), 2, 1, 0),
        (job(7, nodes=2, tasks=3, cpus=3), 2, 2, 0),  # unequal parts
        (job(7, features="[x*1&y*1]"), 1, 2, 0),
        (job(7, required="g1,g2"), 1, 2, 0),
        (job(7, per_node=(Gres("gpu", "a100", 1), Gres("gpu", "h100", 1))), 1, 2, 2),
        (job(7, **WHOLE), 1, 8, 2),  # of one that waits, the least that it may get
        (job(7, features="x", excluded="g1", **WHOLE), 1, 16, 2),
        (job(7, cpus=12, tasks=12, **WHOLE), 1, 16, 2),
        (running(7, "g2", **WHOLE), 1, 16, 2),  # and of one that runs, what it has
        (job(7, nodes=2, **WHOLE), 2, 8, 2),
        (replace(running(7, "g[1-2]", most_nodes=4), running_on=2), 2, 1, 0),  # -N 1-4
        (running(7, "g[1-2]", UNEVEN, cpus=4, memory_of_node=True, nodes=2), 2, 3, 0),
        (
            running(7, "g[1-2]", EVEN, nodes=2, per_job=(Gres("gpu", "", 4),), devices=DEVICES),
            2,
            1,
            3,
        ),
    ],
)
def test_what_can_be_read_of_it_counts(row: SlurmJob, gang: int, cpus: int, gpus: int) -> None:
    found = rough_request_of(row, GPUS)
    demand = dict(found.demand)
    assert found.gang == gang
    assert demand["cpu"] == cpus
    assert demand.get("gpu", Fraction(0)) == gpus


def test_it_waits_and_runs_as_the_same_job_and_why_says_what_is_not_understood() -> None:
    viewer = Viewer(roughly=True)
    waits = seen(job(7, **WHOLE), viewer=viewer)
    assert waits.jobs["7"].waiting == 1
    assert waits.jobs["7"].said == (
        "Slurm says: Priority, priority 5; it is not understood (--exclusive), and counts by the"
        " CPUs, memory and devices that can be read of it"
    )
    runs = seen(running(7, "n1", **WHOLE), viewer=viewer)
    assert runs.jobs["7"].job is waits.jobs["7"].job
    assert runs.jobs["7"].running[0].machines == ("n1",)
    assert [node.machine.capacity["cpu"] for node in runs.nodes] == [8, 8]
    assert not runs.apart
    assert any("job 7 (job) is not understood: --exclusive" in note for note in runs.notes)
    ended = seen(replace(running(7, "n1", ended=60, **WHOLE), state="COMPLETED"), viewer=viewer)
    assert ended.jobs["7"].job is waits.jobs["7"].job
    assert ended.jobs["7"].ended[0].ended == 60_000_000


def test_what_runs_otherwise_than_it_asked_for_is_its_tenants_all_the_same() -> None:
    uneven = (("n1", 2), ("n2", 1))
    view = seen(
        running(7, "n[1-2]", tasks=4, cpus=4, cores=uneven),
        replace(running(8, "n[1-2]", most_nodes=4), running_on=2),
        viewer=Viewer(roughly=True),
    )
    assert view.jobs["7"].running[0].machines == ("n1", "n2")
    assert view.jobs["7"].job.demand["cpu"] == 3  # of four, two thirds, rounded up
    assert view.jobs["8"].running[0].machines == ("n1", "n2")
    assert not view.apart


def test_what_no_node_is_left_for_and_what_slurm_holds_has_no_turn() -> None:
    rows = (job(7, features="x|y", partitions=("other",), **LICENCE), job(8, reason="Licenses"))
    view = seen(*rows, viewer=Viewer(roughly=True))
    assert not view.jobs
    assert "no node is left" in view.apart["7"].why
    assert view.apart["8"].why == "Slurm holds it (Licenses)"


def _first(viewer: Viewer, rows: list[SlurmJob]) -> str:
    """The number of the job whose turn it is."""
    view = seen(*rows, viewer=viewer, accounts=())
    core = Core([Unit("cpu"), Unit("memory")], placement=ELSEWHERE)
    for name in ("ana", "bob"):
        core.handle(events.TenantChanged(0, Tenant(name)))
    for node in view.nodes:
        core.handle(events.MachineJoined(0, node.machine))
    for name, each in view.jobs.items():
        core.handle(events.JobSubmitted(1, each.job))
        for part in each.running:
            for task, machine in enumerate(part.machines):
                core.handle(events.TaskPlaced(2, name, task, machine))
    return line_of(core, turns=1)[0]


def _starts(wishes: dict[str, Any]) -> list[int]:
    """Numbers of jobs in the order of their starts, beside a queue that never ends: each third is
    ana's, with these wishes, and asks for a node as bob's do. The one that began first is over when
    the next one begins."""
    viewer, waiting, begun, found = Viewer(roughly=True), list[SlurmJob](), list[SlurmJob](), [0]
    for number in range(1, TURNS):
        hers: dict[str, Any] = {"user": "ana", **wishes} if number % 3 == 0 else {"user": "bob"}
        waiting.append(job(number, cpus=8, **hers))
        node = NODES[number % len(NODES)].name
        if len(begun) == len(NODES):
            del begun[0]
        at = _first(viewer, [*waiting, *begun])
        row = next(each for each in waiting if str(each.number) == at)
        waiting.remove(row)
        more: dict[str, Any] = {"node_list": node, "running_on": 1, "started": 50}
        begun.append(replace(row, state="RUNNING", **more))
        found.append(row.number)
        waiting.append(job(TURNS + number, cpus=8, user="bob"))
    return found


def test_beside_a_queue_that_never_ends_they_start_as_if_they_were_understood() -> None:
    plain = _starts({})
    assert _starts(LICENCE) == plain
    assert _starts(WHOLE) == plain
    hers = [number for number in plain if number % 3 == 0 and 0 < number < TURNS]
    assert hers == list(range(3, TURNS, 3))[: len(hers)]
    assert len(hers) >= TURNS // 3 - 2
