"""The parts of an answer as plain data and in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from fairlead.model.names import compress
from fairlead.model.quantity import write_amount
from fairlead.model.shares import (
    GangTooLarge,
    JobShare,
    Level,
    MachineClass,
    Nowhere,
    OverLimit,
    Stop,
)
from fairlead.model.words import amounts, counted, listing, plural, sentence

Tree = dict[str, object]


def json_text(tree: Mapping[str, object]) -> str:
    """The tree as JSON, a line for each key and for each item of a list; the same text for the
    same tree, without a line feed at the end."""
    import json

    def text(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    parts = []
    for key, value in tree.items():
        if isinstance(value, list) and value:
            items = ",\n    ".join(text(item) for item in value)
            parts.append(f"  {text(key)}: [\n    {items}\n  ]")
        else:
            parts.append(f"  {text(key)}: {text(value)}")
    return "{\n" + ",\n".join(parts) + "\n}"


def rounded(value: float | None) -> float | None:
    """The number with 12 significant digits: beyond them doubles carry noise."""
    return None if value is None else float(f"{value:.12g}")


def never_words(job: str, reason: Nowhere) -> str:
    """The sentence on a job that can never run."""
    return f"job {job} can never run: {nowhere_sentence(reason)}"


def nowhere_sentence(reason: Nowhere) -> str:
    """Why it can never run, counted: `of 50 machines, 20 are excluded by ...`."""
    if not reason.machines:
        return "there are no machines."
    parts = [*exclusions(reason), *_too_small(reason)]
    counts = [count for _, count in (*reason.constraint, *reason.resources, *reason.small)]
    found = []
    if counts == [reason.machines]:
        every = "the only machine" if counts == [1] else f"each of the {counts[0]} machines"
        found.append(f"{every} {_of_one(parts[0])}")
    elif counts:
        found.append(f"of {counted(reason.machines, 'machine')}, {listing(parts)}")
    if reason.gang is not None:
        found.append(gang_words(reason.gang))
    found += map(limit_words, reason.limits)
    return sentence("; ".join(found))


def gang_words(gang: GangTooLarge) -> str:
    """Why so many tasks can never start together."""
    of, have = f"all {gang.machines} machines", "have"
    if gang.machines == 1:
        of, have = "the one machine", "has"
    return (
        f"{gang.size} tasks start together, and {of} that could run one {have} room for {gang.fit}"
        " when empty"
    )


def limit_words(over: OverLimit) -> str:
    """Why a tenant may never hold what starts together."""
    needs = "a task needs"
    if over.tasks > 1:
        needs = f"its {over.tasks} tasks that start together need"
    needed, limit = readable(over.needed, over.limit)
    return f"{needs} {needed} {over.resource}, and tenant {over.tenant} may hold {limit}"


LONG = 8
"""Letters of an amount that is read as it is."""


def readable(*values: Fraction) -> list[str]:
    """Amounts of one resource as they were written; those that are long are rounded, in units such
    as Gi, where they differ even so."""
    exact = list(map(write_amount, values))
    short = [
        text if len(text) <= LONG else amounts([float(value)])[0]
        for text, value in zip(exact, values, strict=True)
    ]
    return short if len(set(short)) == len(set(values)) else exact


def _of_one(part: str) -> str:
    """The part of a sentence without its number, said of one machine."""
    text = part.partition(" ")[2]
    for many, one in (("are ", "is "), ("have ", "has ")):
        if text.startswith(many):
            return one + text.removeprefix(many)
    return text


LISTS = {"machines": "not in its list of `machines`", "exclude": "in its list of `exclude`"}


def exclusions(reason: Nowhere) -> list[str]:
    """The reasons against machines, counted: `20 are excluded by ...`, `4 have no gpu`."""
    parts = [
        f"{count} {plural('is', count)} {LISTS.get(part) or f'excluded by `{part}`'}"
        for part, count in reason.constraint
    ]
    parts += [f"{count} {plural('has', count)} no {name}" for name, count in reason.resources]
    return parts


def _too_small(reason: Nowhere) -> list[str]:
    return [
        f"{count} {plural('has', count)} too little {name} for a task"
        for name, count in reason.small
    ]


def stop_tree(stop: Stop) -> Tree:
    """A stop with the keys of its kind only."""
    tree: Tree = {}
    if stop.job is not None:
        tree["job"] = stop.job
    if stop.tenant is not None:
        tree["tenant"] = stop.tenant
    if stop.machine_class is not None:
        tree["class"] = stop.machine_class
    if stop.resource is not None:
        tree["resource"] = stop.resource
    tree["price"] = stop.price
    return tree


def nowhere_tree(reason: Nowhere) -> Tree:
    """Why a job can never run, counted."""
    gang = reason.gang
    return {
        "machines": reason.machines,
        "constraint": [{"part": part, "excludes": count} for part, count in reason.constraint],
        "resources": [{"resource": name, "excludes": count} for name, count in reason.resources],
        "small": [{"resource": name, "excludes": count} for name, count in reason.small],
        "gang": None
        if gang is None
        else {"tasks": gang.size, "fit": gang.fit, "machines": gang.machines},
        "limits": [
            {
                "tenant": over.tenant,
                "resource": over.resource,
                "tasks": over.tasks,
                "needed": float(over.needed),
                "limit": float(over.limit),
            }
            for over in reason.limits
        ],
    }


def job_tree(job: JobShare) -> Tree:
    return {
        "name": job.name,
        "tenant": job.tenant,
        "tasks": job.tasks,
        "alone": job.alone,
        "scale": job.scale,
        "share": job.share,
        "level": job.level,
        "placements": None
        if job.placements is None
        else [{"class": place.machine_class, "tasks": place.tasks} for place in job.placements],
        "nowhere": None if job.nowhere is None else nowhere_tree(job.nowhere),
    }


def class_tree(group: MachineClass) -> Tree:
    return {
        "class": group.index,
        "machines": list(compress(group.machines)),
        "count": len(group.machines),
    }


def level_tree(level: Level) -> Tree:
    tree: Tree = {
        "share": level.share,
        "frozen": list(level.frozen),
        "jobs": list(level.jobs),
        "stopped_by": [stop_tree(stop) for stop in level.stopped_by],
    }
    if level.machine_class is not None:
        tree["class"] = level.machine_class
    return tree
