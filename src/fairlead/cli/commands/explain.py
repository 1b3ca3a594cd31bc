"""`fairlead explain`: why a job or a tenant gets what it gets, in sentences."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli.common.inputs import (
    add_files,
    add_live,
    add_policy,
    is_live,
    read_jobs,
    say_result,
)
from fairlead.cli.common.patience import patience
from fairlead.model.errors import InputError
from fairlead.model.names import compress
from fairlead.model.report import nowhere_tree, rounded, stop_tree
from fairlead.model.words import listing

if TYPE_CHECKING:
    from fairlead.audit.outcome import Outcome
    from fairlead.audit.tenant import TenantExplanation, Try
    from fairlead.cli.common.screen import Screen
    from fairlead.model.allocation import Allocation
    from fairlead.model.job import Job
    from fairlead.model.machine import Cluster
    from fairlead.sharing.analysis.explanation import Explanation
    from fairlead.sharing.analysis.improvements import Change

EPILOG = """\
examples:
  fairlead explain train cluster.yaml jobs.yaml
  fairlead explain vision cluster.yaml jobs.yaml      a tenant, with all its jobs
  fairlead explain train cluster.yaml jobs.yaml --policy drfh --json
  fairlead explain vision --live                      of a running service, with its past
                                                      (a job of one: `fairlead why train`)

Where a job and a tenant have the same name, the job is explained; --tenant asks for the tenant.

Changes that would raise the share are found by the prices of what stopped the job. On small inputs
each of them is tried, and so is each part of the constraint: the cluster is shared again with the
change made. On larger ones `fairlead whatif` does that for any one of them.
"""

OPTIONS_BETWEEN = True
"""Options may stand between NAME and the files, of which there may be none: a mistake of which the
parser would say less."""

SCHEMA = "fairlead.explanation/1"
TENANT_SCHEMA = "fairlead.tenant-explanation/1"

NAMED = 10
"""So many names are listed where none, or a wrong one, was given."""

SMALL = 2_000
"""Jobs times classes up to which changes are tried: sharing again a dozen times takes a moment."""
FEW_MACHINES = 2_000


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the name of a job or a tenant")
    add_files(parser, least=0)
    parser.add_argument(
        "--tenant", action="store_true", help="NAME is a tenant, also where a job has that name"
    )
    what = "a tenant of a running service, with its jobs and its past"
    add_live(parser, what, "--tenant")
    add_policy(parser)
    parser.add_argument("--json", action="store_true", help="print the explanation as JSON")


def run(args: argparse.Namespace) -> int:
    if is_live(args):
        from fairlead.cli.commands.explain_live import run_live

        return run_live(args)
    from fairlead.audit.finding import Input
    from fairlead.audit.outcome import solve
    from fairlead.audit.tenant import tenants_of
    from fairlead.cli.text.explanation import explanation_lines
    from fairlead.sharing.rules.registry import parse

    if _is_file(args.name, args.files):
        _check_order(args.name, args.files)
        cluster, jobs = read_jobs([args.name, *args.files])
    elif args.files:
        cluster, jobs = read_jobs(args.files)
    else:
        right = f"write `fairlead explain {args.name} cluster.yaml jobs.yaml`; of a running service"
        right += f" `fairlead why {args.name}` explains a job, and --live a tenant"
        raise InputError("fairlead explain: no file is given", right)
    rule = parse(args.policy)
    with patience():
        outcome = solve(Input(cluster, jobs), rule)
        tenants = tenants_of(outcome)
        if args.name in tenants and (
            args.tenant or args.name not in outcome.allocation.unrounded.tasks
        ):
            return _run_tenant(args, outcome)
        _check_name(args, outcome, tenants)
        why, changes, tried = explain_job(cluster, jobs, outcome.allocation, args.name, args.policy)

    def lines(screen: Screen) -> Iterator[str]:
        yield from explanation_lines(cluster, why, changes, tried, screen)
        if args.name in tenants:
            yield ""
            yield f"A tenant has this name, too: `fairlead explain --tenant {args.name} …`."

    say_result(args.json, lambda: tree(why, changes, tried), lines)
    return 0


def _is_file(name: str, files: Sequence[str]) -> bool:
    """Whether a file stands where the name of a job should."""
    from fairlead.files import ENDINGS

    return (not files or name.endswith(ENDINGS)) and Path(name).exists()


def _check_order(first: str, files: Sequence[str]) -> None:
    """Raises InputError where the job's name stands behind the files."""
    *others, last = files or ("-",)
    if last != "-" and not Path(last).exists():
        right = " ".join(("fairlead explain", last, first, *others))
        raise InputError(f"no such file: {last}", f"a job's name comes first: `{right}`")


def _check_name(args: argparse.Namespace, outcome: Outcome, tenants: Sequence[str]) -> None:
    """Raises InputError with the names to choose from where none of them is given."""
    import difflib

    jobs = [job.name for job in outcome.allocation.jobs]
    choice = f"the jobs are {listing(jobs, most=NAMED)}" if jobs else "write some under jobs:"
    if tenants:
        choice += f"; the tenants are {listing(tenants, most=NAMED)}"
    if _is_file(args.name, args.files):
        raise InputError("fairlead explain: name a job or a tenant before the files", choice)
    known = tenants if args.tenant else [*jobs, *tenants]
    if args.name in known:
        return
    if args.name in jobs:
        raise InputError(f"`{args.name}` is a job, not a tenant", "leave --tenant out")
    kind = "tenant" if args.tenant else "job or tenant"
    close = difflib.get_close_matches(args.name, known, n=3)
    hint = f"did you mean `{'`, `'.join(close)}`?" if close else choice
    raise InputError(f"there is no {kind} `{args.name}`", hint)


def _run_tenant(args: argparse.Namespace, outcome: Outcome) -> int:
    from fairlead.audit.tenant import explain_tenant
    from fairlead.cli.text.tenant import tenant_lines

    found = explain_tenant(
        outcome, args.name, tried=_is_small(outcome.input.cluster, outcome.allocation)
    )
    say_result(args.json, lambda: tenant_tree(found), lambda screen: tenant_lines(found, screen))
    return 0


def _is_small(cluster: Cluster, allocation: Allocation) -> bool:
    """Whether changes are tried."""
    size = len(allocation.jobs) * len(allocation.classes)
    return size <= SMALL and len(cluster.machines) <= FEW_MACHINES


def explain_job(
    cluster: Cluster, jobs: Sequence[Job], allocation: Allocation, name: str, policy: str
) -> tuple[Explanation, tuple[Change, ...], bool]:
    """The explanation, the changes worth a look, and whether they were tried."""
    from fairlead.sharing.allocate import allocate
    from fairlead.sharing.analysis.explanation import explain
    from fairlead.sharing.analysis.improvements import counterfactuals

    why = explain(cluster, jobs, allocation, name)
    small = _is_small(cluster, allocation)

    def again(changed: Cluster, changed_jobs: Sequence[Job]) -> Allocation:
        return allocate(changed, changed_jobs, policy)

    return why, counterfactuals(cluster, jobs, why, again if small else None), small


def tree(why: Explanation, changes: Sequence[Change], tried: bool) -> dict[str, object]:
    useless = [change for change in changes if tried and change.moves <= 0]
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
            | _class_machines(why.allocation, scarce.stop.machine_class)
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
        "changes": [_change_tree(change) for change in changes if change not in useless],
        "without_effect": [_change_tree(change) for change in useless],
        "tried": tried,
    }


def tenant_tree(why: TenantExplanation) -> dict[str, object]:
    given, allocation = why.outcome.input, why.outcome.allocation
    from fairlead.sharing.analysis.explanation import stops_of

    stops = stops_of(given.cluster, given.jobs, allocation)
    own = why.own
    return {
        "schema": TENANT_SCHEMA,
        "policy": allocation.policy,
        "tenant": why.tenant.name,
        "parent": why.tenant.parent,
        "weight": why.tenant.weight,
        "share": why.tenant.share,
        "jobs": [
            {
                "job": job.name,
                "tenant": job.tenant,
                "tasks": job.tasks,
                "alone": job.alone,
                "waiting": job.name in why.waiting,
                "stopped_by": [
                    stop_tree(stop) | _class_machines(allocation, stop.machine_class)
                    for stop in stops[job.name]
                ],
            }
            for job in why.jobs
        ],
        "own": None
        if own is None
        else {"unit": own.unit, "could": rounded(own.before), "has": rounded(own.after)},
        "changes": [_try_tree(one) for one in why.tries if not why.tried or one.moves > 0],
        "without_effect": [_try_tree(one) for one in why.tries if why.tried and one.moves <= 0],
        "tried": why.tried,
    }


def _try_tree(one: Try) -> dict[str, object]:
    """A change as in an explanation of a job, with the job that points to it, or a weight."""
    if one.change is None or one.why is None:
        none = ("job", "machines", "resource", "subject", "gain_by_price")
        about: dict[str, object] = {"change": "weight", "meets": []} | dict.fromkeys(none)
        about["amount"] = rounded(float(one.weight or 0))
    else:
        about = _change_tree(one.change) | {"job": one.why.job.name}
    return about | {
        "share": rounded(one.share),
        "tasks": {name: rounded(more) for name, more in one.jobs},
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
        "meets": [{"tenant": tenant, "resource": resource} for tenant, resource in change.meets],
    }


def _class_machines(allocation: Allocation, index: int | None) -> dict[str, object]:
    if index is None:
        return {}
    group = next(group for group in allocation.classes if group.index == index)
    return {"machines": list(compress(group.machines))}
