"""`kill -9` of a real service on a real Ray cluster, of the driver of its engine, and of both,
again and again, while clients submit: a program that counts.

`python -m tests.engines.ray.kills FOLDER SEED KILLS` starts a cluster of three nodes and prints
what it counted as JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import psutil
import ray

from fairlead.engines.ray.engine import LAUNCHER, NAMESPACE
from tests.engines.ray.ground import Ground
from tests.ports import kept_port
from tests.service.kills import Killing, Victim, ended, wait_until_ready


@dataclass
class RayKilling(Killing):
    """The service in front of the Ray cluster at `address`; the driver of its engine is what starts
    its tasks."""

    address: str = ""

    def goes_on(self, kills: int) -> bool:
        """Whether there is more to kill: so often, the driver at least once, with a task for each
        kill. Which kinds come about is a matter of time."""
        drivers = [victim for victim, _ in self.kills if victim is not Victim.SERVICE]
        return not self.enough and (len(self.kills) < kills or not drivers or self.tasks() < kills)

    def start(self) -> None:
        """Starts it; it is not waited for."""
        words = ("--engine", "ray", "--address", self.address, "--state", "state", "--no-auth")
        with (self.folder / "said").open("ab") as said:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "fairlead", "serve", *words),
                    *("--log", "off", "--listen", f"127.0.0.1:{self.port}"),
                ],
                cwd=self.folder,
                encoding="utf-8",
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )

    def kill(self, victim: Victim) -> None:
        """Kills it, if it is there; tasks run on."""
        assert self.process is not None
        driver = None if victim is Victim.SERVICE else driver_of(self.process.pid)
        if victim is Victim.SPAWNER and driver is None:
            return
        if driver is None:
            victim = Victim.SERVICE
        self.kills.append((victim, time.time_ns()))
        if driver is not None:
            with suppress(ProcessLookupError):
                os.kill(driver, signal.SIGKILL)
        if victim is not Victim.SPAWNER:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


def driver_of(service: int) -> int | None:
    """The process of the service that drives its engine, if there is one now."""
    with suppress(psutil.Error):
        for child in psutil.Process(service).children():
            if "fairlead.engines.supervised.driver" in child.cmdline():
                return int(child.pid)
    return None


def run(folder: Path, seed: int, kills: int, address: str) -> dict[str, Any]:
    """Kills the service and its driver so often, lets everything end, and counts."""
    (folder / "lines").touch()
    with kept_port() as port:
        killing = RayKilling(folder, Random(seed), port, address=address)
        kill_again_and_again(killing, kills)
        return ended(killing)


def kill_again_and_again(killing: RayKilling, kills: int) -> None:
    """Kills the service and its driver so often, while jobs come."""
    draw, number = killing.random, 0
    while killing.goes_on(kills):
        killing.start()
        if draw.random() < 0.8:
            wait_until_ready(killing)
        life = draw.uniform(0.0, 4.0)
        until = time.monotonic() + life
        while time.monotonic() < until and killing.is_there():
            if draw.random() < 0.3 and len(killing.waiting) < 3:
                killing.want(number)
                number += 1
            killing.submit()
            if draw.random() < 0.1:
                killing.kill(Victim.SPAWNER)
            time.sleep(draw.uniform(0.0, 0.2))
        killing.kill(draw.choice((Victim.SERVICE, Victim.BOTH)))


def main() -> None:
    """The program."""
    ground = Ground(nodes=2)
    try:
        seen = run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), ground.address)
        with suppress(ValueError):
            ray.kill(ray.get_actor(LAUNCHER, namespace=NAMESPACE))
    finally:
        ground.down()
    sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    main()
