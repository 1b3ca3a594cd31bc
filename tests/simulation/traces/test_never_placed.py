"""Which jobs empty machines cannot hold."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from fairlead.simulation.traces.matching import never_placed
from fairlead.simulation.workloads.described import read_described


@pytest.mark.parametrize(
    ("job", "never"),
    [
        # Together the machines hold more such tasks than 64 bits count.
        ("demand: {memory: 1}, tasks: 2, gang: 2", (0, 0)),
        ("demand: {memory: 8Pi}, tasks: 2", (1, 2)),
        ("demand: {memory: 4Pi}, tasks: 1300, gang: 1300", (0, 0)),
        ("demand: {memory: 4Pi}, tasks: 1301, gang: 1301", (1, 1301)),
    ],
)
def test_what_empty_machines_cannot_hold_never_runs(
    job: str, never: tuple[int, int], tmp_path: Path
) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "machines:\n- {name: 'm[0001-1300]', capacity: {memory: 7Pi}}\n"
        f"jobs:\n- {{name: a, {job}, duration: 5s}}\n"
    )
    assert never_placed(read_described([str(file)], {}, 0)) == never


def test_what_never_runs_is_what_all_machines_one_by_one_cannot_hold(tmp_path: Path) -> None:
    draw = random.Random(1)
    found = 0
    for _ in range(8):
        machines = [(draw.randint(1, 4), draw.randint(0, 1), draw.choice("xyz")) for _ in range(5)]
        tree: dict[str, list[dict[str, object]]] = {
            "machines": [
                {"name": f"m{m}", "capacity": {"cpu": cpu, "gpu": gpu}, "labels": {"zone": zone}}
                for m, (cpu, gpu, zone) in enumerate(machines)
            ],
            "jobs": [],
        }
        never, tasks = 0, 0
        for j in range(30):
            cpu, gpu, gang = draw.randint(1, 4), draw.choice([0, 0, 1]), draw.choice([1, 2, 4])
            zone, spread = draw.choice(["x", "y", "z", ""]), draw.random() < 0.3
            job: dict[str, object] = {"name": f"j{j}", "demand": {"cpu": cpu, "gpu": gpu}}
            job |= {"tasks": gang, "gang": gang, "spread": spread, "duration": "5s"}
            tree["jobs"].append(job | ({"where": f"zone = {zone}"} if zone else {}))
            fits = [
                min(has // cpu, gpus // gpu if gpu else gang, 1 if spread else gang)
                for has, gpus, there in machines
                if zone in ("", there)
            ]
            if sum(fits) < gang:
                never, tasks = never + 1, tasks + gang
        found += never
        file = tmp_path / "cluster.yaml"
        file.write_text(json.dumps(tree))
        assert never_placed(read_described([str(file)], {}, 0)) == (never, tasks)
    assert 20 < found < 220  # of 240
