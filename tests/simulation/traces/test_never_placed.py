"""Which jobs empty machines cannot hold."""

from __future__ import annotations

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
