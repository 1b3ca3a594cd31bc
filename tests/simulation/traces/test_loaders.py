"""The loaders of smaller formats, from small files made up in those formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.errors import InputError
from fairlead.simulation.traces.registry import load
from fairlead.simulation.workload import JobBatch, Workload
from tests.simulation.traces.same import jobs_of

S = 1_000_000

NODES = """\
sn,cpu_milli,memory_mib,gpu,model
n0,32000,262144,0,
n1,96000,786432,8,V100M32
n2,64000,262144,2,T4
"""

PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p0,4000,1024,1,460,T4|V100M32,LS,Running,10,100,40
p1,8000,2048,2,1000,V100M32|T4|T4,LS,Running,5,20,5
p2,1000,512,0,0,,BE,Pending,7,9,
"""

LIST_2020 = "machine,gpu_type,cap_cpu,cap_mem,cap_gpu\na,CPU,96,512,0\nb,T4,96,512,2\n"

LIST_2026 = "gpu_model,gpu_capacity_num,cpu_num,node_name\nH800,8,192,x\nA10,1,128,y\n"

PHILLY = """\
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,east
2017-10-09 07:00:00,10.5,4,42.0,west
"""

SWIM = "job0\t5\t5\t268435457\t10\t20\njob1\t3\t0\t0\t0\t7\n"

INSTANCES = """\
row_id,time_us,event_type,collection_id,instance_index,collection_type,alloc_collection_id,machine_id,user,scheduling_class,priority,cpu_request,memory_request,start_time_us,end_time_us,constraint_attributes,constraint_relations,constraint_values
0,5000000,2,7,0,0,0,9,ann,3,200,0.5,0.0008554458618164062,1,2,a00;a01,3;1,2;v5
1,4000000,0,7,0,0,0,9,ann,3,200,0.25,0.25,1,2,a01,1,v5
2,4000000,0,7,1,0,0,9,ann,3,200,0.25,0.25,1,2,a01,1,v5
3,6000000,0,8,0,0,0,9,,3,200,0.25,0.25,1,2,a00;a01,0;1,1;?
4,6000000,0,9,0,1,0,9,ann,3,200,0.25,0.25,1,2,,,
5,9223372036854775808,0,10,0,0,0,9,ann,3,200,0.25,0.25,1,2,,,
6,6000000,0,11,0,0,0,9,ann,3,200,,0.25,1,2,,,
"""


def made(folder: Path, **texts: str) -> list[Path]:
    files = []
    for name, text in texts.items():
        files.append(folder / name)
        files[-1].write_text(text)
    return files


def only(workload: Workload) -> JobBatch:
    (batch,) = workload.batches()
    return batch


def test_pods_are_jobs_of_one_task(tmp_path: Path) -> None:
    workload = load(made(tmp_path, nodes=NODES, pods=PODS))
    assert workload.machines.names == ("n0", "n1", "n2")
    assert [dict(labels) for labels in workload.machines.labels] == [
        {}, {"gpu-model": "V100M32"}, {"gpu-model": "T4"},
    ]  # fmt: skip
    assert workload.machines.capacity.tolist()[1] == [96000, 786432, 8000]
    assert [(each.name, each.piece) for each in workload.resources][2] == ("gpu", 1000)
    batch = only(workload)
    assert batch.names == ("p1", "p2", "p0")
    assert batch.demand.tolist() == [[8000, 2048, 2000], [1000, 512, 0], [4000, 1024, 460]]
    assert batch.submit.tolist() == [5 * S, 7 * S, 10 * S]
    assert batch.durations.tolist() == [15 * S, 2 * S, 60 * S]
    assert batch.tenant.tolist() == [-1, -1, -1]


def test_gpu_models_of_pods_are_sets(tmp_path: Path) -> None:
    workload = load(made(tmp_path, pods=PODS))
    term = Requirement("gpu-model", Operator.IN, ("T4", "V100M32"))
    assert workload.terms == (term,)
    assert [job["needs"] for job in jobs_of(workload)] == [[term], [], [term]]


def test_options_of_pods_say_when_they_come_and_whose_they_are(tmp_path: Path) -> None:
    files = made(tmp_path, pods=PODS)
    assert only(load(files, options={"arrivals": "backlog"})).submit.tolist() == [0, 0, 0]
    assert only(load(files, options={"speed": "2"})).submit.tolist() == [2500000, 3500000, 5 * S]
    lifetime = only(load(files, options={"durations": "lifetime"}))
    assert lifetime.durations.tolist() == [15 * S, 2 * S, 90 * S]
    shared = load(files, options={"tenants": "2", "seed": "1"})
    assert [tenant.name for tenant in shared.tenants] == ["tenant-0", "tenant-1"]
    assert set(only(shared).tenant.tolist()) <= {0, 1}
    assert "tenants=2, seed=1" in str(shared.notes)


def test_pods_without_times_come_at_once(tmp_path: Path) -> None:
    rows = [",".join(line.split(",")[:5]) for line in PODS.splitlines()]
    workload = load(made(tmp_path, pods="\n".join(rows)), options={"missing-durations": "5m"})
    assert only(workload).submit.tolist() == [0, 0, 0]
    assert only(workload).durations.tolist() == [300 * S] * 3
    assert "missing-durations=5m: assumed for all" in workload.notes


def test_two_lists_of_the_same_pods_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="are 2 pod lists of the same cluster; give one pod list"):
        load(made(tmp_path, one=PODS, two=PODS))


def test_machine_lists_have_no_jobs(tmp_path: Path) -> None:
    workload = load(made(tmp_path, machines=LIST_2020))
    assert [each.name for each in workload.resources] == ["cpu", "memory", "gpu"]
    assert workload.machines.capacity.tolist() == [[96000, 524288, 0], [96000, 524288, 2000]]
    assert [dict(labels) for labels in workload.machines.labels] == [{}, {"gpu-model": "T4"}]
    assert (workload.jobs, list(workload.batches())) == (0, [])
    decimal = load([tmp_path / "machines"], options={"gb": "GB"})
    assert decimal.machines.capacity[0, 1] * decimal.resources[1].unit == 512 * 10**9
    nodes = load(made(tmp_path, nodes_2026=LIST_2026))
    assert [each.name for each in nodes.resources] == ["cpu", "gpu"]
    assert nodes.machines.capacity.tolist() == [[192000, 8000], [128000, 1000]]
    assert "says nothing of memory" in str(nodes.notes)


def test_machines_of_one_trace_serve_the_jobs_of_another(tmp_path: Path) -> None:
    jobs, machines = made(tmp_path, jobs=PHILLY, machines=LIST_2020)
    workload = load([jobs], machines=[machines])
    assert workload.machines.names == ("a", "b")
    assert workload.machines.capacity.tolist() == [[0], [2000]]
    assert "left out of the machines, since no job asks for it: cpu, memory" in workload.notes
    assert workload.options["machines.gb"] == "GiB"


def test_machines_that_lack_a_resource_are_refused(tmp_path: Path) -> None:
    pods, machines = made(tmp_path, pods=PODS, machines=LIST_2026)
    with pytest.raises(InputError, match="alibaba-spot-gpu-2026 have no memory, which the jobs"):
        load([pods], machines=[machines])


def test_machines_whose_amounts_are_no_units_of_the_jobs_are_refused(tmp_path: Path) -> None:
    tasks, machines = made(
        tmp_path,
        tasks="601000000,,12,0,,0,bob,1,0,0.1,0.1,0,0\n",
        machines="gpu_model,gpu_capacity_num,cpu_num,node_name\nH800,8,3,x\n",
    )
    given = {"missing-durations": "1s", "unit": "1/7"}
    with pytest.raises(InputError, match=r"cpu is 0\.1, which is finer than its unit 1/7"):
        load([tasks], options=given)
    swim = made(tmp_path, swim=SWIM)
    with pytest.raises(InputError, match="have no memory"):
        load(swim, machines=[machines])


def test_a_philly_job_is_a_gang_of_gpus(tmp_path: Path) -> None:
    workload = load(made(tmp_path, jobs=PHILLY))
    batch = only(workload)
    assert [workload.tenants[tenant].name for tenant in batch.tenant] == ["west", "east"]
    assert batch.submit.tolist() == [0, 115 * S]
    assert (batch.tasks.tolist(), batch.gang.tolist()) == ([4, 1], [4, 1])
    assert batch.demand.tolist() == [[1000], [1000]]
    assert batch.durations.tolist() == [10_500_000, 66 * S]
    assert batch.first.tolist() == [0, 1, 2]
    assert workload.tasks == 5


def test_a_philly_job_may_be_one_task(tmp_path: Path) -> None:
    batch = only(load(made(tmp_path, jobs=PHILLY), options={"task": "job"}))
    assert (batch.tasks.tolist(), batch.gang.tolist()) == ([1, 1], [1, 1])
    assert batch.demand.tolist() == [[4000], [1000]]


def test_swim_has_a_map_for_so_many_bytes(tmp_path: Path) -> None:
    workload = load(made(tmp_path, jobs=SWIM))
    batch = only(workload)
    assert batch.names == ("job1", "job0")
    assert batch.submit.tolist() == [3 * S, 5 * S]
    assert batch.tasks.tolist() == [1, 3]
    # 12.8 s for 128 MiB, a microsecond for one byte, and a second to start.
    assert batch.durations.tolist() == [S, 13_800_000, 13_800_000, S + 1]
    assert batch.demand.tolist() == [[1000, 1024]] * 2
    assert "2 jobs, 1 of them without a shuffle" in workload.notes[0]


def test_options_of_swim_change_sizes_and_demands(tmp_path: Path) -> None:
    options = {"bytes-per-task": "256MiB", "bytes-per-second": "256MiB", "start-up": "0s"}
    batch = only(load(made(tmp_path, jobs=SWIM), options={**options, "cpu": "500m"}))
    assert batch.tasks.tolist() == [1, 2]
    assert batch.durations.tolist() == [0, S, 1]
    assert batch.demand[:, 0].tolist() == [500, 500]


def test_instances_of_2019_are_grouped_with_their_constraints(tmp_path: Path) -> None:
    workload = load(made(tmp_path, events=INSTANCES))
    kept = Requirement("a01", Operator.NOT_EQUAL, ("v5",))
    lossy = Requirement("a00", Operator.EQUAL, ("1",))
    jobs = jobs_of(workload)
    quarter = 2**18
    assert [(job["submit"], job["tasks"], job["tenant"], job["needs"]) for job in jobs] == [
        (4 * S, 2, "ann", [kept]), (6 * S, 1, None, [lossy]),
    ]  # fmt: skip
    assert [job["demand"] for job in jobs] == [[quarter, quarter]] * 2
    assert all(job["durations"] == [300 * S] * job["tasks"] for job in jobs)
    notes = str(workload.notes)
    assert "a sample of events, not a workload" in notes
    assert "lost-values=leave-out: in 1 instances" in notes
    assert "alloc-sets=leave-out: 1 instances in them" in notes


def test_options_of_2019_keep_or_drop_instances(tmp_path: Path) -> None:
    files = made(tmp_path, events=INSTANCES)
    assert load(files, options={"alloc-sets": "keep"}).tasks == 4
    assert load(files, options={"lost-values": "task"}).tasks == 2


def test_requests_of_2019_are_doubles(tmp_path: Path) -> None:
    """The least decimals of 897/2^20 are not that number, but mean it."""
    rows = INSTANCES.splitlines(keepends=True)
    batch = only(load(made(tmp_path, events="".join(rows[:2]))))
    assert batch.demand.tolist() == [[2**19, 897]]


def test_as_many_relations_as_attributes(tmp_path: Path) -> None:
    wrong = INSTANCES.replace("a00;a01,3;1,2;v5", "a00;a01,3,2;v5").replace(",a01,1,v5", ",,,")
    with pytest.raises(InputError, match=r"2 attributes, 1 relations and\s+2 values"):
        load(made(tmp_path, events="".join(wrong.splitlines(keepends=True)[:2])))
