"""Finds the cores, memory and GPUs of this machine by asking the system."""

from __future__ import annotations

import os
import re
import socket
import subprocess
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import psutil

from fairlead.engines.interface import EngineError
from fairlead.model.errors import InputError
from fairlead.model.machine import Cluster, Machine
from fairlead.model.words import amount, amounts, listing

PATIENCE = 20.0
"""Seconds that nvidia-smi may take: it is slow where nothing holds its driver awake."""


class Maker(Enum):
    NVIDIA = "NVIDIA"
    AMD = "AMD"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of this machine and how they were found."""

    maker: Maker
    number: int
    model: str
    how: str


@dataclass(frozen=True, slots=True)
class Hardware:
    """This machine's hardware: cores and bytes of memory that this process may use."""

    cores: int
    memory: int
    gpus: Gpus
    notes: tuple[str, ...]

    def machine(self) -> Machine:
        """This machine, taken whole."""
        capacity: dict[str, int] = {"cpu": self.cores, "memory": self.memory}
        labels = {}
        if self.gpus.number:
            capacity["gpu"] = self.gpus.number
            if self.gpus.model:
                labels["gpu-model"] = self.gpus.model
        return Machine(_host(), capacity, labels)


def _host() -> str:
    """The name of this machine, if it can be one of Fairlead's."""
    name = socket.gethostname()
    try:
        Machine(name, {})
    except InputError:
        return "localhost"
    return name


def find() -> Hardware:
    """Asks the system for its hardware. Raises EngineError where it is no Linux."""
    if not Path("/proc/self/stat").exists():
        raise EngineError("local tasks need Linux: there is no /proc here")
    notes = []
    cores = len(os.sched_getaffinity(0))
    most = limit("cpu.max")
    if most is not None:
        allowed = max(1, int(most))
        if allowed < cores:
            notes.append(f"{allowed} of {cores} cores: a control group allows no more")
            cores = allowed
    total = psutil.virtual_memory().total
    most = limit("memory.max")
    if most is not None and most < total:
        allowed_memory, of = amounts([most, total], 3)
        notes.append(f"{allowed_memory} of {of} memory: a control group allows no more")
        total = int(most)
    gpus = find_gpus()
    notes.append(gpus.how)
    return Hardware(cores, total, gpus, tuple(notes))


def limit(
    name: str, member: Path = Path("/proc/self/cgroup"), groups: Path = Path("/sys/fs/cgroup")
) -> float | None:
    """The least limit of the control group (version 2) that this process is in and of those above
    it; None: there is none."""
    match = re.search(r"^0::(/.*)$", member.read_text() if member.exists() else "", re.MULTILINE)
    if match is None:
        return None
    folder = groups / match[1].lstrip("/")
    least: float | None = None
    for place in (folder, *folder.parents):
        if place == groups.parent:
            break
        try:
            words = (place / name).read_text().split()
        except OSError:  # the file is not there at the top, nor where the controller is off
            continue
        if not words or words[0] == "max":
            continue
        value = float(words[0]) / (float(words[1]) if len(words) > 1 else 1.0)
        least = value if least is None else min(least, value)
    return least


def find_gpus(
    dev: Path = Path("/dev"), sys: Path = Path("/sys"), program: str = "nvidia-smi"
) -> Gpus:
    """The GPUs: NVIDIA's by nvidia-smi, else by their files in /dev; AMD's by the driver's list."""
    try:
        answer = subprocess.run(
            [program, "--query-gpu=index,name", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (FileNotFoundError, PermissionError):
        trouble = ""
    except subprocess.TimeoutExpired:
        trouble = f" ({program} did not answer in {PATIENCE:.0f} seconds)"
    else:
        lines = [line for line in answer.stdout.splitlines() if re.match(r"\s*[0-9]+\s*,", line)]
        if answer.returncode == 0 and lines:
            models = {line.split(",", 1)[1].strip() for line in lines}
            model = models.pop() if len(models) == 1 else ""
            return Gpus(Maker.NVIDIA, len(lines), model, f"{len(lines)} GPUs by {program}")
        trouble = f" ({program} found none)"
    number = sum(bool(re.fullmatch("nvidia[0-9]+", name)) for name in _names(dev))
    if number:
        return Gpus(Maker.NVIDIA, number, "", f"{number} GPUs by /dev/nvidia*{trouble}")
    # The driver's list has the processors too; those have no vector units.
    nodes = sys / "class/kfd/kfd/topology/nodes"
    number = sum(_simds(nodes / name) > 0 for name in _names(nodes))
    if number:
        return Gpus(Maker.AMD, number, "", f"{number} GPUs by /sys/class/kfd")
    return Gpus(
        Maker.NONE, 0, "", f"no GPU: nvidia-smi, /dev and /sys/class/kfd name none{trouble}"
    )


def _names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder)) if folder.is_dir() else []


def _simds(node: Path) -> int:
    try:
        match = re.search(r"^simd_count ([0-9]+)$", (node / "properties").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(match[1]) if match else 0


def compare(cluster: Cluster, hardware: Hardware) -> tuple[str, ...]:
    """That this machine runs the tasks of all machines of a cluster file, and what it lacks of
    what they have together; nothing where that is as it would be expected."""
    has = {"cpu": hardware.cores, "memory": hardware.memory, "gpu": hardware.gpus.number}
    total = {
        resource: sum(machine.capacity.get(resource, 0) for machine in cluster.machines)
        for resource in has
    }
    more = [resource for resource in has if total[resource] > has[resource]]
    count = len(cluster.machines)
    if not more and count <= 1:
        return ()
    whose = {1: cluster.machines[0].name, 2: "both machines"}.get(count, f"all {count} machines")
    said = f"the local engine runs the tasks of {whose} on this machine"
    if more:
        listed, there = (
            listing(amount(float(each[resource]), resource, 3) for resource in more)
            for each in (total, has)
        )
        have = "it is declared with" if count == 1 else "together they have"
        said += (
            f"; {have} {listed}, and this machine has {there}: tasks share what there is. Other"
            " machines run tasks with `--engine ray`; `fairlead simulate` runs none"
        )
    return (said,)
