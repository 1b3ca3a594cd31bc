"""From Slurm's outputs to frozen values; what a version writes otherwise than others ends here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairlead.engines.slurm.reading.shapes import plain
from fairlead.engines.slurm.reading.values import Association, Gres, Picture, SlurmJob, SlurmNode
from fairlead.model.errors import InputError
from fairlead.model.words import listing

Row = Mapping[str, Any]

NODE_FIELDS = (
    *("name", "cpus", "real_memory", "specialized_memory", "active_features", "gres"),
    *("partitions", "state", "state_flags", "reason"),
    *("temporary_disk", "sockets", "cores", "threads"),
)
JOB_FIELDS = (
    *("job_id", "array_job_id", "array_task_id", "array_task_string", "array_max_tasks", "name"),
    *("user_name", "account", "cluster", "job_state", "state_reason", "partition", "node_count"),
    *("max_nodes", "minimum_cpus_per_node", "tasks", "cpus", "tres_req_str", "tres_per_job"),
    *("tres_per_node", "tres_per_task", "tres_per_socket"),
    *("features", "required_nodes", "excluded_nodes"),
    *("time_limit", "nodes", "shared", "licenses", "resv_name", "het_job_id", "burst_buffer"),
    *("cluster_features", "contiguous", "memory_per_node", "cpus_per_tres"),
    *("start_time", "end_time", "exit_code", "priority", "job_resources", "restart_cnt"),
    "gres_detail",
    *("minimum_tmp_disk_per_node", "sockets_per_node", "cores_per_socket", "threads_per_core"),
)
"""All that is read of a node and of a job: what is saved holds no more."""

READ_FIELDS = (*JOB_FIELDS, "comment", "admin_comment", "dependency", "eligible_time")
"""All that is read of a live job: what only matters to who acts on it is not saved."""

LEAST: Mapping[str, tuple[str, str]] = {
    "--tmp": ("minimum_tmp_disk_per_node", "temporary_disk"),
    "--sockets-per-node": ("sockets_per_node", "sockets"),
    "--cores-per-socket": ("cores_per_socket", "cores"),
    "--threads-per-core": ("threads_per_core", "threads"),
}
"""What a job may want at least of a node, by `sbatch`'s words: the fields of jobs, and of nodes."""

ROWS: Mapping[str, str] = {"nodes.json": "nodes", "jobs.json": "jobs"}
"""The outputs that are JSON, and where their rows are."""

RECORDED = ("22.05", "24.11", "26.05")
"""The versions whose outputs were recorded, and are read."""

PENDING, COMPLETING = "PENDING", "COMPLETING"

STATES: Mapping[str, str] = {
    **dict.fromkeys(("SPECIAL_EXIT", "REQUEUE_HOLD", "REQUEUED", "RESV_DEL_HOLD"), PENDING),
    "RESIZING": "RUNNING",
    "STAGE_OUT": COMPLETING,
}
"""Flags that 22.05 writes in the place of a job's state, and the state that each goes with: a job
that was given back to the queue and held there (`requeuehold State=SpecialExit`) is not over."""

Known = dict[int, tuple[Row, SlurmJob]]
"""Rows of jobs by their numbers, without what changes all the time, and what was made of them."""

_UNITS = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2, "P": 1024**3}
_PARTITION = re.compile(r"^PartitionName=(\S+) .*\bState=(\S+)", re.MULTILINE)


class NoAnswerError(InputError):
    """Slurm's command took an error for an answer, and wrote it down instead of one."""


def parse(outputs: Mapping[str, str], known: Known | None = None) -> Picture:
    """The cluster that these outputs show. `known`: rows of jobs that were read before, and what
    was made of them; it becomes that of these rows. Raises InputError with the output that is none.
    """
    version = outputs["version.txt"].strip().rpartition(" ")[2]
    if not version.startswith(RECORDED):
        raise InputError(
            f"version.txt says {version or 'nothing'}, and only Slurm {listing(RECORDED)} are read",
            "the shapes of its JSON differ between versions, and no other one was tried",
        )
    jobs = _rows(outputs, "jobs.json")
    clusters = {str(row["cluster"]) for row in jobs if row.get("cluster")}
    associations = tuple(_associations(outputs.get("accounts.txt", "")))
    clusters = clusters or {each.cluster for each in associations}
    if len(clusters) > 1:
        raise InputError(
            f"accounts.txt names several clusters: {', '.join(sorted(clusters))}",
            "save it with `cluster=NAME` after `associations`",
        )
    cluster = next(iter(clusters), "")
    return Picture(
        version=version,
        cluster=cluster,
        nodes=tuple(map(_node, _rows(outputs, "nodes.json"))),
        jobs=tuple(map(_job, jobs)) if known is None else _renew_jobs(jobs, known),
        associations=tuple(each for each in associations if each.cluster == cluster),
        closed=frozenset(
            name for name, state in _PARTITION.findall(outputs["partitions.txt"]) if state != "UP"
        ),
    )


def _renew_jobs(rows: Sequence[Row], known: Known) -> tuple[SlurmJob, ...]:
    """The jobs of these rows, of which only those are made that are not as they are known: of ten
    thousand that wait, few change between two readings but in their priority."""
    found: Known = {}
    for each in rows:
        row = dict(each)
        priority = row.pop("priority", 1)
        if PENDING in _words(row.get("job_state")):
            row["start_time"] = row["end_time"] = 0  # estimates, which are not read
        number = _number(row["job_id"])
        before, job = known.get(number, (None, None))
        if job is None or before != row:
            job = _job(each)
        elif job.priority != priority:
            job = replace(job, priority=_number(priority))
        found[number] = row, job
    known.clear()
    known |= found
    return tuple(job for _, job in found.values())


def slim(outputs: Mapping[str, str]) -> dict[str, str]:
    """The outputs with no more of nodes and jobs than is read: no commands, folders or comments."""
    slimmed = dict(outputs)
    for name, fields in (("nodes.json", NODE_FIELDS), ("jobs.json", JOB_FIELDS)):
        key, rows = ROWS[name], _rows(outputs, name)
        kept = [{field: row[field] for field in fields if field in row} for row in rows]
        lines = ",\n".join(json.dumps(row) for row in kept)
        slimmed[name] = f'{{"{key}": [\n{lines}\n]}}\n'
    return slimmed


def _slim_job(value: dict[str, Any]) -> Any:
    """The fields of a job's row that are read; of any other value its plain shape."""
    if JOB_FIELDS[0] not in value:
        return plain(value)
    return {field: value[field] for field in READ_FIELDS if field in value}


def check_answer(outputs: Mapping[str, str], name: str) -> None:
    """Raises NoAnswerError where this one is an error instead of rows."""
    if name in ROWS:
        _rows(outputs, name)


def _rows(outputs: Mapping[str, str], name: str) -> Sequence[Row]:
    key = ROWS[name]
    try:
        # Most of what a job's row has is not read: of many, the rest would take gigabytes.
        tree = json.loads(outputs[name], object_hook=_slim_job if key == "jobs" else plain)
        rows, errors = tree[key], tree.get("errors")
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"{name} holds no JSON with {key}", "save what Slurm's command writes, as it is"
        ) from error
    if errors:  # then the list is empty, and the command says that all is well
        said = "; ".join(str(each.get("description") or each.get("error")) for each in errors)
        raise NoAnswerError(f"{name} holds no {key}: Slurm says {said}", "ask again later")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{name} holds no list of {key}", "save what Slurm writes, as it is")
    needed = NODE_FIELDS[0] if key == "nodes" else JOB_FIELDS[0]
    if not all(needed in row for row in rows):
        raise InputError(f"a row of {name} has no {needed}", "save what Slurm writes, as it is")
    return rows


def _number(value: object) -> int:
    """A number; 0 for the null of one that is not set."""
    return int(value) if isinstance(value, (int, float)) else 0


def _words(value: object) -> tuple[str, ...]:
    """Words, from a list or from a text with commas."""
    if isinstance(value, str):
        value = value.split(",")
    return tuple(str(word) for word in value if word) if isinstance(value, (list, tuple)) else ()


def _text(row: Row, key: str) -> str:
    value = row.get(key)
    return "" if value is None or value == "None" else str(value)


def gres(text: str) -> tuple[Gres, ...]:
    """Devices as in `gpu:a100:4(S:0-1)`, `gres:gpu:2`, `gres/gpu:a100:1` or `gres:gpu`."""
    found = []
    for item in re.sub(r"\([^)]*\)", "", text).split(","):
        kind, *rest = re.sub(r"^gres[:/]", "", item.strip()).replace("=", ":").split(":")
        count = rest.pop() if rest and re.fullmatch(r"[0-9]+", rest[-1]) else "1"
        if kind:
            found.append(Gres(kind, ":".join(rest), int(count)))
    return tuple(found)


def amounts(text: str) -> dict[str, str]:
    """The amounts of a TRES text such as `cpu=8,mem=64G,node=1`."""
    return dict(pair.split("=", 1) for pair in text.split(",") if "=" in pair)


def mebibytes(text: str) -> int:
    """Memory as in 64G or 512M, in MiB; without a unit it is MiB."""
    match = re.fullmatch(r"([0-9.]+)([KMGTP]?)", text)
    if not match:
        raise InputError(f"{text!r} is no amount of memory in Slurm's words", "write as in 64G")
    return round(float(match[1]) * _UNITS[match[2] or "M"])


def _node(row: Row) -> SlurmNode:
    states = (*_words(row.get("state")), *_words(row.get("state_flags")))
    return SlurmNode(
        name=str(row["name"]),
        cpus=_number(row.get("cpus")),
        memory=_number(row.get("real_memory")) - _number(row.get("specialized_memory")),
        features=_words(row.get("active_features")),
        gres=gres(_text(row, "gres")),
        partitions=_words(row.get("partitions")),
        states=frozenset(word.upper() for word in states),
        reason=_text(row, "reason"),
        has=tuple(
            (name, _number(row[field])) for name, (_, field) in LEAST.items() if field in row
        ),
    )


def elements_of(text: str) -> Sequence[range]:
    """The elements that a text such as `10-19%12`, `1,3` or `0-8:2` stands for; none where it was
    cut."""
    found = []
    for part in text.partition("%")[0].split(","):
        match = re.fullmatch(r"([0-9]+)(?:-([0-9]+)(?::([0-9]+))?)?", part)
        if not match:
            return ()
        first, last = int(match[1]), int(match[2] or match[1])
        found.append(range(first, last + 1, int(match[3] or 1)))
    return found


def _job(row: Row) -> SlurmJob:
    asked = amounts(_text(row, "tres_req_str"))
    elements = _text(row, "array_task_string")
    beyond = [
        f"{words} {value}"
        for field, words in (
            *(("licenses", "licence"), ("resv_name", "reservation"), ("burst_buffer", "buffer")),
            *(("tres_per_socket", "devices per socket"), ("cluster_features", "clusters' feature")),
        )
        if (value := _text(row, field))
    ]
    if _number(row.get("het_job_id")):
        beyond.append("heterogeneous job")
    # 26.05 does not say it of a job that waits.
    resources = row.get("job_resources")
    whole = isinstance(resources, dict) and resources.get("whole")
    if whole or set(_words(row.get("shared"))) & {"none", "user", "mcs"}:
        beyond.append("--exclusive")
    if row.get("contiguous"):
        beyond.append("--contiguous")
    states = _words(row.get("job_state"))  # in newer versions with flags beside it
    state = COMPLETING if COMPLETING in states else next(iter(states), "")
    state = STATES.get(state, state)
    tasks = max(1, _number(row.get("tasks")))
    # Of a pending job `node_count` is Slurm's estimate, and not what it asks for.
    nodes = int(asked.get("node", 0)) or max(1, _number(row.get("node_count")))
    cpus = int(asked.get("cpu", 0)) or _number(row.get("cpus"))
    waits = state == PENDING  # then Slurm's times are estimates
    cores = () if waits else tuple(_cores(resources))
    return SlurmJob(
        number=_number(row.get("job_id")),
        array=_number(row.get("array_job_id")),
        elements=sum(map(len, elements_of(elements))) if elements else 1,
        throttle=_number(row.get("array_max_tasks")),
        name=_text(row, "name"),
        user=_text(row, "user_name"),
        account=_text(row, "account"),
        state=state,
        reason=_text(row, "state_reason"),
        partitions=tuple(dict.fromkeys(_words(row.get("partition")))),  # `-p fair,fair` is one
        nodes=nodes,
        running_on=max(1, _number(row.get("node_count"))) if _text(row, "nodes") else 0,
        most_nodes=_number(row.get("max_nodes")),
        tasks=tasks,
        cpus=max(cpus, nodes * _number(row.get("minimum_cpus_per_node"))),
        cpus_per_gpu=sum(e.count for e in gres(_text(row, "cpus_per_tres")) if e.kind == "gpu"),
        memory=mebibytes(asked.get("mem", "0")),
        memory_of_node=bool(_number(row.get("memory_per_node"))),
        per_job=gres(_text(row, "tres_per_job")),
        per_node=gres(_text(row, "tres_per_node")),
        # Newer versions count its CPUs among them, which `cpus` has.
        per_task=tuple(e for e in gres(_text(row, "tres_per_task")) if e.kind != "cpu"),
        features=_text(row, "features"),
        required=_text(row, "required_nodes"),
        excluded=_text(row, "excluded_nodes"),
        minutes=_number(row.get("time_limit")),
        node_list=_text(row, "nodes"),
        beyond=tuple(beyond),
        element="" if elements else _text(row, "array_task_id"),
        which=elements.partition("%")[0],
        started=0 if waits else _number(row.get("start_time")),
        ended=0 if waits else _number(row.get("end_time")),
        exit=_number(row.get("exit_code")),
        cores=cores,
        devices=tuple(_devices([name for name, _ in cores], row.get("gres_detail"))),
        restarts=_number(row.get("restart_cnt")),
        priority=_number(row["priority"]) if "priority" in row else 1,  # not in older savings
        comment=_text(row, "comment"),
        depends=_text(row, "dependency"),
        eligible=_number(row.get("eligible_time")),
        remark=_text(row, "admin_comment"),
        least=tuple(
            (name, least)
            for name, (field, _) in LEAST.items()
            if (least := _number(row.get(field)))
        ),
    )


def _cores(resources: object) -> Iterator[tuple[str, int]]:
    """Each node that a job has, with the number of its cores there."""
    nodes = resources.get("allocated_nodes") if isinstance(resources, dict) else None
    for node in nodes if isinstance(nodes, list) else ():
        sockets = node.get("sockets") or {}
        yield str(node["nodename"]), sum(len(each.get("cores", ())) for each in sockets.values())


def _devices(nodes: Sequence[str], said: object) -> Iterator[tuple[str, tuple[Gres, ...]]]:
    """Each of these nodes with the job's devices there, where Slurm has a text for each of them."""
    if isinstance(said, list) and len(said) == len(nodes):
        for name, text in zip(nodes, said, strict=True):
            yield name, gres(str(text or ""))


def _associations(text: str) -> list[Association]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        fields = line.split("|")
        if len(fields) < 6:
            raise InputError(
                f"accounts.txt:{number}: {len(fields)} fields, not 6",
                "save it with the format that the how-to names",
            )
        found.append(Association(*fields[:6]))
    return found
