"""Auditing real traces: the properties of each policy, with and without the allocation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.cases import Call, Case, Measured, Options, Target

if TYPE_CHECKING:
    from fairlead.audit.finding import Input

POLICIES = ("tsf", "cdrf", "drfh", "drf", "per-machine-drf")
PROPERTIES = (
    "sharing-incentive",
    "envy-freeness",
    "pareto-optimality",
    "bottleneck-fairness",
)
TRACES = {
    "alibaba": (
        [
            "alibaba-gpu-2023/openb_node_list_all_node.csv",
            "alibaba-gpu-2023/openb_pod_list_gpuspec33.csv",
        ],
        {},
        {"machines": 1523, "tenants": 447, "jobs": 447},
    ),
    "google": (
        ["google-2011/machine_events.csv.gz", "google-2011/task_events_part-00000-of-00500.csv.gz"],
        {"hours": "1"},
        {"machines": 12477, "tenants": 516, "jobs": 3086},
    ),
}
"""The data directory's files, what is assumed, and what they come to."""


def cases(options: Options) -> list[Case]:
    """A row for each trace and policy: the properties alone, and with the allocation."""
    found = []
    for trace, (_, _, size) in TRACES.items():
        if options.quick and trace != "alibaba":
            continue
        for policy in POLICIES:
            arguments = {"trace": trace, "policy": policy}
            for name, function in (("properties", "properties"), ("whole", "whole")):
                call = Call("fairlead audit", f"benchmarks.suites.audit:{function}", arguments)
                target = Target(seconds=60.0) if name == "whole" else Target()
                found.append(Case(f"{trace}/{policy}/{name}", dict(size), call, target=target))
    return found


def properties(trace: str, policy: str) -> Measured:
    """The properties of an allocation that is there already."""
    from fairlead.audit.outcome import Options as Search
    from fairlead.audit.outcome import solve
    from fairlead.audit.run import judge

    outcome = solve(_input(trace), policy)

    def measured() -> None:
        list(judge(outcome, PROPERTIES, Search()))

    return measured


def whole(trace: str, policy: str) -> Measured:
    """The allocation, and its properties."""
    from fairlead.audit.outcome import Options as Search
    from fairlead.audit.outcome import solve
    from fairlead.audit.run import judge

    given = _input(trace)

    def measured() -> None:
        list(judge(solve(given, policy), PROPERTIES, Search()))

    return measured


def _input(trace: str) -> Input:
    """The trace's backlog as an input."""
    import os
    from pathlib import Path

    from fairlead.audit.finding import Input
    from fairlead.simulation.traces.backlog import as_input
    from fairlead.simulation.traces.registry import load

    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    data = Path(os.environ.get("FAIRLEAD_DATA", beside))
    files, assumed, _ = TRACES[trace]
    cluster, jobs, _ = as_input(load([data / file for file in files], options=assumed))
    return Input(cluster, jobs)
