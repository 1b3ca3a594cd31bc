"""The public traces as published: the numbers that their descriptions state."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from fairlead.model.errors import InputError
from fairlead.simulation.traces.describing import PERCENTS, Description, describe
from fairlead.simulation.traces.matching import at_start
from fairlead.simulation.traces.own.form import Form
from fairlead.simulation.traces.own.writing import write
from fairlead.simulation.traces.registry import load
from fairlead.simulation.workload import JobBatch, Workload
from tests.simulation.traces.same import assert_same

S = 1_000_000


def noted(workload: Workload, text: str) -> bool:
    return any(text in note for note in workload.notes)


def percent(values: Sequence[float] | None, which: int) -> float:
    assert values is not None
    return values[PERCENTS.index(which)]


@pytest.fixture(scope="module")
def first_hour(data_dir: Path) -> Workload:
    """Google 2011: all that was submitted in the first hour."""
    return load([data_dir / "google-2011"], options={"hours": "1"})


@pytest.fixture(scope="module")
def described(first_hour: Workload) -> Description:
    return describe(first_hour)


def test_google_machines_are_those_of_the_description(
    first_hour: Workload, described: Description
) -> None:
    assert (described.machines, described.machines_ever) == (12_477, 12_583)
    assert described.configurations == 10
    cpu, memory = (units / 10**8 for units in described.capacity)
    assert (round(cpu, 2), round(memory, 2)) == (6_603.25, 5_862.75)
    assert noted(first_hour, "found 37780 machine events of 12583 machines")


def test_google_machines_of_each_configuration(first_hour: Workload) -> None:
    capacity = first_hour.machines.capacity[at_start(first_hour.machines)]
    shapes, counts = np.unique(capacity, axis=0, return_counts=True)
    found = {tuple(shape): count for shape, count in zip(shapes.tolist(), counts, strict=True)}
    assert found[50_000_000, 49_950_000] == 6_672
    assert found[100_000_000, 100_000_000] == 788
    assert sorted(found.values())[:3] == [1, 3, 4]


def test_google_first_hour_is_that_of_the_description(
    first_hour: Workload, described: Description
) -> None:
    assert described.tasks == 181_841
    assert described.tenants == 516
    assert noted(first_hour, "181841 tasks of 4616 jobs by 516 users were submitted")
    assert noted(first_hour, "190926 tasks of 4895 jobs have an event")
    assert noted(first_hour, "201491 submissions, 189994 schedulings and 43237 finishes")
    assert noted(first_hour, "144339 of these tasks were there when the trace began")
    assert noted(first_hour, "the job events name 27105 jobs of 587 users")


def test_google_jobs_of_the_first_hour_join_to_the_trace(first_hour: Workload) -> None:
    """A job of the trace is split where its tasks differ; together they are the trace's."""
    names = [name for batch in first_hour.batches() for name in batch.names or ()]
    assert len({name.partition(".")[0] for name in names}) == 4_616
    assert len(names) == first_hour.jobs == len(set(names))


def test_google_demands_of_all_tasks_are_those_of_the_description(data_dir: Path) -> None:
    workload = load([data_dir / "google-2011"])
    # The description counts 190,639 whose submission states both; 287 tasks submitted without a
    # demand state it when they are scheduled.
    assert workload.tasks == 190_926
    assert not noted(workload, "missing-demands")
    found = describe(workload)
    pairs = {
        tuple(row)
        for batch in workload.batches()
        for row in np.unique(batch.demand, axis=0).tolist()
    }
    assert len(pairs) == found.demand_vectors == 1_459 + 1
    cpu, memory = (percent(values, 50) / 10**8 for values in found.demands)
    assert (round(cpu, 3), round(memory, 3)) == (0.031, 0.025)
    assert [percent(values, 100) / 10**8 for values in found.demands] == [0.5, 0.9551]


def test_google_tasks_present_at_time_0_overload_the_cluster(first_hour: Workload) -> None:
    capacity = first_hour.machines.capacity[at_start(first_hour.machines)].sum(axis=0)
    asked = sum(
        (batch.tasks[batch.submit == 0] @ batch.demand[batch.submit == 0])
        for batch in first_hour.batches()
    )
    cpu, memory = asked / capacity
    # The description has 1.16 and 1.02, without the 291 tasks whose submission states no demand.
    assert (round(cpu, 2), round(memory, 2)) == (1.16, 1.03)


@pytest.mark.parametrize("form", Form, ids=lambda form: form.value)
def test_google_first_hour_survives_conversion(
    form: Form, first_hour: Workload, tmp_path: Path
) -> None:
    write(first_hour, tmp_path / "hour", form)
    assert_same(first_hour, load([tmp_path / "hour"]))


NODES, PODS = "openb_node_list_all_node.csv", "openb_pod_list_gpuspec33.csv"


@pytest.fixture(scope="module")
def openb(data_dir: Path) -> Workload:
    """Alibaba 2023 with GPU models that a third of the GPU pods ask for."""
    folder = data_dir / "alibaba-gpu-2023"
    given = {"arrivals": "backlog", "durations": "lifetime"}
    return load([folder / NODES, folder / PODS], options=given)


def test_openb_nodes_are_those_of_the_description(openb: Workload) -> None:
    found = describe(openb)
    assert (found.machines, found.configurations) == (1_523, 27)
    assert found.capacity == (125_514_000, 597_684 * 1024, 6_212_000)
    models = [labels["gpu-model"] for labels in openb.machines.labels if labels]
    assert len(models) == 1_213
    gpus = dict.fromkeys(models, 0)
    for labels, (_, _, gpu) in zip(openb.machines.labels, openb.machines.capacity, strict=True):
        if labels:
            gpus[labels["gpu-model"]] += int(gpu) // 1000
    assert gpus == {
        "G2": 4_392, "T4": 842, "G3": 312, "P100": 265, "V100M32": 204, "V100M16": 195, "A10": 2,
    }  # fmt: skip


def test_openb_pods_are_those_of_the_description(openb: Workload) -> None:
    found = describe(openb)
    assert (found.jobs, found.constrained_jobs, found.demand_vectors) == (8_152, 2_388, 151)
    assert (found.nowhere_jobs, found.nowhere_tasks) == (1, 1)
    assert [percent(found.durations, which) for which in (10, 50, 90, 99)] == [
        80 * S, 540 * S, 6_574 * S, 99_719 * S,
    ]  # fmt: skip
    cpu, memory, gpu = found.at_once
    assert cpu is not None
    assert memory is not None
    assert gpu is not None
    assert (round(gpu, 2), round(cpu, 2), round(memory, 2)) == (0.98, 0.68, 0.50)
    jobs = {text: (count, machines) for text, count, machines in found.terms}
    assert jobs["gpu-model in (T4)"][0] == 1_291
    assert jobs["gpu-model in (G2)"][0] == 331
    assert jobs["gpu-model in (P100)"][0] == 279
    assert jobs["gpu-model in (P100, V100M16, V100M32)"][0] == 103
    machines = [machines for _, machines in jobs.values()]
    assert (min(machines), max(machines)) == (30, 1_174)


def test_openb_parts_of_gpus_are_pieces(openb: Workload) -> None:
    parts = sum(
        int(((batch.demand[:, 2] > 0) & (batch.demand[:, 2] < 1000)).sum())
        for batch in openb.batches()
    )
    assert parts == 3_078


@pytest.mark.parametrize(
    ("pods", "count", "constrained"),
    [
        ("default", 8_152, 0), ("gpuspec05", 8_152, 369), ("gpuspec10", 8_152, 732),
        ("gpuspec20", 8_152, 1_444), ("gpuspec25", 8_152, 1_759), ("cpu0", 7_064, None),
        ("cpu100", 7_853, None), ("cpu300", 10_094, None), ("gpushare40", 8_152, None),
        ("multigpu20", 8_324, 0),
    ],
)  # fmt: skip
def test_every_pod_list_is_read(
    pods: str, count: int, constrained: int | None, data_dir: Path
) -> None:
    workload = load([data_dir / "alibaba-gpu-2023" / f"openb_pod_list_{pods}.csv"])
    found = describe(workload)
    assert found.jobs == count
    if constrained is not None:
        assert found.constrained_jobs == constrained


def test_the_whole_openb_folder_is_refused(data_dir: Path) -> None:
    with pytest.raises(InputError, match="2 node lists of the same cluster; give one node list"):
        load([data_dir / "alibaba-gpu-2023"])


def test_machine_lists_are_those_of_their_descriptions(data_dir: Path) -> None:
    older = describe(load([data_dir / "alibaba-gpu-2020-machines"]))
    assert (older.machines, older.configurations) == (1_897, 7)
    newer = load([data_dir / "alibaba-spot-gpu-2026-nodes"])
    found = describe(newer)
    assert (found.machines, found.configurations) == (4_278, 10)
    assert found.capacity[1] == 10_412_000


def test_philly_jobs_are_those_of_the_description(data_dir: Path) -> None:
    workload = load([data_dir / "philly-2017-jobs"])
    found = describe(workload)
    assert (found.jobs, found.tenants) == (82_247, 15)
    (batch, *_) = workload.batches()
    jobs = np.concatenate([each.tasks for each in workload.batches()])
    assert [int((jobs == size).sum()) for size in (4, 2, 8, 16)] == [1_870, 1_818, 1_643, 199]
    durations = np.concatenate([each.durations for each in workload.batches()]) // S
    assert [
        int(np.percentile(durations, which, method="inverted_cdf")) for which in (10, 50, 90, 99)
    ] == [61, 1_144, 11_266, 254_884]
    assert batch.submit[0] == 0


@pytest.mark.parametrize(
    ("file", "jobs", "no_shuffle", "single"),
    [
        ("FB-2009_samples_24_times_1hr_0.tsv", 5_894, 4_448, 87.7),
        ("FB-2009_samples_24_times_1hr_1.tsv", 6_638, 4_833, 82.5),
        ("FB-2010_samples_24_times_1hr_0.tsv", 24_442, 8_324, 64.5),
        ("FB-2010_samples_24_times_1hr_withInputPaths_0.tsv", 25_428, None, None),
    ],
)
def test_swim_jobs_are_those_of_the_description(
    file: str, jobs: int, no_shuffle: int | None, single: float | None, data_dir: Path
) -> None:
    workload = load([data_dir / "facebook-swim" / file])
    assert workload.jobs == jobs
    maps = np.concatenate([batch.tasks for batch in workload.batches()])
    if no_shuffle is not None:
        assert noted(workload, f"{no_shuffle} of them without a shuffle")
        assert round(100 * float((maps == 1).mean()), 1) == single


def test_google_2019_sample_is_that_of_the_description(data_dir: Path) -> None:
    given = {"alloc-sets": "keep"}
    workload = load([data_dir / "google-2019-sample"], options=given)
    assert noted(workload, "not a workload")
    assert noted(workload, "found 405894 events of 4057 collections")
    assert noted(workload, "242946 distinct instances")
    assert len(workload.tenants) == 888
    first: JobBatch = next(workload.batches())
    assert first.submit[0] == 0
