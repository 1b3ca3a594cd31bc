"""What a queue of many jobs costs: `python -m tests.engines.slurm.load --jobs 10000`.

Prints the processor time a minute of slurmctld alone, and with a service that observes, and orders;
with `--place`, of one that places them, which users have submitted into its partition.
With `--rows 100000`: what one reading of so many rows costs, elements of an array that are jobs of
their own.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from fairlead.engines.slurm.observer import Observer
from fairlead.engines.slurm.reading.commands import ask
from tests.engines.slurm import ground as of_tests
from tests.engines.slurm.ground import Ground

FAIRLEAD = ("python", "-m", "fairlead")
AT_ONCE = 8
SETTINGS = "MaxJobCount=250000\nMaxArraySize=250001\n"
SETTLES = 60
"""Seconds until a service has begun, and has put the first of the queue into order."""


def spent(process: psutil.Process) -> tuple[float, float]:
    """Seconds of a process, and of its children that ended."""
    times = process.cpu_times()
    return times.user + times.system, times.children_user + times.children_system


def controller(ground: Ground) -> psutil.Process:
    """The slurmctld of this cluster."""
    for each in psutil.process_iter(["name"]):
        if each.info["name"] == "slurmctld" and each.environ().get("SLURM_CONF") == str(
            ground.conf
        ):
            return each
    raise LookupError("slurmctld")


def served(ground: Ground) -> dict[str, tuple[int, float]]:
    """How often each kind of request was served, and the seconds in all, by sdiag."""
    rows = re.findall(
        r"^\s+(\w+)\s+\([ 0-9]+\) count:(\d+)\s+ave_time:\d+\s+total_time:(\d+)",
        ground.run("sdiag"),
        re.MULTILINE,
    )
    return {name: (int(count), int(took) / 1e6) for name, count, took in rows}


def measure(what: str, ground: Ground, seconds: int, service: psutil.Process | None) -> None:
    """Prints what was spent in these seconds, as of a minute."""
    watched = [controller(ground), *([service] if service else [])]
    before, asked, began = [spent(each) for each in watched], served(ground), time.monotonic()
    time.sleep(seconds)
    after, part = [spent(each) for each in watched], 60 / (time.monotonic() - began)
    rows = [
        [(b - a) * part for a, b in zip(*pair, strict=True)]
        for pair in zip(before, after, strict=True)
    ]
    said = f"{what}: slurmctld {rows[0][0]:.2f} s"
    if service:
        said += f", the service {rows[1][0]:.2f} s, commands {rows[1][1]:.2f} s; requests"
        for name, (count, took) in served(ground).items():
            of = asked.get(name, (0, 0.0))
            if count > of[0] and ("JOB" in name or "INFO" in name):
                said += f" {name} {(count - of[0]) * part:.0f} ({(took - of[1]) * part:.3f} s)"
    print(said, flush=True)  # noqa: T201  a command of its own


def submit(ground: Ground, jobs: int, *more: str) -> None:
    """Submits so many jobs, each by itself."""
    words = ("sbatch", "-o", "/dev/null", "--wrap=sleep 100000", *more)
    for number in range(0, jobs, AT_ONCE):
        several = [
            subprocess.Popen([*words, "-n", str(1 + (number + i) % 4)], stdout=subprocess.DEVNULL)
            for i in range(AT_ONCE)
        ]
        for each in several:
            each.wait()
    print(f"{ground.run('squeue', '-h', '-t', 'PD').count(chr(10))} wait", flush=True)  # noqa: T201


def measure_rows(ground: Ground, rows: int) -> None:
    """Prints what readings of so many rows cost: the first, and one after it."""
    asked = ("sbatch", "--parsable", "-H", "-o", "/dev/null", f"--array=0-{rows - 1}")
    array = ground.run(*asked, "--wrap=sleep 100000").strip()
    # An element that was changed is a job of its own, with a row of its own.
    lines = "".join(f"update JobId={array}_{i} TimeLimit={10 + i % 1000}\n" for i in range(rows))
    subprocess.run(["scontrol"], input=lines, text=True, capture_output=True, check=False)
    subprocess.run(["scontrol", "release", array], check=True, capture_output=True)
    engine = Observer(10**12, ask)
    for what in ("another", "one more"):
        own, ctld = time.process_time(), spent(controller(ground))[0]
        used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        view = engine._read()  # noqa: SLF001  as its thread does
        now = resource.getrusage(resource.RUSAGE_CHILDREN)
        commands = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
        print(  # noqa: T201
            f"{what} reading of {sum(job.waiting for job in view.jobs.values())} tasks that wait:"
            f" {time.monotonic() - began:.1f} s; processor time: ours"
            f" {time.process_time() - own:.2f} s, commands {commands:.2f} s, slurmctld"
            f" {spent(controller(ground))[0] - ctld:.2f} s; at most"
            f" {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB",
            flush=True,
        )
    engine.close()


def main() -> None:
    """Submits, and measures each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=180)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--place", action="store_true")
    asked = parser.parse_args()
    ground = Ground(SETTINGS)
    try:
        os.environ.update(
            ground.environment | {"PATH": f"{Path(sys.executable).parent}:{of_tests.path()}"}
        )
        if asked.rows:
            measure_rows(ground, asked.rows)
            return
        submit(ground, asked.jobs, *(("-p", "fair", "--hold") if asked.place else ()))
        modes = (("place", "--partition", "fair"),) if asked.place else (("observe",), ("order",))
        measure("alone", ground, asked.seconds, None)
        with tempfile.TemporaryDirectory() as state:
            os.environ["FAIRLEAD_STATE"] = state
            for mode, *more in modes:
                serve = ("serve", "--engine", "slurm", "--mode", mode, "--listen", "127.0.0.1:0")
                subprocess.run([*FAIRLEAD, *serve, *more, "--detach"], check=True)
                number = int((Path(state) / "process").read_text().split()[0])
                time.sleep(SETTLES)
                measure(mode, ground, asked.seconds, psutil.Process(number))
                subprocess.run([*FAIRLEAD, "stop"], check=True)
    finally:
        ground.down()


if __name__ == "__main__":
    main()
