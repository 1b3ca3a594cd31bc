"""What a queue of many jobs costs: `python -m tests.engines.slurm.load --jobs 10000`.

Prints the processor time a minute of slurmctld alone, and with a service that observes, and orders.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.engines.slurm import ground as of_tests
from tests.engines.slurm.ground import Ground

FAIRLEAD = ("python", "-m", "fairlead")
AT_ONCE = 8


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


def measure(what: str, ground: Ground, seconds: int, service: psutil.Process | None) -> None:
    """Prints what was spent in these seconds, as of a minute."""
    watched = [controller(ground), *([service] if service else [])]
    before, began = [spent(each) for each in watched], time.monotonic()
    time.sleep(seconds)
    after, part = [spent(each) for each in watched], 60 / (time.monotonic() - began)
    rows = [
        [(b - a) * part for a, b in zip(*pair, strict=True)]
        for pair in zip(before, after, strict=True)
    ]
    said = f"{what}: slurmctld {rows[0][0]:.2f} s"
    if service:
        said += f", the service {rows[1][0]:.2f} s, commands {rows[1][1]:.2f} s"
    print(said, flush=True)  # noqa: T201  a command of its own


def main() -> None:
    """Submits, and measures each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=60)
    asked = parser.parse_args()
    of_tests.CONF += "MaxJobCount=60000\n"
    ground = Ground()
    try:
        os.environ.update(
            ground.environment | {"PATH": f"{Path(sys.executable).parent}:{of_tests.path()}"}
        )
        words = ("sbatch", "-o", "/dev/null", "--wrap=sleep 100000")
        for number in range(0, asked.jobs, AT_ONCE):
            several = [
                subprocess.Popen(
                    [*words, "-n", str(1 + (number + i) % 4)], stdout=subprocess.DEVNULL
                )
                for i in range(AT_ONCE)
            ]
            for each in several:
                each.wait()
        measure("alone", ground, asked.seconds, None)
        with tempfile.TemporaryDirectory() as state:
            os.environ["FAIRLEAD_STATE"] = state
            for mode in ("observe", "order"):
                serve = ("serve", "--engine", "slurm", "--mode", mode, "--listen", "127.0.0.1:0")
                subprocess.run([*FAIRLEAD, *serve, "--detach"], check=True)
                number = int((Path(state) / "process").read_text().split()[0])
                time.sleep(30)
                measure(mode, ground, asked.seconds, psutil.Process(number))
                subprocess.run([*FAIRLEAD, "stop"], check=True)
    finally:
        ground.down()


if __name__ == "__main__":
    main()
