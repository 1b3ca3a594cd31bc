"""What a machine has is found by asking the system, and said."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from fairlead.engines.local.engine import LocalEngine
from fairlead.engines.local.hardware import Gpus, Hardware, Maker, compare, find, find_gpus, limit
from fairlead.model.machine import Cluster, Machine


def test_this_machine_is_found() -> None:
    found = find()
    assert 1 <= found.cores <= len(os.sched_getaffinity(0))
    assert 0 < found.memory <= psutil.virtual_memory().total
    machine = found.machine()
    assert machine.capacity["cpu"] == found.cores
    assert machine.capacity["memory"] == found.memory
    assert ("gpu" in machine.capacity) is (found.gpus.number > 0)


def smi(folder: Path, text: str, code: int = 0) -> str:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n")
    program.chmod(0o755)
    return str(program)


def test_gpus_by_nvidia_smi(tmp_path: Path) -> None:
    program = smi(tmp_path, "0, NVIDIA A100-SXM4-80GB\n1, NVIDIA A100-SXM4-80GB")
    found = find_gpus(tmp_path, tmp_path, program)
    assert (found.maker, found.number, found.model) == (
        Maker.NVIDIA,
        2,
        "NVIDIA A100-SXM4-80GB",
    )


def test_gpus_of_several_models_have_no_model(tmp_path: Path) -> None:
    found = find_gpus(tmp_path, tmp_path, smi(tmp_path, "0, Tesla T4\n1, A100"))
    assert (found.number, found.model) == (2, "")


def test_gpus_by_their_files_where_the_program_fails(tmp_path: Path) -> None:
    dev = tmp_path / "dev"
    dev.mkdir()
    for name in ("nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm"):
        (dev / name).touch()
    program = smi(tmp_path, "Failed to initialize NVML", code=9)
    found = find_gpus(dev, tmp_path, program)
    assert (found.maker, found.number) == (Maker.NVIDIA, 3)
    assert "/dev/nvidia*" in found.how
    assert find_gpus(dev, tmp_path, "no-such-program").number == 3


def test_amd_gpus_by_the_drivers_list(tmp_path: Path) -> None:
    nodes = tmp_path / "class/kfd/kfd/topology/nodes"
    for name, simds in (("0", 0), ("1", 256), ("2", 256)):
        (nodes / name).mkdir(parents=True)
        (nodes / name / "properties").write_text(f"cpu_cores_count 1\nsimd_count {simds}\n")
    found = find_gpus(tmp_path, tmp_path, "no-such-program")
    assert (found.maker, found.number) == (Maker.AMD, 2)


def test_no_gpu_is_said(tmp_path: Path) -> None:
    found = find_gpus(tmp_path, tmp_path, "no-such-program")
    assert (found.maker, found.number) == (Maker.NONE, 0)
    assert found.how.startswith("no GPU")


@pytest.mark.parametrize(
    ("inner", "outer", "least"),
    [
        ("max 100000", "max 100000", None),
        ("150000 100000", "max", 1.5),
        ("max", "50000 100000", 0.5),
    ],
)
def test_limits_of_control_groups_count(
    tmp_path: Path, inner: str, outer: str, least: float | None
) -> None:
    member = tmp_path / "cgroup"
    member.write_text("12:cpu:/other\n0::/outer/inner\n")
    folder = tmp_path / "fs" / "outer" / "inner"
    folder.mkdir(parents=True)
    (folder / "cpu.max").write_text(f"{inner}\n")
    (folder.parent / "cpu.max").write_text(f"{outer}\n")
    assert limit("cpu.max", member, tmp_path / "fs") == least
    assert limit("cpu.max", tmp_path / "absent", tmp_path / "fs") is None


def test_that_several_machines_are_this_one_is_said_with_what_it_lacks() -> None:
    none = Gpus(Maker.NONE, 0, "", "")
    hardware = Hardware(4, 8 << 30, none, ())
    fits = Cluster([Machine("a", {"cpu": 2, "memory": 1 << 29}), Machine("b", {"cpu": 2})])
    (said,) = compare(fits, hardware)
    assert said == "the local engine runs the tasks of both machines on this machine"
    memory = 12 << 30
    large = Cluster([Machine(f"a{i}", {"cpu": 16, "memory": memory, "gpu": 1}) for i in range(8)])
    (said,) = compare(large, hardware)
    assert said == (
        "the local engine runs the tasks of all 8 machines on this machine; together they have"
        " 128 cpu, 96Gi memory and 8 gpu, and this machine has 4 cpu, 8Gi memory and 0 gpu: tasks"
        " share what there is. Other machines run tasks with `--engine ray`; `fairlead simulate`"
        " runs none"
    )


def test_of_one_machine_only_what_it_lacks_is_said() -> None:
    none = Gpus(Maker.NONE, 0, "", "")
    hardware = Hardware(4, 8 << 30, none, ())
    assert compare(Cluster([Machine("a", {"cpu": 4})]), hardware) == ()
    (said,) = compare(Cluster([Machine("a", {"cpu": 4, "memory": 103079215104})]), hardware)
    assert (
        "tasks of a on this machine; it is declared with 96Gi memory, and this machine has 8Gi"
        in said
    )


def test_the_machine_is_taken_whole_or_divided(tmp_path: Path) -> None:
    whole = LocalEngine(tmp_path / "one")
    (node,) = whole.nodes()
    assert node.machine == find().machine()
    whole.close()
    cluster = Cluster([Machine("b", {"cpu": 1}), Machine("a", {"cpu": 1, "fpga": 3})])
    parts = LocalEngine(tmp_path / "two", cluster)
    assert [one.machine for one in parts.nodes()] == list(cluster.machines)
    parts.close()


def test_a_state_folder_that_is_open_to_others_is_said(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o755)
    engine = LocalEngine(state)
    assert any("chmod 700" in note for note in engine.notes)
    engine.close()
    engine = LocalEngine(tmp_path / "fresh")
    assert not any("chmod 700" in note for note in engine.notes)
    assert (tmp_path / "fresh").stat().st_mode & 0o777 == 0o700
    engine.close()
