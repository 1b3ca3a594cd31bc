"""A what-if as data."""

from __future__ import annotations

from fractions import Fraction

from fairlead.audit.whatif.compare import Level, WhatIf
from fairlead.audit.whatif.edits import Add, Demand, Drop, Edit, Limit, Remove, Weight
from fairlead.model.names import compress
from fairlead.model.quantity import write_amount, write_plain
from fairlead.model.report import rounded

SCHEMA = "fairlead.whatif/1"


def tree(found: WhatIf) -> dict[str, object]:
    """The comparison as `fairlead.whatif/1`."""
    before, after = found.before.allocation, found.after.allocation
    return {
        "schema": SCHEMA,
        "policy": before.policy,
        "tasks": before.tasks.value,
        "changes": [_edit_tree(edit) for edit in found.edits],
        "added": list(compress(found.made.added)),
        "removed": list(compress(found.made.removed)),
        "stranded": list(found.made.stranded),
        "jobs": [
            {
                "job": job.name,
                "tenant": job.of,
                "before": job.before,
                "after": job.after,
                "scale_before": _decimal(job.scale[0]),
                "scale_after": _decimal(job.scale[1]),
                "verdict": _VERDICT[job.change],
            }
            for job in found.jobs
        ],
        "tenants": [
            {
                "tenant": tenant.name,
                "parent": tenant.of,
                "before": tenant.before,
                "after": tenant.after,
                "after_by_scales_of_before": rounded(tenant.compared),
                "verdict": _VERDICT[tenant.change],
            }
            for tenant in found.tenants
        ],
        "bottlenecks": [
            {
                "kind": one.kind.value,
                "machines": list(compress(one.machines)),
                "resource": one.resource,
                "who": one.who,
                "there_before": one.was,
                "there_after": one.will,
                "before": _level_tree(one.before),
                "after": _level_tree(one.after),
            }
            for one in found.bottlenecks
        ],
        "purchase": None,
        "warnings_before": list(before.sentences()),
        "warnings_after": list(after.sentences()),
    }


_VERDICT = {1: "gains", 0: "same", -1: "loses"}


def _decimal(value: Fraction | None) -> float | None:
    return None if value is None else rounded(float(value))


def _level_tree(level: Level | None) -> dict[str, object] | None:
    if level is None:
        return None
    return {"level": level.index, "share": level.share, "jobs": list(level.jobs)}


def _edit_tree(edit: Edit) -> dict[str, object]:
    match edit:
        case Add(count, model, like):
            return {
                "change": "add",
                "count": count,
                "like": like,
                "name": model.name,
                "capacity": {key: write_amount(value) for key, value in model.capacity.items()},
                "labels": {key: str(value) for key, value in model.labels.items()},
            }
        case Remove(machines):
            return {"change": "remove", "machines": list(compress(machines))}
        case Weight(tenant, weight):
            return {"change": "weight", "tenant": tenant, "weight": write_plain(weight)}
        case Drop(job, part):
            return {"change": "drop-constraint", "job": job, "part": part}
        case Demand(job, resource, need):
            return {
                "change": "set-demand",
                "job": job,
                "resource": resource,
                "amount": write_amount(need),
            }
        case Limit(tenant, resource, limit):
            return {
                "change": "set-limit",
                "tenant": tenant,
                "resource": resource,
                "amount": write_amount(limit),
            }
