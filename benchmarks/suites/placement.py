"""Placement rules: how far each leaves a run from the exact shares, and what reservations cost."""

from __future__ import annotations

import os
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.cases import Call, Case, Measured, Options

RULES = ("first-fit", "best-fit", "worst-fit", "alignment", "scarce-last", "price-guided")
SECOND = 1_000_000  # microseconds
ROOT = Path(__file__).resolve().parent.parent.parent

GOOGLE = (
    "google-2011/task_events_part-00000-of-00500.csv.gz",
    "google-2011/machine_events.csv.gz",
    "google-2011/job_events",
)
ALIBABA = (
    "alibaba-gpu-2023/openb_node_list_all_node.csv",
    "alibaba-gpu-2023/openb_pod_list_gpuspec33.csv",
)

WORKLOADS: dict[str, dict[str, Any]] = {
    # `every` and `advise` are the seconds of simulated time between two samples, and at least
    # between two solutions for prices.
    # The recorded hour as it is, machines as they came and went; and on every twelfth of the
    # machines that were there first, where much more is asked for than there is. An exact
    # allocation of thousands of finite jobs takes many seconds: few samples.
    "google-hour": {
        "files": GOOGLE,
        "set": {"hours": "1"},
        "every": 600,
        "advise": 600,
        "until": 3600,
    },
    "google-twelfth": {
        "files": GOOGLE,
        "set": {"hours": "1", "machine-changes": "no"},
        "thin": 12,
        "every": 600,
        "advise": 600,
        "until": 3600,
    },
    # All pods at time 0, each a tenant of its own: it is asked for 98% of the GPUs, and for more
    # than there is of some types. And every fifth node of each type, with 20 tenants drawn.
    "gpuspec33-backlog": {
        "files": ALIBABA,
        "set": {"arrivals": "backlog"},
        "every": 3600,
        "advise": 3600,
        "until": 24 * 3600,
    },
    "gpuspec33-fifth": {
        "files": ALIBABA,
        "set": {"arrivals": "backlog", "tenants": "20"},
        "thin": 5,
        "seeds": 10,  # who owns which pod decides more than the rule does
        "every": 3600,
        "advise": 3600,
        "until": 24 * 3600,
    },
    # Every machine is its own class under Sharma's constraints: a tenth of the study.
    "tsf-tenth": {
        "generate": "tsf-study(machines=100, jobs=450, tasks=18000, times=exponential, mean=600)",
        "every": 300,
        "advise": 60,
        "until": 3600,
    },
}
RARE: dict[str, Any] = {
    # Pods as they came, so many times as fast that every fifth node is full for a time.
    "files": ALIBABA,
    "set": {"tenants": "20"},
    "thin": 5,
    "seeds": 10,
    "until": 200 * 3600,
}
QUICK: dict[str, dict[str, Any]] = {
    "tsf-tenth": {
        "generate": "tsf-study(machines=20, jobs=60, tasks=600, times=exponential, mean=600)",
        "every": 600,
        "advise": 60,
        "until": 3600,
    },
}


def cases(options: Options) -> list[Case]:
    """The rows: every workload under every rule, the papers' cases, reservations on and off."""
    workloads = QUICK if options.quick else WORKLOADS
    found = [
        _case(f"{name}/{rule}", "benchmarks.suites.placement:distance", rule, options, of=spec)
        for name, spec in workloads.items()
        for rule in RULES
    ]
    found += [
        _case(
            f"table-ii/{rule}",
            "benchmarks.suites.placement:table_ii",
            rule,
            options,
            repeat=2 if options.quick else 20,
        )
        for rule in RULES
    ]
    found += [  # not price-guided: slots are all alike
        _case(
            f"choosy/{rule}",
            "benchmarks.suites.placement:choosy",
            rule,
            options,
            spec="choosy-study(machines=50, jobs=20)" if options.quick else "choosy-study",
            repeat=1 if options.quick else 5,
        )
        for rule in RULES[:-1]
    ]
    found += [
        _case(
            f"rare-{speed}/{rule}",
            "benchmarks.suites.placement:rare_needs",
            rule,
            options,
            of={**RARE, "set": {**RARE["set"], "speed": str(speed)}},
        )
        for speed in ((300,) if options.quick else (300, 600))
        for rule in RULES[:-1]
    ]
    found += [
        _case(
            f"demo/{rule}",
            "benchmarks.demo:example",
            rule,
            options,
            repeat=1 if options.quick else 10,
            minutes=5 if options.quick else 30,
        )
        for rule in RULES[:-1]
    ]
    found += [
        _case(
            f"reserve-{after}/{name}",
            "benchmarks.suites.placement:reserving",
            "best-fit",
            options,
            of=spec,
            after=None if after == "never" else int(after[:-1]) * SECOND,
        )
        for name, spec in workloads.items()
        for after in ("never", "60s", "600s")
    ]
    return found


def _case(name: str, prepare: str, rule: str, options: Options, **told: Any) -> Case:
    size: dict[str, int | str] = {"rule": rule}
    if "repeat" in told:
        size["runs"] = told["repeat"]
    arguments = {**told, "rule": rule, "seed": options.seed}
    return Case(name, size, Call(rule, prepare, arguments))


def distance(of: dict[str, Any], rule: str, seed: int) -> Measured:
    """A run's distance from the exact allocation of each moment, under TSF: over the samples that
    are taken while jobs come (`until`). Of several seeds, means, and the least and largest RMSE."""
    from fairlead.simulation.engine.options import Options as Chosen
    from fairlead.simulation.engine.run import simulate
    from fairlead.simulation.measure.distance import Summary
    from fairlead.simulation.measure.distances import Distances

    workloads = _workloads(of, seed)

    def one(workload: Any) -> Summary:
        measured = Distances(of["every"] * SECOND)
        options = Chosen(until=of["until"] * SECOND, advise=of["advise"] * SECOND)
        simulate(workload, placement=rule, sinks=[measured], options=options)
        if measured.summary.largest is None:
            raise RuntimeError("nobody was there at any sample")
        return measured.summary

    def run() -> dict[str, float]:
        found = [one(workload) for workload in workloads]
        rmse = [each.rmse for each in found]
        spread = {"least rmse %": min(rmse), "largest rmse %": max(rmse)} if len(found) > 1 else {}
        return {
            "rmse %": mean(rmse),
            **spread,
            "sorted %": mean(each.rmse_sorted for each in found),
            "largest shortfall %": max(each.largest.shortfall for each in found if each.largest),
            "samples": sum(each.samples for each in found),
        }

    return run


def reserving(of: dict[str, Any], rule: str, seed: int, after: int | None) -> Measured:
    """The cost to everybody of waiting for large tasks: the distance, and how long jobs wait, of
    those that are over when the run ends. Of several seeds, means, and the most."""
    import numpy as np

    from fairlead.simulation.engine.options import Options as Chosen
    from fairlead.simulation.engine.run import simulate
    from fairlead.simulation.measure.distances import Distances
    from fairlead.simulation.measure.sinks import NEVER, Kept

    workloads = _workloads(of, seed)

    def one(workload: Any) -> dict[str, float]:
        measured, kept = Distances(of["every"] * SECOND), Kept(tasks=False)
        until = of["until"] * SECOND
        simulate(
            workload,
            placement=rule,
            sinks=[measured, kept],
            options=Chosen(reserve_after=after, until=until),
        )
        summary = measured.summary
        if summary.largest is None:
            raise RuntimeError("nobody was there at any sample")
        jobs = kept.jobs_kept
        delay = np.where(jobs.first_start == NEVER, until - jobs.submitted, jobs.delay) / SECOND
        return {
            "rmse %": summary.rmse,
            "largest shortfall %": summary.largest.shortfall,
            "placed": int(jobs.launches.sum()),
            "mean delay s": float(delay.mean()),
            "longest delay s": float(delay.max()),
            "never started": int((jobs.first_start == NEVER).sum()),
        }

    def run() -> dict[str, float]:
        found = [one(workload) for workload in workloads]
        most = ("largest shortfall %", "longest delay s")
        return {
            name: (max if name in most else mean)(each[name] for each in found) for name in found[0]
        }

    return run


def rare_needs(of: dict[str, Any], rule: str, seed: int) -> Measured:
    """How long pods wait whose needs few nodes meet, in seconds, and how long all do: those that
    name GPU models, and those of whole nodes of 8 GPUs. Of several seeds, means."""
    import numpy as np

    from fairlead.simulation.engine.options import Options as Chosen
    from fairlead.simulation.engine.run import simulate
    from fairlead.simulation.measure.sinks import NEVER, Kept

    workloads = _workloads(of, seed)
    until = of["until"] * SECOND

    def one(workload: Any) -> dict[str, float]:
        kept = Kept(tasks=False)
        simulate(workload, placement=rule, sinks=[kept], options=Chosen(until=until))
        jobs = kept.jobs_kept
        delay = np.where(jobs.first_start == NEVER, until - jobs.submitted, jobs.delay) / SECOND
        batches = list(workload.batches())
        resource = [each.name for each in workload.resources].index("gpu")
        gpus = np.concatenate([each.demand[:, resource] for each in batches])[jobs.number]
        named = np.concatenate([each.needs.any(axis=1) for each in batches])[jobs.number]
        kinds = {
            "all": gpus >= 0,
            "no gpu": gpus == 0,
            "named models": named,
            "8 gpus": gpus >= 8 * workload.resources[resource].piece,
        }
        means = {f"{kind}: mean s": float(delay[which].mean()) for kind, which in kinds.items()}
        return {**means, "named models: 95% s": float(np.percentile(delay[named], 95))}

    def run() -> dict[str, float]:
        found = [one(workload) for workload in workloads]
        return {name: mean(each[name] for each in found) for name in found[0]}

    return run


def table_ii(rule: str, seed: int, repeat: int) -> Measured:
    """TSF Table II: the shares of the jobs from 185 to 240 s, means over the seeds and the time."""
    from fairlead.simulation.engine.run import simulate
    from fairlead.simulation.ideal.compare import Allocations
    from fairlead.simulation.workloads.registry import generate

    def run() -> dict[str, float]:
        sums = dict.fromkeys(range(4), 0.0)
        count = 0
        for each in range(seed, seed + repeat):
            kept = Allocations(SECOND)
            simulate(generate("table-ii", each), placement=rule, sinks=[kept])
            for time, (jobs, share) in kept.at.items():
                if 185 * SECOND <= time <= 240 * SECOND:
                    count += 1
                    for job, value in zip(jobs.tolist(), share.tolist(), strict=True):
                        sums[job] += value
        return {f"job {job + 1}": total / count for job, total in sums.items() if total}

    return run


def choosy(spec: str, rule: str, seed: int, repeat: int) -> Measured:
    """Choosy 7.1: the distance from the restricted ideal scheduler while jobs come, means over
    the seeds; `largest` is the largest of the means of a run."""
    from fairlead.simulation.engine.run import simulate
    from fairlead.simulation.ideal.compare import Allocations, apart
    from fairlead.simulation.ideal.kinds import Kind
    from fairlead.simulation.ideal.run import run_ideal
    from fairlead.simulation.workloads.registry import generate

    def run() -> dict[str, float]:
        found = []
        for each in range(seed, seed + repeat):
            workload = generate(spec, each)
            ours, ideal = Allocations(10 * SECOND), Allocations(10 * SECOND)
            simulate(workload, policy="cmmf:slot", placement=rule, sinks=[ours])
            run_ideal(workload, Kind.RESTRICTED, "cmmf:slot", sinks=[ideal])
            found.append(apart(ours, ideal, until=3600 * SECOND))
        return {
            "sorted %": sum(each.mean_sorted for each in found) / len(found),
            "largest sorted %": max(each.mean_sorted for each in found),
            "rmse %": sum(each.mean for each in found) / len(found),
        }

    return run


def _workloads(of: dict[str, Any], seed: int) -> list[Any]:
    return [workload_of(of, each) for each in range(seed, seed + of.get("seeds", 1))]


def workload_of(of: dict[str, Any], seed: int) -> Any:
    """The workload that a description means, its jobs in memory."""
    from benchmarks.suites.online import in_memory
    from fairlead.simulation.traces.build import every_nth_machine
    from fairlead.simulation.traces.registry import load
    from fairlead.simulation.workloads.registry import generate

    if "generate" in of:
        return in_memory(generate(of["generate"], seed))
    data = Path(os.environ.get("FAIRLEAD_DATA") or ROOT.parent / "shared" / "data")
    if not data.is_dir():
        raise FileNotFoundError(f"{data} is not there: set FAIRLEAD_DATA (CONTRIBUTING.md, 'Data')")
    options = {**of["set"], "seed": str(seed)}
    workload = load([data / name for name in of["files"]], options=options)
    if "thin" in of:
        workload = every_nth_machine(workload, of["thin"])
    return in_memory(workload)
