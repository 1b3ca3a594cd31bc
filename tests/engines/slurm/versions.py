"""Newer versions of Slurm than this machine's: `python -m tests.engines.slurm.versions`.

Makes a folder with a Debian for each (debootstrap, as root, once), starts the tests' cluster from
it, and looks whether what it says is what its sample says, whether its queue can be put into order,
whether users' own jobs are placed, and whether it is read within its limits of requests.
`--record`: writes the samples anew.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fairlead.engines.interface import Attempt, Ended
from fairlead.engines.slurm.budget import budget_for
from fairlead.engines.slurm.observer import cluster_name
from fairlead.engines.slurm.orderer import Orderer
from fairlead.engines.slurm.ordering import SPACE
from fairlead.engines.slurm.placing.controller import Commands
from fairlead.engines.slurm.placing.placer import Placer
from fairlead.engines.slurm.placing.rounds import Allowance
from fairlead.engines.slurm.reading.commands import COMMANDS, ask, command_for, load, setting
from fairlead.engines.slurm.reading.parse import JOB_FIELDS, NODE_FIELDS, parse
from tests.engines.slurm.bed import assign
from tests.engines.slurm.ground import Ground

ROOT = Path(__file__).parents[3]
SAMPLES = Path(__file__).with_name("samples")

SUITES: Mapping[str, str | None] = {"22.05": None, "24.11": "trixie", "26.05": "sid"}
"""Versions, and Debian's suites that have them; None: this machine's own."""

PACKAGES = "slurmctld,slurmd,slurm-client,munge"
PATIENCE = 120.0

JOBS: Mapping[str, tuple[str, ...]] = {
    "one": ("-w", "c1", "-c", "2", "--mem=500M"),
    "gang": ("-w", "c[2-3]", "-N", "2", "-n", "2", "--mem=1G"),
    "spread": ("-w", "d[1-2]", "-N", "2", "-n", "12"),
    "gpus": ("-w", "a1", "-C", "a100", "--gres=gpu:a100:3"),
    "total": ("-w", "v1", "--gpus=2", "-c", "1"),
    "per-task": ("-w", "a2", "-n", "2", "--gpus-per-task=a100:1"),
    "either": ("-w", "c4", "-C", "old|new", "--mem-per-cpu=200M", "-c", "3"),
    "both": ("-w", "v2", "-C", "old&v100", "-x", "c1", "--time=90"),
    "array": ("-w", "c5", "--array=1-6%2"),
    "whole": ("-w", "d3", "--exclusive"),
    "waits": ("-C", "a100", "-N", "2", "--gres=gpu:a100:4", "-p", "gpu"),
    "cpus-per-gpu": ("-w", "a1", "-N", "1", "--gpus=4", "--cpus-per-gpu=2"),
    "excluded": ("-c", "16", "-x", "a1,d[1-3]", "-w", "a2"),
    "held": ("--hold", "-n", "3"),
    "many": ("--hold", "--array=1,3,7-20:2", "-c", "2"),
}
"""Jobs that show what is read, by their names; each has its node, so that nothing is by chance."""

WAIT = {"array", "waits", "cpus-per-gpu", "excluded", "held", "many"}
"""Those that wait, or of which elements do."""

YEAR = 525_600
"""Minutes that backfill gives a job where its partition has no limit. The main scheduler gives
none, and which of the two starts a job is chance."""

VOLATILE = ("number", "array", "started", "ended", "priority", "comment", "reason")
"""Of a job, what is another each time."""


def folder_for(version: str) -> Path | None:
    """The folder with the Debian that has this version, made where it is not there."""
    suite = SUITES[version]
    if suite is None:
        return None
    folder = ROOT / "build" / "slurm" / suite
    if not (folder / "usr" / "sbin" / "slurmctld").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        make = ("debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, str(folder))
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    return folder


def record(ground: Ground) -> dict[str, str]:
    """What the commands say of a cluster with all of `JOBS`: of rows, the fields that are read."""
    for name, words in JOBS.items():
        ground.run("sbatch", "-J", name, "-o", "/dev/null", *words, "--wrap=sleep 1000")
    ended = ("-J", "failed", "-o", "/dev/null", "--wait", "--wrap=exit 3")
    subprocess.run(
        [*ground.prefix, "sbatch", *ended],
        env=ground.environment,
        stdout=subprocess.DEVNULL,
        check=False,
    )
    stops = ground.run(
        "sbatch", "--parsable", "-H", "-J", "stopped", "-o", "/dev/null", "--wrap=true"
    )
    ground.run("scancel", stops.strip())
    end = time.monotonic() + PATIENCE
    while (
        set(ground.run("squeue", "-h", "-t", "PD,CG", "-o", "%t|%j").replace("PD|", "").split())
        != WAIT
    ):
        if time.monotonic() > end:
            raise AssertionError(ground.run("squeue", "-o", "%j %T %r"))
        time.sleep(0.1)
    version = ground.run(*COMMANDS["version.txt"])
    outputs = {name: ground.run(*command_for(name, version)) for name in COMMANDS if name[0] != "a"}
    for name, key, fields in (("nodes", "nodes", NODE_FIELDS), ("jobs", "jobs", JOB_FIELDS)):
        rows = json.loads(outputs[f"{name}.json"])[key]
        lines = [json.dumps({f: row[f] for f in fields if f in row}) for row in rows]
        outputs[f"{name}.json"] = f'{{"{key}": [\n' + ",\n".join(lines) + "\n]}\n"
    return outputs


def seen(outputs: Mapping[str, str]) -> dict[str, Any]:
    """What is read of it and is the same each time: nodes, and rows of jobs by their names."""
    picture = parse(outputs)
    jobs: dict[str, list[dict[str, Any]]] = {}
    for job in picture.jobs:
        row = {name: value for name, value in asdict(job).items() if name not in VOLATILE}
        row["minutes"] %= YEAR
        jobs.setdefault(job.name, []).append(row)
    for rows in jobs.values():
        rows.sort(key=lambda row: (row["state"], row["element"]))
    nodes = {node.name: {**asdict(node), "states": ()} for node in picture.nodes}
    return {"jobs": jobs, "nodes": nodes, "closed": picture.closed}


@contextmanager
def commands_of(ground: Ground, user: str) -> Iterator[None]:
    """Slurm's commands are those of this cluster, run by this user, for the time being."""
    kept = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("sinfo", "squeue", "scontrol", "sacctmgr", "sprio", "sbatch", "scancel"):
            tool = Path(folder) / name
            inside = ("chroot", f"--userspec={user}", *ground.prefix[1:]) if ground.prefix else ()
            tool.write_text(f'#!/bin/sh\nPATH={ground.environment["PATH"]}\n'
                            f'exec {" ".join(inside)} {name} "$@"\n')  # fmt: skip
            tool.chmod(0o755)
        os.environ |= ground.environment | {"PATH": f"{folder}:{ground.environment['PATH']}"}
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(kept)


def order(ground: Ground) -> None:
    """A job that waits gets its factor, and its priority's parts are read."""
    eight = ("-o", "/dev/null", "-w", "d1", "-c", "8", "--wrap=sleep 1000")
    end = time.monotonic() + PATIENCE
    blocks = ground.run("sbatch", "--parsable", *eight).strip()
    while ground.run("squeue", "-h", "-j", blocks, "-o", "%T").strip() != "RUNNING":
        assert time.monotonic() < end, ground.run("squeue", "-o", "%i %T %r %Q")
        time.sleep(0.1)
    waits = ground.run("sbatch", "--parsable", *eight).strip()
    engine = Orderer(100_000, ask, cluster_name)
    try:
        while ground.run("squeue", "-h", "-j", waits, "-o", "%Q").strip() != str(SPACE):
            assert time.monotonic() < end, ground.run("squeue", "-o", "%i %T %r %Q")
            engine.order([waits])
            time.sleep(0.2)
        assert engine.priority(waits).parts["site factor"] == SPACE
    finally:
        engine.close()
    ground.run("scancel", blocks, waits)


def place(ground: Ground) -> None:
    """A task runs and its end is read. Users' own jobs are held, released to the nodes that were
    chosen, held while they run, and as they were asked for where they wait again."""
    asked = ("sbatch", "--parsable", "-o", "/dev/null", "-p", "fair")

    def submit(*words: str) -> str:
        as_user = ("setpriv", "--reuid=nobody", "--clear-groups", *asked, *words)
        return ground.run(*as_user, "--wrap=sleep 1000").strip()

    def shown(job: str) -> str:
        where = ground.run("squeue", "-h", "-j", job, "-o", "%T %Q %N %r").strip()
        return f"{where} {ground.run('scontrol', '-o', 'show', 'job', job)}"

    def until(job: str, *words: str) -> None:
        end = time.monotonic() + PATIENCE
        while not all(re.search(word, shown(job)) for word in words):
            assert time.monotonic() < end, (words, shown(job))
            time.sleep(0.1)

    engine = Placer(ground.folder / "placing", "fair", 50_000, Commands(), lambda: Allowance(1000))
    try:
        engine.reconcile([])
        own = Attempt(1000, 0, 1)
        engine.launch([assign(own, "hostname; exit 3", "c4")])
        end = time.monotonic() + PATIENCE
        while not any(isinstance(each, Ended) and each.code == 3 for each in engine.poll()):
            assert time.monotonic() < end, engine.poll()
            time.sleep(0.1)
        jobs = [
            submit("-c", "2"),
            submit("-N", "1-4", "-n", "4"),
            submit("--array=1-3", "-c", "2"),
        ]
        for job in jobs:
            until(job, "^PENDING 0 +JobHeldUser")
        parts = ((jobs[0], "", "c2"), (jobs[1], "", "d2"), (jobs[2], "2", "c3"))
        engine.launch(
            [
                assign(Attempt(int(job), 0, 1), "true", node, name=job, part=part)
                for job, part, node in parts
            ]
        )
        for job, part, node in parts:
            until(f"{job}_{part}" if part else job, f"^RUNNING 0 {node} ", "AdminComment=fairlead")
        assert engine.adopted() is not None
        for job, asked_for in ((jobs[0], "asked= "), (jobs[1], "asked=/1-4 ")):
            assert asked_for in shown(job)
            ground.run("scontrol", "requeue", job)
            until(job, "^PENDING 0 +JobHeldUser", r" ReqNodeList=\(null\) ")
        assert "AdminComment=fairlead" not in shown(jobs[0])
        assert "asked=/1-4 " in shown(jobs[1])
        never = submit("--tmp=100", "-N", "1-2", "-n", "4")
        until(never, "^PENDING 0 +JobHeldUser")
        engine.launch([assign(Attempt(int(never), 0, 1), "true", "a2", name=never, part="")])
        until(never, "AdminComment=fairlead")
        until(never, "^PENDING 0 +JobHeldUser", r" ReqNodeList=\(null\) ")
    finally:
        engine.close()
    ground.run("scancel", "-p", "fair")
    ground.wait_until_idle()


LIMITED = "SlurmctldParameters=rl_enable,rl_bucket_size=6,rl_refill_rate=2\n"


def read_within_limits(ground: Ground) -> None:
    """Somebody whose requests slurmctld limits reads it all the same, if more slowly."""
    ground.reconfigure(ground.conf.read_text(encoding="utf-8") + LIMITED)
    ground.wait_until_up()
    with commands_of(ground, "nobody"):
        budget = budget_for(setting("SlurmctldParameters"))
        assert (budget.most, budget.rate) == (3, 1.0)
        for _ in range(4):
            parse(ask())


def main() -> None:
    """Goes through the versions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the samples")
    asked = parser.parse_args()
    for version in SUITES:
        ground = Ground(root=folder_for(version))
        try:
            outputs, folder = record(ground), SAMPLES / version
            if asked.record:
                folder.mkdir(parents=True, exist_ok=True)
                for name, text in outputs.items():
                    (folder / name).write_text(text, encoding="utf-8")
            assert seen(outputs) == seen(load(folder)), f"Slurm {version} says something else"
            ground.run("scancel", "-u", "root")
            ground.wait_until_idle()
            with commands_of(ground, "root"):
                order(ground)
                place(ground)
            if version != "22.05":  # it has no such limits
                read_within_limits(ground)
            print(f"Slurm {version}: as recorded")  # noqa: T201  a command of its own
        finally:
            ground.down()


if __name__ == "__main__":
    main()
