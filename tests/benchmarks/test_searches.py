"""The searches that are counted find whom the core finds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import searches
from fairlead.scheduling.kernels.search.search import next_job
from fairlead.scheduling.transitions import HELD

WORKLOAD = "overload(machines=30, jobs=60, each=40)"


def test_a_counted_search_finds_whom_the_core_finds(cases: int) -> None:
    state = searches.state_of(WORKLOAD, 900, "tsf", "first-fit", 1)
    running = np.flatnonzero(np.isin(state.task["state"], HELD))
    found = []
    for t in running[: 100 * cases].tolist():
        m, j = int(state.task[t]["machine"]), int(state.task[t]["job"])
        if state.machine[m]["reserved"] >= 0:
            continue
        before = state.room[m].copy()
        state.room[m] += state.demand[j]
        found.append(searches.search(state, m, state.room[m])[0])
        assert found[-1] == next_job(state.handle, m)
        state.room[m] = before
    assert len(set(found)) > 5


def test_the_command_prints_what_was_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert searches.main([WORKLOAD, "900", "--searches", "50"]) == 0
    counted = json.loads(capsys.readouterr().out)
    assert counted["nodes"] > counted["found"] > 0
    assert counted["have room"] >= counted["may be placed"] > 0
