"""The records that one search of the online core looks at, counted on the state of a run under
load.

`python benchmarks/searches.py WORKLOAD SECONDS` runs the workload for so many seconds of its time,
draws tasks that run then (a seed), and counts for each what is looked at for its machine when it
ends: nodes of the tries, by the same rules as `scheduling.kernels.search`, here in plain Python. It
prints means as one JSON object. What it counts depends on no clock.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src")]

from fairlead.compiling import kernel  # noqa: E402
from fairlead.scheduling.kernels.memory.briefs import SIGNS, briefs_of, may_hold  # noqa: E402  the path comes first
from fairlead.scheduling.kernels.memory.state import Handle, State  # noqa: E402
from fairlead.scheduling.kernels.memory.tables import NONE  # noqa: E402
from fairlead.scheduling.kernels.search.levels import at_least, levels_of  # noqa: E402
from fairlead.scheduling.transitions import HELD  # noqa: E402
from fairlead.simulation.engine.driver import Driver  # noqa: E402
from fairlead.simulation.engine.options import Options  # noqa: E402
from fairlead.simulation.engine.pace import Pace  # noqa: E402
from fairlead.simulation.engine.progress import Silent, remark  # noqa: E402
from fairlead.simulation.workloads.registry import generate  # noqa: E402


@dataclass
class Looked:
    """Counts of what one search looked at."""

    nodes: int = 0  # taken from those that lie before it
    children: int = 0  # of those that were opened
    late: int = 0  # of both, left out by their level
    refused: int = 0  # of the children, left out: no room, or a term is lacking
    found: int = 0  # jobs that were the best so far


def state_of(spec: str, seconds: int, policy: str, placement: str, seed: int) -> State:
    """The core's state after so many seconds of a generated workload."""
    workload = generate(spec, seed)
    driver = Driver(workload, policy, placement, seed, (), Options(until=seconds * 1_000_000))
    driver.go(Pace(Silent(), spec, remark))
    return driver.core.state


def search(state: State, m: int, room: Any) -> tuple[int, Looked]:
    """The next job on machine m if it has so much room (NONE: nobody), and what is looked at.
    Reservations, gangs and limits are not heeded."""
    node, tenant, looked = state.node, state.tenant, Looked()
    satisfies = state.satisfies[m]
    brief = int(briefs_of(np.asarray(room)[None])[0] | SIGNS), int(~satisfies[0])
    best, found = (float("inf"), 0), NONE
    root = int(state.header[0]["root"])
    stack = [(root, -1)] if root >= 0 else []
    while stack:
        n, t = stack.pop()
        looked.nodes += 1
        level = _level(state, n, t)
        if (level, int(node[n]["turn"])) >= best:
            looked.late += 1
            continue
        if node[n]["left"] >= 0:
            both = [int(node[n]["left"]), int(node[n]["right"])]
            looked.children += 2
            early = [c for c in both if _level(state, c, t) <= best[0]]
            looked.late += 2 - len(early)
            kept = [c for c in early if _may_hold(node[c], *brief)]
            looked.refused += len(early) - len(kept)
            kept.sort(key=lambda c: (float(node[c]["key"]), int(node[c]["turn"])), reverse=True)
            stack += [(c, t) for c in kept]
        elif not _holds(state, n, room, satisfies):
            continue
        elif node[n]["team"]:
            owner = int(node[n]["owner"])
            roots = [int(tenant[owner][name]) for name in ("root", "teams")]
            roots = sorted((r for r in roots if r >= 0), key=lambda r: -float(node[r]["key"]))
            stack += [(root, owner) for root in roots]
        elif not _is_there(state, int(node[n]["owner"]), m):
            best, found = (level, int(node[n]["turn"])), int(node[n]["owner"])
            looked.found += 1
    return found, looked


def _level(state: State, n: int, t: int) -> float:
    """The least level below a node of a trie of tenant t's, or of that of all without a parent."""
    node = state.node[n]
    if node["left"] < 0 and not node["team"]:
        return float(levels_of(state.handle, np.array([node["owner"]]))[0])
    return float(bound_of(state.handle, t, float(node["key"])))


@kernel
def bound_of(s: Handle, t: int, key: float) -> float:
    """As the search asks for it."""
    return float(at_least(s, t, key))


def _is_there(state: State, j: int, m: int) -> bool:
    """Does the job spread, and has a task on the machine?"""
    if not state.job[j]["spread"]:
        return False
    held = np.isin(state.task["state"], HELD)
    return bool((held & (state.task["job"] == j) & (state.task["machine"] == m)).any())


def _may_hold(node: Any, room: int, lacking: int) -> bool:
    """May a job below the node be placed, by its brief and word, as the search reads them?"""
    plain: Any = may_hold
    return bool(plain.py_func(int(node["brief"]), int(node["word"]), room, lacking))


def _holds(state: State, n: int, room: Any, satisfies: Any) -> bool:
    return bool((state.need[n] <= room).all() and not (state.terms[n] & ~satisfies).any())


def counted(state: State, searches: int, seed: int) -> dict[str, float]:
    """Means over so many tasks that run, each ended by itself."""
    running = np.flatnonzero(np.isin(state.task["state"], HELD))
    drawn = np.random.default_rng(seed).choice(running, searches)
    sums = dict.fromkeys(Looked.__dataclass_fields__, 0)
    waiting = np.flatnonzero((state.job["used"] == 1) & (state.job["active"] == 1))
    fit = room_for = 0
    for t in drawn.tolist():
        m, j = int(state.task[t]["machine"]), int(state.task[t]["job"])
        room, satisfies = state.room[m] + state.demand[j], state.satisfies[m]
        for name, value in vars(search(state, m, room)[1]).items():
            sums[name] += value
        has_room = (state.demand[waiting] <= room).all(axis=1)
        has_terms = ((state.needs[waiting] & ~satisfies) == 0).all(axis=1)
        room_for += int(has_room.sum())
        fit += int((has_room & has_terms).sum())
    return {
        "machines": int(state.header[0]["machines"]),
        "running": len(running),
        "waiting jobs": len(waiting),
        "have room": room_for / searches,
        "may be placed": fit / searches,
        **{name: value / searches for name, value in sums.items()},
    }


def main(argv: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload", help="as `fairlead simulate` takes it")
    parser.add_argument("seconds", type=int, help="of the workload's time")
    parser.add_argument("--policy", default="tsf")
    parser.add_argument("--placement", default="first-fit")
    parser.add_argument("--searches", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    state = state_of(args.workload, args.seconds, args.policy, args.placement, args.seed)
    print(json.dumps(counted(state, args.searches, args.seed), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
