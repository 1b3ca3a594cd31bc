"""A table of one's own, a row a job, as a workload: what its columns mean and what is refused."""

from __future__ import annotations

import gzip
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fairlead.model.constraint import Operator, Requirement
from fairlead.model.errors import InputError
from fairlead.simulation.traces.on_cluster import on_cluster, read_cluster
from fairlead.simulation.traces.registry import load
from fairlead.simulation.workload import JobBatch, Resource, Workload
from fairlead.simulation.workloads.described import read_described
from tests.simulation.traces.same import jobs_of

S = 1_000_000
GI = 2**30

TABLE = """\
job,user,submit,duration,cpus,memory,gpus,tasks,gang,where,partition
train,vision,2026-01-05T08:00:00,2h,4,32GiB,1,12,4,"gpu-model in (a100, t4)",gpu
tune,vision,2026-01-05 08:10:00.5,90.25,2,16GiB,0.5,6,,,gpu
nightly,ops,2026-01-05T10:00:00+01:00,600,8,16GiB,,30,,,batch
sweep,,2026-01-05T08:05:00Z,15m,500m,512MiB,0,,,,batch
"""

HEADER = "submit,duration,cpu\n"

MANY = (
    ":2:1: the line has 4 fields, not 3; write one field for each column, and one that holds a"
    " comma in quotes"
)

CLUSTER = """\
machines:
  - {name: "c[1-2]", capacity: {cpu: 10, memory: 96GiB}}
  - {name: g, capacity: {cpu: 32, memory: 256GiB, gpu: 4, disk: 7}, labels: {gpu-model: a100}}
devices: [gpu]
tenants:
  - {name: ops}
  - {name: vision, weight: 2}
"""

SAME = """\
jobs:
  - {name: train, tenant: vision, duration: 2h, demand: {cpu: 4, memory: 32GiB, gpu: 1}, tasks: 12,
     gang: 4, where: "gpu-model in (a100, t4)", arrive: 0}
  - {name: sweep, duration: 15m, demand: {cpu: 500m, memory: 512MiB}, tasks: 1, arrive: 5m}
  - {name: tune, tenant: vision, duration: 90.25s, demand: {cpu: 2, memory: 16GiB, gpu: 0.5},
     tasks: 6, arrive: 600.5s}
  - {name: nightly, tenant: ops, duration: 600s, demand: {cpu: 8, memory: 16GiB}, tasks: 30,
     arrive: 1h}
"""


def saved(folder: Path, text: str, name: str = "jobs.csv") -> Path:
    file = folder / name
    file.write_bytes(text.encode())
    return file


def only(workload: Workload) -> JobBatch:
    (batch,) = workload.batches()
    return batch


def refusal(folder: Path, text: str, **more: object) -> str:
    """What is told of such a table, without the folder."""
    with pytest.raises(InputError) as error:
        load([saved(folder, text)], **more)  # type: ignore[arg-type]  # whatever load takes
    return str(error.value).replace(f"{folder}/", "")


def test_each_row_is_a_job_in_the_order_of_submission(tmp_path: Path) -> None:
    workload = load([saved(tmp_path, TABLE)])
    batch = only(workload)
    assert workload.name == "jobs"
    assert batch.names == ("train", "sweep", "tune", "nightly")
    assert batch.submit.tolist() == [0, 300 * S, 600 * S + S // 2, 3600 * S]
    assert batch.durations.tolist() == [7200 * S, 900 * S, 90 * S + S // 4, 600 * S]
    assert batch.expected is not None
    assert batch.expected.tolist() == batch.durations.tolist()
    assert batch.tasks.tolist() == [12, 1, 6, 30]
    assert batch.gang.tolist() == [4, 1, 1, 1]
    assert [tenant.name for tenant in workload.tenants] == ["vision", "ops"]
    assert batch.tenant.tolist() == [0, -1, 0, 1]
    assert workload.resources == (
        Resource("cpu", Fraction(1, 2)), Resource("memory", Fraction(GI, 2)),
        Resource("gpu", Fraction(1, 2), piece=2),
    )  # fmt: skip
    assert batch.demand.tolist() == [[8, 64, 2], [1, 1, 0], [4, 32, 1], [16, 32, 0]]
    assert [job["needs"] for job in jobs_of(workload)] == [
        [Requirement("gpu-model", Operator.IN, ("a100", "t4"))], [], [], [],
    ]  # fmt: skip


def test_what_was_found_and_what_is_not_read_is_stated(tmp_path: Path) -> None:
    assert load([saved(tmp_path, TABLE)]).notes == (
        "found 4 jobs of 2 tenants",
        "time 0 is 2026-01-05 08:00:00 UTC, when the first came",
        "columns that are not read: partition",
    )
    plain = "submit,duration,cpu,\n12.5,0,1,x\n20s,1,1,y\n"
    assert load([saved(tmp_path, plain)]).notes == (
        "found 2 jobs of 0 tenants",
        "time 0 is 12.5s, when the first came",
        "1 job with a duration of 0: taken as 1us",
        "columns that are not read: number 4, which has no name",
    )


def test_the_same_jobs_as_yaml_are_the_same_workload(tmp_path: Path) -> None:
    cluster = saved(tmp_path, CLUSTER, "cluster.yaml")
    table = load([cluster, saved(tmp_path, TABLE)])
    yaml = read_described([str(cluster), str(saved(tmp_path, SAME, "same.yaml"))], {}, 0)
    assert jobs_of(table) == jobs_of(yaml)
    assert table.resources == yaml.resources
    assert table.tenants == yaml.tenants
    assert table.machines.names == yaml.machines.names == ("c1", "c2", "g")
    assert table.machines.labels == yaml.machines.labels
    assert np.array_equal(table.machines.capacity, yaml.machines.capacity)
    assert table.notes[-1] == f"the machines are those of {cluster}"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: text.replace("submit,dur", " Submit , dur").replace(",4,32GiB", ", 4 ,32GiB "),
        lambda text: text.replace("job,user,submit", "name,tenant,arrive"),
        lambda text: text.replace("cpus,memory,gpus", "demand.cpu,demand.memory,GPU"),
    ],
    ids=["plain", "bom", "crlf", "blank lines", "spaces", "other words", "demand"],
)
def test_tables_as_programs_write_them_are_the_same(change: object, tmp_path: Path) -> None:
    plain = jobs_of(load([saved(tmp_path, TABLE)]))
    assert callable(change)
    assert jobs_of(load([saved(tmp_path, change(TABLE))])) == plain


def test_tables_with_tabs_and_compressed_ones_are_read(tmp_path: Path) -> None:
    text = "submit\tduration\tcpu\tuser\n0\t5m\t2\ta,b\n"
    packed = tmp_path / "jobs.tsv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    for file in (saved(tmp_path, text, "jobs.tsv"), packed):
        assert [tenant.name for tenant in load([file]).tenants] == ["a,b"]
    packed.write_bytes(gzip.compress(text.replace("5m", "5 minutes").encode()))
    with pytest.raises(InputError, match=r"jobs\.tsv\.gz:2:3: duration: "):
        load([packed])


def test_what_spreadsheets_and_other_programs_write_is_read(tmp_path: Path) -> None:
    table = saved(tmp_path, TABLE.replace(',"gpu-model in (a100, t4)"', ","))
    jobs = jobs_of(load([table]))
    spreadsheet = f"\ufeff{table.read_text().replace(',', ';')}".replace("\n", "\r\n")
    assert jobs_of(load([saved(tmp_path, spreadsheet, "semicolons.csv")])) == jobs
    clocks = table.read_text().replace("2h", "02:00:00").replace("90.25", "0 days 00:01:30.25")
    assert jobs_of(load([saved(tmp_path, clocks.replace("600,8", "0-00:10:00,8"))])) == jobs
    long = saved(tmp_path, HEADER + "0,2-26:00:01,1\n0,1 day 00:00:00.0000019,1\n")
    assert only(load([long])).durations.tolist() == [(74 * 3600 + 1) * S, 86400 * S + 1]


def test_rows_in_which_nothing_stands_are_left_out_and_counted(tmp_path: Path) -> None:
    workload = load([saved(tmp_path, HEADER + ",,\n5,1,1\n,,\n,,\n7,1,2\n,,\n")])
    assert only(workload).submit.tolist() == [0, 2 * S]
    assert "left out: 4 rows with nothing in the columns read" in workload.notes


def test_memory_of_a_few_bytes_is_stated(tmp_path: Path) -> None:
    text = "submit,duration,memory\n0,1,32\n0,1,0.5\n"
    told = "memory without a unit is bytes: no task asks for more than 32 bytes"
    assert told in load([saved(tmp_path, text)]).notes
    notes = load([saved(tmp_path, text.replace("32", "1MiB"))]).notes
    assert not any("bytes" in note for note in notes)


@pytest.mark.parametrize(
    ("begins", "told"),
    [
        (b"", " is empty; give a file with lines"),
        (b"PK\x03\x04\x14", " is an archive or a spreadsheet; save the table as CSV"),
        (b"PAR1\x15", " is a Parquet file; write the table as CSV"),
        (b"BZh91AY", " is compressed by bzip2; unpack it, or compress it by gzip"),
        (HEADER.encode("utf-16"), " is UTF-16; save it as UTF-8"),
        (b"submit|duration|cpu\n0|1|1\n", ':1:1: "submit|duration|cpu" begins no table of any'),
        (b"0,1,1\n", ':1:1: "0,1,1" begins no table of any format'),
    ],
)
def test_what_is_no_table_is_said(begins: bytes, told: str, tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_bytes(begins)
    with pytest.raises(InputError) as error:
        load([file])
    assert f"jobs.csv{told}" in str(error.value)


def test_what_is_compressed_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_bytes(gzip.compress(f"{HEADER}0,1,1\n".encode()))
    assert load([file]).jobs == 1
    broken = bytearray(file.read_bytes())
    broken[10] = 0xFF
    file.write_bytes(broken)
    with pytest.raises(InputError, match=r"jobs\.csv cannot be read: "):
        load([file])


def test_any_resource_is_named_after_demand(tmp_path: Path) -> None:
    text = "submit,duration,demand.licence,demand.fpga\n0,1,3,0.5\n0,1,0,2\n"
    workload = load([saved(tmp_path, text)], options={"devices": "fpga, gpu"})
    assert [(each.name, each.piece) for each in workload.resources] == [("licence", 0), ("fpga", 2)]
    assert only(workload).demand.tolist() == [[1, 1], [0, 4]]
    without = load([saved(tmp_path, text.replace("2\n", "1.5\n"))], options={"devices": "none"})
    assert [each.piece for each in without.resources] == [0, 0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEADER, ": no row follows its header; write a row for each job"),
        (HEADER + "-1,1,1\n", ':2:1: submit: -1 is less than 0; write 0 or more'),
        (HEADER + "0,-1,1\n", ':2:3: duration: -1 is less than 0; write 0 or more'),
        (HEADER + "0,1,1\n0,1,-1\n", ':3:5: cpu: -1 is negative; write 0 or more'),
        (HEADER + "0,nan,1\n", ':2:3: duration: "nan" is not a duration; write a number and'),
        (HEADER + "0,1,NaN\n", ':2:5: cpu: "NaN" is not a quantity; write a finite number'),
        (HEADER + "0,1 h,1\n", ':2:3: duration: "1 h" is not a duration; write a number and'),
        (HEADER + "0,1,64gib\n", ':2:5: cpu: "64gib" is not a quantity; write 64G'),
        (HEADER + "0,,1\n", ":2:3: duration: nothing stands there; write a value"),
        (HEADER + "0, ,1\n", ":2:3: duration: nothing stands there; write a value"),
        (HEADER + "0,1,0\n", ":2:5: cpu: a task that needs nothing at all has no share"),
        (HEADER + "1767600000000,1,1\n", ":2:1: submit: 1767600000000 is too long"),
        (HEADER + "0,1e400,1\n", ':2:3: duration: "1e400" is too large'),
        (HEADER + "0,1,1e20\n0,1,0.1\n", ":2:5: cpu: an amount is 2^53 times 1/10 or more"),
        (HEADER + "0001-01-01,1,1\n2026-01-01,1,1\n", ":3:1: submit: it is more than 100000d"),
        (HEADER + "2026-01-05,1,1\n5,1,1\n", ':3:1: submit: "5" is no date and time'),
        (HEADER + "5,1,1\n2026-01-05,1,1\n", ':3:1: submit: "2026-01-05" is a date and time'),
        (HEADER + "2026-13-05,1,1\n", ':2:1: submit: "2026-13-05" is no date and time'),
        (HEADER + "0,1\n", ":2:1: the line has 2 fields, not 3"),
        (HEADER + "\n0,1,1\n\n0,1,x\n", ':5:5: cpu: "x" is not a quantity'),
        (HEADER + "05.01.2026 08:00,1,1\n", ':2:1: submit: "05.01.2026 08:00" is neither seconds'),
        (HEADER + "0,1:30,1\n", ':2:3: duration: "1:30" is not a duration; write a number and'),
        (HEADER + "0,3000000:00:00,1\n", ":2:3: duration: 3000000:00:00 is too long"),
        (HEADER + ",,\n0,1,1\n,,\n0,1,x\n", ':5:5: cpu: "x" is not a quantity'),
        (HEADER + ",,\n,,\n", ": no row follows its header; write a row for each job"),
        (HEADER + ",1,1\n", ":2:1: submit: nothing stands there; write a value"),
        ("submit;duration;cpu\n0;1;0,5\n", ':2:5: cpu: "0,5" is not a quantity; write 0.5 with'),
        ("submit;duration;cpu\n0;1;2;3\n", ":2:1: the line has 4 fields, not 3; write one field"),
        (HEADER + "0,1,2,3\n", MANY),
        ('user,submit,duration,cpu\n"a,b",0,1,x\n', ':2:11: cpu: "x" is not'),
        ('user,submit,duration,cpu\n"a""b",0,1,x\n', ':2:12: cpu: "x" is not'),
        ('user,submit,duration,cpu\na""b,0,"1",x\n', ':2:12: cpu: "x" is not'),
        ('note,submit,duration,cpu\n"a\n\nb",0,1,x\n', ':4:8: cpu: "x" is not'),
        ('note,submit,duration,cpu\r\n"a\r\nb",0,1,x\r\n', ':3:8: cpu: "x" is not'),
        ('"a,b","submit",duration,cpu,cpu\n', ":1:29: the column cpu is there twice"),
        ('note,submit,duration,cpu\n"a,0,1,1\nb,0,1,1\n', ":2:1: the quotes that begin here do"),
        (HEADER[:-1] + ',note\n0,1,1,"a\n1,1,1,b\n2,1,1,c\n', ":2:7: the quotes that begin"),
        (HEADER[:-1] + ',note\n0,1,1,"a\n1,1,1,b\n2,1,1,"c"\n', ":2:7: the quotes that begin"),
        (HEADER[:-1] + ',note\n0,1,1,a\n1,1,1,"b', ":3:7: the quotes that begin here do not"),
        (HEADER[:-1] + ',n\r\n\r\n0,1,1,"a\r\n1,1,1,"b"\r\n', ":3:7: the quotes that begin here"),
        ("submit,duration,cpu,cpus\n0,1,1,1\n", ":1:21: the columns cpu and cpus say the same"),
        ("submit,duration,cpu,submit\n0,1,1,1\n", ":1:21: the column submit is there twice"),
        ("submit,duration\n0,1\n", ":1:1: no column is a resource; write what a task asks"),
        ("duration,cpu\n1,1\n", ":1:1: the column submit is missing; write when each job"),
        ("submit,cpu\n1,1\n", ":1:1: the column duration is missing; write how long"),
        ("submit,duration,gpu\n0,1,1.5\n0,1,.3\n", ":2:5: gpu: a task takes a part of one de"),
        ("submit,duration,cpu,tasks\n0,1,1,1.5\n", ":2:7: tasks: 1.5 is not a number of ta"),
        ("submit,duration,cpu,tasks\n0,1,1,1e30\n", ":2:7: tasks: 1e30 are too many tasks"),
        ("submit,duration,cpu,gang\n0,1,1,2\n", ":2:7: gang: a gang of 2 is more than all 1"),
        ("job,submit,duration,cpu\na,0,1,1\na ,0,1,1\n", ":3:1: job: a job before it is call"),
        ("submit,duration,cpu,where\n0,1,1,zone =\n", ":2:7: where: the constraint does not"),
        ("submit,duration,cpu,user\n0,1,1,a\x1bb\n", ":2:7: user: the name 'a\\x1bb' begins"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_place(text: str, told: str, tmp_path: Path) -> None:
    assert f"jobs.csv{told}" in refusal(tmp_path, text)


@pytest.mark.parametrize(
    ("note", "jobs"),
    [
        ('"a\nb"', 2),
        ('"a\nb ""quoted"", c"', 2),
        ('5" disks', 2),
        ('5" disks\n\n', 2),
        ('""', 2),
        ('"a""b"', 2),
        ('"a"b', 2),
    ],
)
def test_quotes_that_are_meant_are_read(note: str, jobs: int, tmp_path: Path) -> None:
    text = f"submit,duration,cpu,note\n0,1,1,{note}\n1,1,1,c\n"
    assert load([saved(tmp_path, text)]).jobs == jobs


def test_the_first_mistake_of_every_column_is_told_in_their_order(tmp_path: Path) -> None:
    text = HEADER + "0,1,1\n" * 8 + "0,1,a\n" + "x,1,b\nz,y,1\n"
    assert [line.partition(": ")[0] for line in refusal(tmp_path, text).splitlines()] == [
        "jobs.csv:10:5", "jobs.csv:11:1", "jobs.csv:12:3",
    ]  # fmt: skip


def test_a_file_that_is_not_utf8_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_bytes(HEADER.encode() + b"0,1,1\n0,\xe9,1\n")
    with pytest.raises(InputError, match=r"jobs.csv:3:3: the file is not UTF-8: byte 0xe9 cannot"):
        load([file])
    file.write_bytes(HEADER.strip().encode() + b",priorit\xe9\n0,1,1,1\n")
    assert load([file]).jobs == 1  # what is not read may be anything
    file.write_bytes(file.read_bytes().replace(b"0,1,1", b"0,1,x"))
    with pytest.raises(InputError, match=r"jobs.csv:2:5: cpu: "):
        load([file])


def test_mistakes_against_the_cluster_are_told_with_their_place(tmp_path: Path) -> None:
    cluster = [saved(tmp_path, CLUSTER, "cluster.yaml")]
    text = "user,submit,duration,gpu\nvision,0,1,1\nvison,0,1,1\n"
    told = 'jobs.csv:3:1: user: there is no tenant "vison"; did you mean "vision"?'
    assert refusal(tmp_path, text, machines=cluster) == told
    assert "leave --set out" in refusal(
        tmp_path, text, machines=cluster, options={"devices": "none"}
    )
    cluster[0].write_text(CLUSTER.partition("tenants")[0])
    implied = load([saved(tmp_path, text)], machines=cluster)
    assert [tenant.name for tenant in implied.tenants] == ["vision", "vison"]


def test_files_that_describe_jobs_are_no_machines_for_a_table(tmp_path: Path) -> None:
    both = saved(tmp_path, CLUSTER + SAME, "both.yaml")
    text = refusal(tmp_path, TABLE, machines=[both])
    assert text.startswith(
        "both.yaml: it describes 4 jobs, and the jobs are the trace's; give a fi"
    )
    cluster = saved(tmp_path, CLUSTER, "cluster.yaml")
    with pytest.raises(InputError, match=r"the machines are those of .* leave one of the two out"):
        load([cluster, saved(tmp_path, TABLE)], machines=[cluster])
    with pytest.raises(InputError, match="there are no machines"):
        load([saved(tmp_path, TABLE)], machines=[saved(tmp_path, "tenants: [{name: a}]", "t.yaml")])


def test_machines_without_what_jobs_ask_for_are_noted(tmp_path: Path) -> None:
    cluster = saved(tmp_path, "machines: [{name: a, capacity: {cpu: 4}}]", "cluster.yaml")
    text = "submit,duration,cpu,memory\n0,1,1,1GiB\n"
    workload = load([cluster, saved(tmp_path, text)])
    assert workload.notes[-1] == "no machine has what jobs ask for: memory"
    assert workload.machines.capacity.tolist() == [[4, 0]]


def test_any_trace_runs_on_machines_that_are_described(tmp_path: Path) -> None:
    table = load([saved(tmp_path, "submit,duration,cpu,gpu,user\n0,1,4,1.5,ops\n")],
                 options={"devices": "none"})  # fmt: skip
    cluster = read_cluster([str(saved(tmp_path, CLUSTER, "cluster.yaml"))])
    with pytest.raises(InputError, match='job "0", demand, gpu: a task takes a part of one device'):
        on_cluster(table, cluster, "it")
    whole = replace(only(table), demand=np.array([[1, 2]]))  # 3 GPUs, in halves and then some
    found = on_cluster(replace(table, batches=lambda: iter([whole])), cluster, "it")
    assert found.resources == (
        Resource("cpu", Fraction(2)), Resource("gpu", Fraction(1, 2), piece=2),
    )  # fmt: skip
    assert only(found).demand.tolist() == [[2, 6]]
    assert found.machines.capacity.tolist() == [[5, 0], [5, 0], [16, 8]]


def test_many_rows_take_the_memory_of_their_numbers(tmp_path: Path) -> None:
    rows = 20_000
    text = "".join(f"{i}.25,{i % 977}.{i % 99991:05},{1 + i % 8},u{i % 50}\n" for i in range(rows))
    file = saved(tmp_path, "submit,duration,cpu,user\n" + text)
    load([saved(tmp_path, HEADER + "0,1,1\n", "small.csv")])  # what is made once is there
    tracemalloc.start()
    try:
        workload = load([file])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert workload.jobs == rows
    assert most < 700 * rows
