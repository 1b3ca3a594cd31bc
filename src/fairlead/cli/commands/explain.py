"""`fairlead explain`: why a job gets what it gets, in sentences."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import add_files, add_policy, read, say_result
from fairlead.cli.common.patience import patience
from fairlead.model.names import compress
from fairlead.model.report import nowhere_tree, rounded, stop_tree

if TYPE_CHECKING:
    from fairlead.model.allocation import Allocation
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster
    from fairlead.sharing.analysis.explanation import Explanation
    from fairlead.sharing.analysis.improvements import Change

EPILOG = """\
examples:
  fairlead explain train cluster.yaml jobs.yaml
  fairlead explain train cluster.yaml --policy drfh --json

Changes that would raise the job are found by the prices of what stopped it. On small inputs each
of them is tried, and so is each part of its constraint: the cluster is shared again with the
change made. On larger ones `fairlead whatif` does that for any one of them.
"""

SCHEMA = "fairlead.explanation/1"

SMALL = 2_000
"""Jobs times classes up to which changes are tried: sharing again a dozen times takes a moment."""
FEW_MACHINES = 2_000


def configure(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.epilog = EPILOG
    parser.add_argument("job", metavar="JOB", help="the name of the job")
    add_files(parser)
    add_policy(parser)
    parser.add_argument("--json", action="store_true", help="print the explanation as JSON")


def run(args: argparse.Namespace) -> int:
    """Prints the explanation."""
    from fairlead.cli.text.explanation import explanation_lines
    from fairlead.sharing.allocate import allocate
    from fairlead.sharing.rules.registry import parse

    cluster, jobs = read(args.files)
    rule = parse(args.policy)
    with patience():
        allocation = allocate(cluster, jobs, rule)
        why, changes, tried = explain_job(cluster, jobs, allocation, args.job, args.policy)
    say_result(
        args.json,
        lambda: tree(why, changes, tried),
        lambda screen: explanation_lines(cluster, why, changes, tried, screen),
    )
    return 0


def explain_job(
    cluster: Cluster, jobs: Sequence[Job], allocation: Allocation, name: str, policy: str
) -> tuple[Explanation, tuple[Change, ...], bool]:
    """The explanation, the changes worth a look, and whether they were tried."""
    from fairlead.sharing.allocate import allocate
    from fairlead.sharing.analysis.explanation import explain
    from fairlead.sharing.analysis.improvements import counterfactuals

    why = explain(cluster, jobs, allocation, name)
    small = len(jobs) * len(allocation.classes) <= SMALL and len(cluster.machines) <= FEW_MACHINES

    def again(changed: Cluster, changed_jobs: Sequence[Job]) -> Allocation:
        return allocate(changed, changed_jobs, policy)

    return why, counterfactuals(cluster, jobs, why, again if small else None), small


def tree(why: Explanation, changes: Sequence[Change], tried: bool) -> dict[str, object]:
    """The explanation as `fairlead.explanation/1`."""
    vain = [change for change in changes if tried and not change.raises]
    return {
        "schema": SCHEMA,
        "policy": why.allocation.policy,
        "job": why.job.name,
        "tenant": why.share.tenant,
        "tasks": why.share.tasks,
        "of": rounded(None if why.job.tasks is None else float(why.job.tasks)),
        "alone": why.share.alone,
        "level": why.share.level,
        "share": why.tenant.share,
        "satisfied": why.satisfied,
        "usable": list(compress(why.usable_machines)),
        "excluded": nowhere_tree(why.excluded),
        "stopped_by": [
            stop_tree(scarce.stop)
            | _machines(why, scarce.stop.machine_class)
            | {
                "price": rounded(scarce.price),
                "own": scarce.own,
                "total": rounded(scarce.total),
                "holders": [
                    {
                        "job": holder.job,
                        "tenant": holder.tenant,
                        "tasks": holder.tasks,
                        "amount": rounded(holder.amount),
                    }
                    for holder in scarce.holders
                ],
            }
            for scarce in why.scarce
        ],
        "changes": [_change_tree(change) for change in changes if change not in vain],
        "in_vain": [_change_tree(change) for change in vain],
        "tried": tried,
    }


def _change_tree(change: Change) -> dict[str, object]:
    return {
        "change": change.kind.value,
        "machines": None if change.machines is None else list(compress(change.machines.machines)),
        "resource": change.resource,
        "amount": rounded(None if change.amount is None else float(change.amount)),
        "subject": change.subject or None,
        "gain_by_price": rounded(change.slope),
        "tasks": change.tasks,
    }


def _machines(why: Explanation, index: int | None) -> dict[str, object]:
    if index is None:
        return {}
    group = next(group for group in why.allocation.classes if group.index == index)
    return {"machines": list(compress(group.machines))}
