"""A tight rule on many machines decides as the same rule does where all that fit are scored."""

from __future__ import annotations

import inspect

import pytest

from fairlead.scheduling.kernels.choice import FEW
from fairlead.scheduling.placement import best_fit
from fairlead.scheduling.placement.registry import find
from fairlead.simulation.run import simulate
from fairlead.simulation.workloads.registry import generate


@pytest.fixture(scope="module")
def in_full(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Best fit in a file of one's own, of which nobody knows that it is tight."""
    file = tmp_path_factory.mktemp("rule") / "mine.py"
    source = inspect.getsource(best_fit)
    known = "def best_fit("
    assert known in source
    imported = "from fairlead.scheduling.placement.registry import placement\n"
    head, _, tail = source.partition(known)
    file.write_text(f"{head}{imported}@placement('mine')\n{known}{tail}", encoding="utf-8")
    return f"{file}:mine"


@pytest.mark.parametrize(
    "text",
    [
        "overload(machines=700, jobs=150, each=40)",
        "overload(machines=3000, jobs=60, each=40)",
        "tsf-study(machines=400, jobs=500, tasks=12000)",
        "choosy-study(machines=300, jobs=40)",
    ],
)
def test_the_machines_are_the_same(text: str, in_full: str, cases: int) -> None:
    assert find("best-fit").tight
    assert not find(in_full).tight
    for seed in range(2 * cases):
        workload = generate(text, seed)
        assert len(workload.machines.names) > 2 * FEW
        assert simulate(workload).digest == simulate(workload, placement=in_full).digest
